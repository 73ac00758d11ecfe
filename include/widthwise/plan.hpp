#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>

namespace widthwise {

/// The distribution of coverage for one calibration set of n rows. Given the calibration set, coverage is a random
/// number with the exact distribution Beta(k, n + 1 - k), k = guarantee.rank(level, n), for scores without ties.
struct CoverageSpread {
  std::uint64_t rows = 0;  ///< n
  double mean = 0;         ///< k / (n + 1), at least the level; 1 if n is too small for the level
  double low = 0;          ///< bounds of the central interval of the requested confidence
  double high = 1;         ///< as `low`; both are 1 if n is too small for the level
};

/// Compute the spread for at most 10^10 rows and a confidence strictly between 0 and 1. With too few rows for the
/// level, every interval is infinite and coverage is 1. Throws kInvalidArgument.
[[nodiscard]] CoverageSpread coverage_spread(const Level& level, std::uint64_t rows, double confidence = 0.95,
                                             const Guarantee& guarantee = {});

/// The spread of coverage measured on `test_rows` rows, 1 to 10^10. It is beta-binomial and wider because of the test
/// sample. Less than half of 1 - confidence lies below low, and at most half above high.
[[nodiscard]] CoverageSpread measured_coverage_spread(const Level& level, std::uint64_t rows, std::uint64_t test_rows,
                                                      double confidence = 0.95, const Guarantee& guarantee = {});

/// Test rows with the same calibration quantile, the rank-th smallest of `rows` scores. A rank above `rows` means
/// infinite intervals, which cover everything.
struct RankedRows {
  std::uint64_t rows = 0;       ///< calibration rows, n
  std::uint64_t rank = 1;       ///< k, from 1
  std::uint64_t test_rows = 0;  ///< m
};

/// Test rows whose coverage has no known law, of which a known number is covered in total. Some of them are chosen
/// without regard to coverage: how many of the chosen rows are covered is then hypergeometric if coverage is the same
/// for all of them.
struct DrawnRows {
  std::uint64_t rows = 0;       ///< rows to choose from
  std::uint64_t covered = 0;    ///< of `rows`
  std::uint64_t test_rows = 0;  ///< chosen rows, of `rows`
};

/// Distribution of the number of covered test rows if each group has its own calibration quantile, for scores without
/// ties: a sum of independent beta-binomial counts, and of a hypergeometric count of drawn rows. Ties make the count
/// stochastically larger (docs/mathematics.md). Exact for one group. For several groups, counts are rounded to a
/// lattice of at least 256 cells per standard deviation, and every tail is an upper bound.
class CoveredCount {
 public:
  /// Throws kInvalidArgument for a rank of 0, for more than 10^10 rows, if there is no test row, and if more rows are
  /// drawn or covered than there are.
  explicit CoveredCount(std::span<const RankedRows> groups, const DrawnRows& drawn = {});

  /// P(count <= covered).
  [[nodiscard]] double at_most(std::uint64_t covered) const;

  /// P(count > covered).
  [[nodiscard]] double more_than(std::uint64_t covered) const;

  /// Number of test rows of all groups, including those with infinite intervals.
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
  [[nodiscard]] static Lattice lattice_of(const DrawnRows& drawn);
  [[nodiscard]] static Lattice sum_of(Lattice a, Lattice b);
  static void coarsen(Lattice& lattice);

  std::uint64_t test_rows_ = 0;
  std::uint64_t always_covered_ = 0;  // rows with infinite intervals
  RankedRows only_;                   // the group with finite intervals, if there is one and nothing else
  DrawnRows drawn_;                   // the drawn rows, if there is nothing else
  Lattice sum_;                       // the sum over several of these; empty otherwise
};

/// The central interval of the coverage of all test rows; `rows` is the number of calibration rows of all groups.
/// Throws like CoveredCount.
[[nodiscard]] CoverageSpread measured_coverage_spread(std::span<const RankedRows> groups, double confidence = 0.95);

/// Return the smallest n from which on coverage stays within `tolerance` of the level on both sides with the requested
/// confidence, and intervals are finite; at least guarantee.min_rows(level). With a training-conditional guarantee,
/// where coverage lies above the level, n is found by bisection: it meets the tolerance, but slightly different numbers
/// of rows may not, because ranks are rounded. Throws kInvalidArgument for a tolerance outside (0, 1), and for one that
/// needs more than 10^10 rows.
[[nodiscard]] std::uint64_t rows_for_tolerance(const Level& level, double tolerance, double confidence = 0.95,
                                               const Guarantee& guarantee = {});

}  // namespace widthwise
