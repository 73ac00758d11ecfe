#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/labels.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/roles.hpp>

namespace widthwise {

/// n rows: features, predictions and the columns by role. A step ignores the columns that it does not read.
struct Rows {
  MatrixView x;  ///< n x features; NaN is a missing value. A category is the number of its label, NaN if it has none
  /// n if the model has no base model, else empty; row by row, n x 2 of lower and upper quantiles, or n x folds if
  /// every fold has a prediction column.
  std::span<const double> predictions = {};
  std::span<const std::int64_t> groups = {};  ///< n numbers of groups, each calibrated separately; or empty
  const GroupLabels* labels = nullptr;        ///< labels of groups, to fit and calibrate; null if all are integers
  std::span<const double> weights = {};       ///< n likelihood ratios; or empty
  /// n numbers of clusters, or empty. Rows of one cluster are dependent, such as the visits of one patient: no split
  /// separates them, and the calibration takes account of them (SortedScores).
  std::span<const std::int64_t> clusters = {};
  /// n numbers of rows of the clusters of the rows to predict, at least 1, if rows of clusters count; or empty:
  /// ClusterRule::max_size. A cluster that is larger than stated makes intervals too narrow.
  std::span<const double> cluster_sizes = {};
  /// n finite times in any unit, or empty; only their order counts, so ranks_of (moment.hpp) makes them of dates. The
  /// latest rows of a fit calibrate, the latest of the others are the hold-out, and folds are blocks of time. No split
  /// separates rows of the same time. Not with several workers.
  std::span<const double> times = {};
  /// n numbers >= 0 for training, or empty: base model and localizer count a row by its weight. The calibration does
  /// not: the guarantee is for the population of rows, each of which counts once.
  std::span<const double> sample_weights = {};
  /// n identifiers, empty where there is none; or empty. Messages about rows and lists of rows name them.
  std::span<const std::string> ids = {};
  std::uint64_t first_row = 0;  ///< number of the first of these rows in its table, from 0; for messages

  /// A range of consecutive rows.
  [[nodiscard]] Rows slice(std::size_t first, std::size_t count) const;

  /// Whether there is a column of this role.
  [[nodiscard]] bool has(Role role) const;

  /// Throw kShapeMismatch, after `where` and a colon, unless every column is empty or has a cell per row.
  void check_shapes(std::string_view where) const;

  /// "row 17", or "row 17, id A-204": a row, counted from 0, in messages.
  [[nodiscard]] std::string name_of_row(std::size_t row) const {
    return CellPlace{.where = {}, .first_row = first_row, .ids = ids}.row(row);
  }

  /// Throw kBadData, like check_cells, for a cell outside the rule of its role.
  void check_cells(const RoleNames& names, std::string_view where) const;
};

/// Call visit(role, values) for the column of each role; of const Rows, or to set them.
template <class RowsOrConst, class Visit>
void for_each_column(RowsOrConst& rows, const Visit& visit) {
  visit(Role::kGroup, rows.groups);
  visit(Role::kCluster, rows.clusters);
  visit(Role::kClusterSize, rows.cluster_sizes);
  visit(Role::kWeight, rows.weights);
  visit(Role::kTime, rows.times);
  visit(Role::kSampleWeight, rows.sample_weights);
  visit(Role::kId, rows.ids);
}

/// Columns by role, in memory.
class RoleColumns {
 public:
  RoleColumns() = default;

  /// Those of some rows, in this order. Texts are not copied: the rows were checked before they were selected.
  RoleColumns(const Rows& rows, std::span<const std::size_t> selected);

  /// The column of a role with numbers or times.
  [[nodiscard]] std::vector<double>& numbers(Role role) { return numbers_[static_cast<std::size_t>(role)]; }
  /// The column of a role with labels.
  [[nodiscard]] std::vector<std::int64_t>& labels(Role role) { return labels_[static_cast<std::size_t>(role)]; }
  /// The column of a role with text.
  [[nodiscard]] std::vector<std::string>& texts(Role role) { return texts_[static_cast<std::size_t>(role)]; }

  /// Set the columns of rows to these; valid as long as this object.
  void set(Rows& rows) const;

 private:
  std::array<std::vector<double>, kRoles> numbers_;       // of numbers and times
  std::array<std::vector<std::int64_t>, kRoles> labels_;  // numbers of labels
  std::array<std::vector<std::string>, kRoles> texts_;
};

}  // namespace widthwise
