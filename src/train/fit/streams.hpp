#pragma once

#include <cstdint>

#include <widthwise/random.hpp>

namespace widthwise::internal {

/// Each random choice of a fit has a separate stream of the seed, so that the choices are independent.
enum class Stream : std::uint64_t { kSplit = 1, kFolds, kHoldout, kReport, kCross, kShift };

[[nodiscard]] inline std::uint64_t stream_seed(std::uint64_t seed, Stream stream) {
  return mix_bits(seed ^ mix_bits(static_cast<std::uint64_t>(stream)));
}

}  // namespace widthwise::internal
