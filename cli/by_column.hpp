#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <widthwise/evaluation.hpp>
#include <widthwise/io/table.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/model.hpp>

#include "group_column.hpp"

namespace widthwise::cli {

/// The column of `--by`: labels if it holds text or booleans or the model reads it as labels, else numbers. The labels
/// of several columns are joined (join_labels). Thread safety: none. Not movable: a reader borrows the labels.
class ByColumn {
 public:
  /// No name is no column. Throws kInvalidArgument if the table has no column of a name.
  ByColumn(const std::vector<std::string>& names, const Model& model, const TableReader& reader,
           const std::string& file);
  ByColumn(const ByColumn&) = delete;
  ByColumn& operator=(const ByColumn&) = delete;

  /// The columns as a reader selects them.
  [[nodiscard]] std::vector<SelectedColumn> select();

  /// Append the values of a batch, in whose numbers the selected columns begin at `place`.
  void append(MatrixView numbers, std::size_t place);

  /// The values of all rows; empty without a column.
  [[nodiscard]] std::optional<EvaluatedColumn> column() const;

 private:
  std::vector<std::string> names_;
  std::string name_;  // of all columns
  bool are_labels_ = false;
  std::optional<std::size_t> feature_;
  Labels labels_;
  GroupColumn joined_{[this](std::string_view label) { return labels_.add(label); }};
  // Numbers are also read as booleans, which they are if they have no other values.
  Labels booleans_;
  bool are_booleans_ = true;
  std::vector<double> values_;
};

}  // namespace widthwise::cli
