#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace widthwise::internal {

/// Maximum size of the header of a safetensors file in bytes. The header of a model holds its column names, categories
/// and notes: 1,000 features take some 20 kB.
inline constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 25U;

/// Number of bytes at the beginning of a file that tell what it holds.
inline constexpr std::size_t kLookedBytes = 64;

/// Throw kBadData if these are not the first bytes of a safetensors file: "not KIND: found text, such as a CSV table".
/// `kind` is what the file should be: "a model file".
void require_safetensors(std::span<const std::byte> bytes, std::string_view kind);

}  // namespace widthwise::internal
