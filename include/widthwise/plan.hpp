#pragma once

#include <cstdint>

#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>

namespace widthwise {

/// What coverage to expect of intervals that were calibrated once, with n rows. Given the calibration, coverage is a
/// random number: Beta(k, n + 1 - k) with k = guarantee.rank(level, n), exactly, for scores without ties.
struct CoverageSpread {
  std::uint64_t rows = 0;  ///< n
  double mean = 0;         ///< k / (n + 1), at least the level; 1 when n is too small for the level
  double low = 0;          ///< ends of the central interval of the confidence asked for
  double high = 1;
};

/// rows at most 10^10; confidence strictly between 0 and 1. Without enough rows for the level every interval is
/// infinite and coverage is 1, at both ends. Throws kInvalidArgument.
[[nodiscard]] CoverageSpread coverage_spread(const Level& level, std::uint64_t rows, double confidence = 0.95,
                                             const Guarantee& guarantee = {});

/// The same for what is counted on `test_rows` rows, 1 to 10^10: beta-binomial, wider by the luck of the test. Less
/// than half of what the confidence leaves lies below low, and at most half above high.
[[nodiscard]] CoverageSpread measured_coverage_spread(const Level& level, std::uint64_t rows, std::uint64_t test_rows,
                                                      double confidence = 0.95, const Guarantee& guarantee = {});

/// Return the least n from which on coverage stays within `tolerance` of the level, on both sides, with the confidence
/// asked for, and intervals are finite: never less than guarantee.least_rows(level). With a training-conditional
/// guarantee, where coverage lies above the level, an n that bisection finds: it keeps the tolerance, and some rows
/// more or less may round to a rank that does not. Throws kInvalidArgument for a tolerance outside (0, 1), and for one
/// that takes more than 10^10 rows.
[[nodiscard]] std::uint64_t rows_for_tolerance(const Level& level, double tolerance, double confidence = 0.95,
                                               const Guarantee& guarantee = {});

}  // namespace widthwise
