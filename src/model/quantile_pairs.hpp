#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace widthwise::internal {

/// Split n pairs of a lower and an upper quantile into their centres (n) and half their distances (n). Quantiles of
/// separate models may cross; the distance is never negative.
inline void split_pairs(std::span<const double> pairs, std::span<double> centres, std::span<double> halves) {
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
    const double lower = 0.5 * pairs[2 * i];
    const double upper = 0.5 * pairs[2 * i + 1];
    centres[i] = lower + upper;
    halves[i] = std::abs(upper - lower);
  }
}

}  // namespace widthwise::internal
