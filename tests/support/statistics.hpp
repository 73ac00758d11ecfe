#pragma once

#include <boost/math/distributions/binomial.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace widthwise {

/// Computed tolerances for tests that count events: a correct program fails a check with probability at most `failure`.

/// Return the largest c with P(X < c) <= failure, X binomial: a count of an event at least this probable stays >= c.
[[nodiscard]] inline std::uint64_t binomial_lower_bound(std::uint64_t trials, double probability, double failure) {
  const boost::math::binomial_distribution<double> distribution(static_cast<double>(trials), probability);
  std::uint64_t low = 0;  // P(X < low) <= failure
  std::uint64_t high = trials + 1;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (boost::math::cdf(distribution, static_cast<double>(middle - 1)) <= failure ? low : high) = middle;
  }
  return low;
}

/// Return the smallest c with P(X > c) <= failure: a count of an event at most this probable stays <= c.
[[nodiscard]] inline std::uint64_t binomial_upper_bound(std::uint64_t trials, double probability, double failure) {
  return trials - binomial_lower_bound(trials, 1 - probability, failure);
}

/// The repetitions of a slow test: `usual` times WIDTHWISE_SLOW_SCALE, which is 1 by default.
[[nodiscard]] inline std::uint64_t slow_repeats(std::uint64_t usual) {
  const char* scale = std::getenv("WIDTHWISE_SLOW_SCALE");
  return scale == nullptr ? usual : static_cast<std::uint64_t>(static_cast<double>(usual) * std::stod(scale));
}

}  // namespace widthwise
