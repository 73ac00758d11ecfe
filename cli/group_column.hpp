#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/io/table.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/matrix_view.hpp>

namespace widthwise::cli {

/// The column of group labels of a table, as numbers of groups.
/// Thread safety: none.
class GroupColumn {
 public:
  /// `number_of` returns the number of the group with a label, and is called once per label.
  explicit GroupColumn(std::function<std::int64_t(std::string_view)> number_of) : number_of_(std::move(number_of)) {}

  /// The column as a reader selects it; this has to outlive the reader.
  [[nodiscard]] SelectedColumn select(const std::string& name);

  /// Append the groups of the rows of a batch, in whose numbers the column has this place; kNoGroup without a label.
  void append(MatrixView numbers, std::size_t place, std::vector<std::int64_t>& groups);

 private:
  std::function<std::int64_t(std::string_view)> number_of_;
  Labels labels_;
  std::vector<std::int64_t> numbers_;  // of the labels
};

/// Throw kBadData, with file and row, if a row has no group. first_row is that of groups[0], from 0.
void require_groups(std::span<const std::int64_t> groups, const std::string& file, const std::string& column,
                    std::uint64_t first_row);

}  // namespace widthwise::cli
