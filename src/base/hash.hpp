#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include <widthwise/random.hpp>

namespace widthwise::internal {

/// Continue a hash over some bytes: a chain of bijections over 64-bit words, low byte first. Not a cryptographic hash.
[[nodiscard]] inline std::uint64_t hash_bytes(std::uint64_t hash, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    for (std::size_t j = i; j < std::min(i + 8, bytes.size()); ++j) {
      word |= std::to_integer<std::uint64_t>(bytes[j]) << (8 * (j - i));
    }
    hash = mix_bits(hash ^ word) + 0x9e3779b97f4a7c15U;
  }
  return hash;
}

/// The checksum of files: 64-bit XXH3 of the concatenated pieces. It detects accidental damage, not tampering.
[[nodiscard]] std::uint64_t checksum_of(std::initializer_list<std::span<const std::byte>> pieces);

}  // namespace widthwise::internal
