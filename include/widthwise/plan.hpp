#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

/// Test rows that one calibration quantile bounds: the rank-th smallest of `rows` scores. A rank above `rows` stands
/// for infinite intervals, which cover everything.
struct RankedRows {
  std::uint64_t rows = 0;       ///< calibration rows, n
  std::uint64_t rank = 1;       ///< k, from 1
  std::uint64_t test_rows = 0;  ///< m
};

/// Distribution of the number of covered test rows, each group of which has a calibration quantile of its own, for
/// scores without ties: a sum of independent beta-binomial counts. Tied scores make the count stochastically larger
/// (docs/mathematics.md). Exact for one group. For several, counts are rounded to a lattice of at least 256 cells per
/// standard deviation, and every tail is an upper bound.
class CoveredCount {
 public:
  /// Throws kInvalidArgument for a rank of 0, for more than 10^10 rows, and when there is no test row.
  explicit CoveredCount(std::span<const RankedRows> groups);

  /// P(count <= covered).
  [[nodiscard]] double at_most(std::uint64_t covered) const;

  /// P(count > covered).
  [[nodiscard]] double more_than(std::uint64_t covered) const;

  [[nodiscard]] std::uint64_t test_rows() const { return test_rows_; }

 private:
  // Cell i is the value offset + step i; the count lies at most `slack` above its cell.
  struct Lattice {
    double offset = 0;
    double step = 1;
    double slack = 0;
    std::vector<double> cells;
  };

  [[nodiscard]] static Lattice lattice_of(const RankedRows& group);
  [[nodiscard]] static Lattice sum_of(Lattice a, Lattice b);
  static void coarsen(Lattice& lattice);

  std::uint64_t test_rows_ = 0;
  std::uint64_t always_covered_ = 0;  // rows with infinite intervals
  RankedRows only_;                   // the group with finite intervals, when there is one
  Lattice sum_;                       // of several; empty otherwise
};

/// The central interval of the covered share of all test rows; `rows` counts the calibration rows of all groups. Throws
/// as CoveredCount does.
[[nodiscard]] CoverageSpread measured_coverage_spread(std::span<const RankedRows> groups, double confidence = 0.95);

/// Return the least n from which on coverage stays within `tolerance` of the level, on both sides, with the confidence
/// asked for, and intervals are finite: never less than guarantee.min_rows(level). With a training-conditional
/// guarantee, where coverage lies above the level, an n that bisection finds: it keeps the tolerance, and some rows
/// more or less may round to a rank that does not. Throws kInvalidArgument for a tolerance outside (0, 1), and for one
/// that takes more than 10^10 rows.
[[nodiscard]] std::uint64_t rows_for_tolerance(const Level& level, double tolerance, double confidence = 0.95,
                                               const Guarantee& guarantee = {});

}  // namespace widthwise
