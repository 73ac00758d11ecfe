#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <widthwise/evaluation.hpp>

#include "evaluation/diagnostics/bins.hpp"

/// The verdict on rows with clusters, a part of `evaluate`.
namespace widthwise::internal {

/// " in 3 groups", those with a quantile of their own; empty without groups.
[[nodiscard]] std::string groups_text(const CalibrationRanks& calibration);

/// Throw kInvalidArgument unless rows have clusters exactly if the calibration has them.
void check_clusters(const IntervalRows& rows, const CalibrationRanks& calibration, const EvaluationOptions& options);

/// Judge the coverage of the clusters (n, one per row), which are the `sets` of the calibration: set the fields of the
/// verdict.
void judge_clusters(LevelEvaluation& result, const IntervalRows& rows, const CalibrationRanks& calibration,
                    const DependentSets& sets, std::span<const std::int64_t> clusters);

/// Which group of a calibration each row belongs to.
class RowRanks {
 public:
  /// Throws kShapeMismatch unless there are groups for n rows or none, and kInvalidArgument if there is no rank.
  RowRanks(const CalibrationRanks& calibration, std::size_t n);

  [[nodiscard]] std::size_t group_of(std::size_t row) const { return group_of_.empty() ? 0 : group_of_[row]; }

  /// The quantile of a group.
  [[nodiscard]] const GroupRank& rank(std::size_t group) const { return groups_[group]; }

  /// Whether the coverage of the row has a known law: it has none if there is a bound instead of a
  /// law, and for finite intervals of pooled groups.
  [[nodiscard]] bool has_law(std::size_t row) const { return has_law_[group_of(row)]; }

  /// Numbers of the rows whose coverage has a known law.
  [[nodiscard]] std::vector<std::size_t> rows_with_law() const;

  /// Count some or all rows by quantile; rows of unknown groups come last, with infinite intervals.
  [[nodiscard]] std::vector<RankedRows> count(std::span<const std::size_t> rows) const;
  [[nodiscard]] std::vector<RankedRows> count() const;

  /// Count those of the rows whose coverage has a known law; other quantiles have no rows.
  [[nodiscard]] std::vector<RankedRows> count_with_law(std::span<const std::size_t> rows) const;

 private:
  std::size_t n_;
  std::vector<bool> has_law_;            // of each of groups_
  std::vector<GroupRank> groups_;        // with an additional empty one for groups that were not calibrated
  std::vector<std::uint32_t> group_of_;  // n, or empty if all rows belong to the first group
};

/// The probabilities that exchangeable rows cover this little or less, and this much or more.
struct Tails {
  double below = 1;
  double above = 1;

  [[nodiscard]] double two_sided() const { return std::min(1.0, 2 * std::min(below, above)); }
};

/// Tests whether the rows of a place are covered at least as well as exchangeable rows, with the law of the covered
/// count given the calibration ranks and, for rows without a known law, given how many of them are covered in total
/// (docs/mathematics.md).
class PlaceTest {
 public:
  PlaceTest(const IntervalRows& rows, const Level& level, const RowRanks& ranks);

  /// The p-value of a place that was chosen without regard to outcomes. 1 if coverage reaches the level.
  [[nodiscard]] double p_value(std::span<const std::size_t> rows) const;

  /// The p-value of a place that was chosen with the outcomes of the `search` rows and is measured on other rows: given
  /// the search rows, the quantile has a known rank among calibration and search rows. The larger of both p-values.
  [[nodiscard]] double p_value(std::span<const std::size_t> search, std::span<const std::size_t> measured) const;

  /// Both p-values of a place that was chosen without regard to outcomes. Tied scores are treated as in the verdict.
  [[nodiscard]] Tails tails(std::span<const std::size_t> rows) const;

  /// The expected |coverage - level| of a place if coverage is the same everywhere, from the variance of the covered
  /// count and the normal distribution.
  [[nodiscard]] double gap_by_chance(std::span<const std::size_t> rows) const;

 private:
  [[nodiscard]] std::uint64_t covered(std::span<const std::size_t> rows) const;
  [[nodiscard]] std::vector<std::size_t> without_law(std::span<const std::size_t> rows) const;
  [[nodiscard]] CoveredCount law(std::span<const std::size_t> rows) const;

  const IntervalRows& rows_;
  const Level& level_;
  const RowRanks& ranks_;
  DrawnRows without_law_;  // all rows without a known law
};

/// The p-values that Holm's procedure compares with the family-wise error.
[[nodiscard]] std::vector<double> adjusted_by_holm(std::span<const double> p_values);

/// Which hypotheses Holm's procedure rejects with a family-wise error of `error`.
[[nodiscard]] std::vector<bool> reject_by_holm(std::span<const double> p_values, double error);

/// Tests whether coverage is the same everywhere: the places and gaps of one level, with one family-wise error. Each
/// bin is tested once, in both directions; the corrected p-values decide which bins are weak and by what coverage is
/// uneven.
class EvennessTest {
 public:
  /// `levels` are evaluated together and share the error rate.
  EvennessTest(const PlaceTest& test, const Level& level, std::size_t levels)
      : test_(test), level_(level), levels_(static_cast<double>(levels)) {}

  /// Add the bins of one variable, chosen without regard to outcomes; row numbers are looked up in `numbers` unless it
  /// is empty. Returns the smallest p-value. The bins must not move until `finish`.
  double add(PlaceKind kind, std::size_t feature, std::span<BinRows> bins, std::span<const std::size_t> numbers);

  /// Test a place that was chosen on one half of the rows; return whether it is weak.
  bool add_searched_range(Place place, std::span<const std::size_t> search, std::span<const std::size_t> measured);
  bool add_searched_slab(Place place, std::span<const std::size_t> search, std::span<const std::size_t> measured);

  /// Mark the weak bins, and set the places and gaps of the result, whose verdict is known.
  void finish(LevelEvaluation& result) &&;

 private:
  /// A tested bin, where its mark is stored, and the index of its variable in gaps_.
  struct TestedBin {
    Place place;
    Tails tails;
    Bin* bin;
    std::size_t gap;
  };

  bool add_searched(Place place, double error, std::span<const std::size_t> search,
                    std::span<const std::size_t> measured);
  void decide();

  const PlaceTest& test_;
  const Level& level_;
  double levels_;
  std::vector<TestedBin> bins_;
  std::vector<CoverageGap> gaps_;
  std::uint64_t searched_ = 0;
  std::vector<WeakPlace> weak_;
};

}  // namespace widthwise::internal
