#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace widthwise::internal {

/// The checksum of files: 64-bit XXH3 of the concatenated pieces. It detects accidental damage, not tampering.
[[nodiscard]] std::uint64_t checksum_of(std::initializer_list<std::span<const std::byte>> pieces);

}  // namespace widthwise::internal
