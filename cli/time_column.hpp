#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <widthwise/io/table.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/moment.hpp>
#include <widthwise/roles.hpp>

namespace widthwise::cli {

/// The column of times of a table: numbers, dates as text, or dates of a Parquet file.
/// Thread safety: none.
class TimeColumn {
 public:
  /// The column as a reader selects it; this has to outlive the reader.
  [[nodiscard]] SelectedColumn select(const TableReader& reader, const std::string& name);

  /// Append the times of rows, a column of these numbers. Throws kBadData, with the place of its cells, for a missing
  /// time or text that is no date.
  void append(MatrixView numbers, std::size_t column, const CellPlace& place, std::vector<Moment>& times);

 private:
  bool is_text_ = false;
  Labels labels_;
  std::vector<std::optional<Moment>> dates_;  // of the labels; empty if a label is no date
  std::vector<Moment> read_;                  // of the rows of a batch, if the column is not text
};

}  // namespace widthwise::cli
