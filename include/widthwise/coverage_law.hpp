#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>

namespace widthwise {

/// Enough calibration rows that the quantile is practically known.
inline constexpr std::uint64_t kKnownQuantile = 1'000'000'000;

/// The calibration score that bounds the rows of one group: the rank-th smallest of `rows`.
struct GroupRank {
  std::int64_t group = 0;  ///< number of the group, kRestGroup for pooled groups; 0 without groups
  std::uint64_t rows = 0;  ///< calibration rows of the group; see CalibrationRanks
  std::uint64_t rank = 1;  ///< above `rows` if intervals are infinite
  std::string label = {};  ///< of the group, for messages; empty without groups
  /// Whether the scores are those of several groups, given whose counts the coverage of a test row has no known law.
  bool pooled = false;
};

/// How sets of dependent rows count, if whole sets are exchangeable and rows are not independent.
struct DependentSets {
  /// Rows that a new set has at most, if every row counts once; 0 if every set does. CalibrationRanks::groups then has
  /// the effective number of sets, the quantile lies between the ranks `rank_below` and `rank` of them, which is
  /// approximate, and CalibrationRanks::min_rows counts rows.
  std::uint64_t largest = 0;
  std::uint64_t rank_below = 0;  ///< if rows count, the rank at or below the quantile, from 1
  std::uint64_t rows = 0;        ///< calibration rows of all sets
};

/// A lower bound of coverage, for intervals whose coverage has no law.
struct CoverageBound {
  std::string text;                                ///< a sentence with the bound and its conditions
  std::function<double(double failure)> of_model;  ///< coverage of one model, with probability at least 1 - failure
};

/// The law of the number of covered rows among n new rows at one level, as far as it is known: the calibration ranks of
/// their intervals.
///
/// The law is exact if new rows are exchangeable with the calibration rows, one row at a time, unless one of
/// `approximate_because`, `sets` and `bound` says otherwise, or the group of a row is pooled.
struct CalibrationRanks {
  std::vector<GroupRank> groups = {};             ///< distinct; rows of any other group have infinite intervals
  std::span<const std::int64_t> row_groups = {};  ///< n, or empty if all rows belong to groups.front()
  std::uint64_t min_rows = 0;                     ///< calibration rows per group needed for finite intervals
  /// Why ranks are approximate, "calibration rows have weights"; empty if they are not. GroupRank::rows are then
  /// effective sample sizes.
  std::string approximate_because = {};
  std::string infinite_because = {};        ///< why all intervals are infinite, if ranks are approximate and they are
  std::optional<DependentSets> sets = {};   ///< what counts, if rows are not independent; `groups` then counts sets
  std::optional<CoverageBound> bound = {};  ///< what is known instead of a law
  bool of_level_itself = false;  ///< coverage is compared with the level: the calibration set is unknown, or none

  /// Whether the law of rows that are not of pooled groups is known and exact.
  [[nodiscard]] bool is_exact() const { return approximate_because.empty() && !sets && !bound; }

  /// Intervals that are to cover each row with the probability `level`, whatever made them.
  [[nodiscard]] static CalibrationRanks of_level(const Level& level);

  /// One quantile of this many scores for all rows.
  [[nodiscard]] static CalibrationRanks of_rows(const Level& level, std::uint64_t rows,
                                                const Guarantee& guarantee = {});

  /// The quantile over folds with this many calibration rows each.
  [[nodiscard]] static CalibrationRanks of_folds(const Level& level, std::span<const std::uint64_t> rows_by_fold);

  /// The ranks of a calibration for rows of these groups (n, or empty). With groups pooled below `pool_below` rows,
  /// row_groups are those of SortedScores::quantile_group.
  [[nodiscard]] static CalibrationRanks of(const Calibration& calibration, const Level& level,
                                           std::span<const std::int64_t> row_groups = {},
                                           const Guarantee& guarantee = {}, std::uint64_t pool_below = 0,
                                           const ClusterRule& clusters = {});
};

}  // namespace widthwise
