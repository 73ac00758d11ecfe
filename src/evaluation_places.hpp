#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <widthwise/evaluation.hpp>

namespace widthwise::internal {

/// Which group of a calibration each row belongs to.
class RowRanks {
 public:
  /// Throws kShapeMismatch unless there are groups for n rows or none, kInvalidArgument without any rank.
  RowRanks(const CalibrationRanks& calibration, std::size_t n);

  [[nodiscard]] std::size_t group_of(std::size_t row) const { return group_of_.empty() ? 0 : group_of_[row]; }

  /// Some rows, or all, by the quantile that bounds them; those of unknown groups come last, as infinite.
  [[nodiscard]] std::vector<RankedRows> count(std::span<const std::size_t> rows) const;
  [[nodiscard]] std::vector<RankedRows> count() const;

 private:
  std::size_t n_;
  std::vector<GroupRank> groups_;        // with one more, of no rows, for groups that were not calibrated
  std::vector<std::uint32_t> group_of_;  // n, or empty when all rows belong to the first group
};

/// Tests of "the rows of this place are covered no less than exchangeable rows would be", with the law of the covered
/// count that the calibration gives (docs/mathematics.md).
class PlaceTest {
 public:
  PlaceTest(const IntervalRows& rows, const Level& level, const RowRanks& ranks)
      : rows_(rows), level_(level), ranks_(ranks) {}

  /// Of a place that was chosen without regard to outcomes. 1 when coverage reaches the level.
  [[nodiscard]] double p_value(std::span<const std::size_t> rows) const;

  /// Of a place that the outcomes of the `search` rows chose and other rows measure: given the search rows, the
  /// quantile is a known rank among calibration and search rows together. The greater of both p-values.
  [[nodiscard]] double p_value(std::span<const std::size_t> search, std::span<const std::size_t> measured) const;

 private:
  [[nodiscard]] std::uint64_t covered(std::span<const std::size_t> rows) const;

  const IntervalRows& rows_;
  const Level& level_;
  const RowRanks& ranks_;
};

/// Which hypotheses Holm's procedure rejects with a family-wise error of `error`.
[[nodiscard]] std::vector<bool> reject_by_holm(std::span<const double> p_values, double error);

}  // namespace widthwise::internal
