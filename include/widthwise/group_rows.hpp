#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include <widthwise/model.hpp>

namespace widthwise {

/// Finds the groups of rows to predict by their labels, and counts the rows without a calibrated group.
/// Thread safety: none.
class GroupRows {
 public:
  /// `model` has to outlive this.
  explicit GroupRows(const Model& model) : model_(model), labelled_(model.parts().calibration.labelled()) {}

  /// The group of `rows` rows with a label, for Rows: kUnseenGroup if the label has no calibration rows, kNoGroup
  /// for an empty label.
  std::int64_t find(std::string_view label, std::uint64_t rows = 1);

  /// The same for a label that is an integer.
  std::int64_t find(std::int64_t label, std::uint64_t rows = 1);

  /// Count a row whose group was found before.
  void count(std::int64_t group);

  /// "12 rows have a group that was not calibrated (a and b), so their intervals are infinite". Empty if there are
  /// none.
  [[nodiscard]] std::string warning() const;

 private:
  static constexpr std::size_t kMaxLabels = 1000;

  std::int64_t counted(std::int64_t group, std::string_view label, std::uint64_t rows);

  const Model& model_;
  bool labelled_;
  std::set<std::string, std::less<>> unseen_labels_;  // at most kMaxLabels
  std::uint64_t unseen_ = 0;
  std::uint64_t unlabelled_ = 0;
};

}  // namespace widthwise
