#pragma once

#include <cstdint>

#include <widthwise/random.hpp>

namespace widthwise::internal {

/// Random choices of one fit are independent of each other: each has its own stream of the seed.
enum class Stream : std::uint64_t { kSplit = 1, kFolds, kHoldout, kReport };

[[nodiscard]] inline std::uint64_t stream_seed(std::uint64_t seed, Stream stream) {
  return mix_bits(seed ^ mix_bits(static_cast<std::uint64_t>(stream)));
}

}  // namespace widthwise::internal
