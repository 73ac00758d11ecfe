#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <widthwise/io/table.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/matrix_view.hpp>

namespace widthwise::cli {

/// The column of group labels of a table, as numbers of groups. Several columns are read as one, whose labels are those
/// of join_labels. Thread safety: none.
class GroupColumn {
 public:
  /// `number_of` returns the number of the group with a label, and is called once per label.
  explicit GroupColumn(std::function<std::int64_t(std::string_view)> number_of) : number_of_(std::move(number_of)) {}

  /// The columns as a reader selects them; this has to outlive the reader.
  [[nodiscard]] std::vector<SelectedColumn> select(std::span<const std::string> names);

  /// Append the groups of the rows of a batch, in whose numbers the selected columns end before this position;
  /// kNoGroup without a label. Returns the position of the first of them.
  std::size_t append(MatrixView numbers, std::size_t end, std::vector<std::int64_t>& groups);

 private:
  /// The number of the group of a row, from the numbers of its labels.
  [[nodiscard]] std::int64_t number_of(std::span<const std::uint32_t> row);

  std::function<std::int64_t(std::string_view)> number_of_;
  std::deque<Labels> labels_;  // of each column; readers borrow them
  // For each column after the first: the indices of combinations, by the index before it and the label of the column.
  std::vector<std::unordered_map<std::uint64_t, std::size_t>> places_;
  std::vector<std::optional<std::int64_t>> numbers_;  // of the groups, by index
};

}  // namespace widthwise::cli
