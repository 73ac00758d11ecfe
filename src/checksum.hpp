#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace widthwise::internal {

/// The checksum of files: XXH3 with 64 bits, of the pieces as if they were one. It detects accidental damage; it is no
/// protection against a forger.
[[nodiscard]] std::uint64_t checksum_of(std::initializer_list<std::span<const std::byte>> pieces);

}  // namespace widthwise::internal
