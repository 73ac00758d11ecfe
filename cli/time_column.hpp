#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <widthwise/io/table.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/moment.hpp>

namespace widthwise::cli {

/// The column of times of a table: numbers, dates as text, or dates of a Parquet file.
/// Thread safety: none.
class TimeColumn {
 public:
  /// The column as a reader selects it; this has to outlive the reader.
  [[nodiscard]] SelectedColumn select(const TableReader& reader, const std::string& name);

  /// Append the times of the rows of a batch, in whose numbers the column has this position. Throws kBadData, with
  /// file and row, for a missing time or text that is no date.
  void append(const TableBatch& batch, std::size_t place, const std::string& file, std::vector<Moment>& times);

 private:
  std::string name_;
  bool is_text_ = false;
  Labels labels_;
  std::vector<std::optional<Moment>> dates_;  // of the labels; empty if a label is no date
  std::vector<Moment> read_;                  // of the rows of a batch, if the column is not text
};

}  // namespace widthwise::cli
