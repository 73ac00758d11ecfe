#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <widthwise/io/table.hpp>

#include "io/table/cells.hpp"

namespace widthwise::internal {

[[nodiscard]] inline bool holds_labels(const SelectedColumn& column) {
  return column.known != nullptr || column.collected != nullptr || column.texts != nullptr;
}

/// Whether fill_labels supports columns of this kind, or dictionaries of it: text, booleans, numbers.
[[nodiscard]] bool is_label_kind(CellKind kind);

/// Write the numbers of the labels in rows [begin, end) of a column to out[0], out[stride], ...; missing cells are NaN,
/// and so are all of a column that is read as text. The column has a label kind (cells of a CSV file, which are text,
/// are numbers if `of_numbers`). Return the first row whose text is not UTF-8, or when labels are collected whose
/// number is not an integer, if any.
[[nodiscard]] std::optional<std::int64_t> fill_labels(const Cells& column, std::int64_t begin, std::int64_t end,
                                                      const SelectedColumn& selected, bool of_numbers, double* out,
                                                      std::size_t stride);

/// The text of a label that is not UTF-8.
[[nodiscard]] std::optional<std::string_view> label_not_utf8(const Cells& column, std::int64_t row);

}  // namespace widthwise::internal
