#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/level.hpp>

namespace widthwise {

/// The meaning of a confidence level for a calibrated model. It determines which of the n calibration scores bounds an
/// interval (docs/mathematics.md).
/// - Marginal, the default: if new rows are exchangeable with the calibration rows, an interval of level 0.9 contains
///   the outcome with probability at least 0.9, on average over calibration sets and new rows.
/// - Training-conditional (PAC) with a confidence such as 0.95: if calibration rows and new rows are independent draws
///   of one distribution, then with probability at least 0.95 over calibration sets this one calibrated model covers at
///   least 0.9 of new rows.
/// With groups, the guarantee holds for each group separately.
class Guarantee {
 public:
  /// The marginal guarantee.
  Guarantee() = default;

  /// The training-conditional guarantee with this confidence.
  explicit Guarantee(const Level& confidence) : confidence_(confidence) {}

  /// Parse "marginal", or a confidence such as "0.95". Throws kInvalidArgument.
  [[nodiscard]] static Guarantee parse(std::string_view text);

  [[nodiscard]] bool is_marginal() const { return !confidence_; }  ///< if not, training-conditional

  /// Empty for the marginal guarantee.
  [[nodiscard]] const std::optional<Level>& confidence() const { return confidence_; }

  /// The text that parse reads: "marginal" or "0.95".
  [[nodiscard]] std::string to_string() const { return confidence_ ? confidence_->to_string() : "marginal"; }

  /// Return the rank of the calibration score that bounds intervals of this level, or n + 1 if n rows are too few for a
  /// finite interval. Marginal: level.rank(n), exact. Training-conditional: the smallest k with
  /// P(Bin(n, level) < k) >= confidence (Vovk 2012, Proposition 2), or the next k if both sides agree to within
  /// rounding (a relative 1e-8). Throws kInvalidArgument for n above 10^10.
  [[nodiscard]] std::uint64_t rank(const Level& level, std::uint64_t n) const;

  /// The smallest n with rank(level, n) <= n.
  [[nodiscard]] std::uint64_t min_rows(const Level& level) const;

  /// The highest level that `rows` calibration rows make finite: n / (n + 1), or with a confidence c the level of which
  /// level^n = 1 - c.
  [[nodiscard]] double max_level(std::uint64_t rows) const;

  friend bool operator==(const Guarantee& a, const Guarantee& b) = default;  ///< same kind and confidence

 private:
  std::optional<Level> confidence_;
};

/// The coverage that cross-calibration guarantees on average over training sets and new rows, if both are exchangeable:
/// CV+, and jackknife+ if every fold has one row (Barber, Candes, Ramdas, Tibshirani 2021). With n rows in K folds and
/// level 1 - alpha, it is 1 - 2 alpha - d. d is the smaller of two terms (docs/mathematics.md):
/// - 2 (1 - alpha) (K - 1) / (n + K), for any fit;
/// - (1 - K / n) / (K + 1), for folds of equal size and a fit that depends on the order of its rows only through random
///   choices; 0 for jackknife+.
/// 0 if there are no folds. Actual coverage is usually close to the level.
[[nodiscard]] double cross_coverage(const Level& level, std::span<const std::uint64_t> fold_rows);

/// The same for n rows in `folds` folds whose sizes differ by at most one, as fit assigns them.
[[nodiscard]] double cross_coverage(const Level& level, std::uint64_t rows, std::uint64_t folds);

/// The same for one model: with probability at least 1 - failure over training sets of independent rows, the coverage
/// of new rows is at least this (Bian and Barber 2022). Holds for any fit; 0 if folds are too small for a statement.
[[nodiscard]] double cross_coverage_of_model(const Level& level, std::span<const std::uint64_t> fold_rows,
                                             double failure);

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
