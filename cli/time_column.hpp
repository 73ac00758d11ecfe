#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/io/table.hpp>
#include <widthwise/labels.hpp>

namespace widthwise::cli {

/// Seconds since 1970 of an ISO 8601 date, such as 2013-01-31, 2013-01-31T05, 2013-01-31 05:00 or
/// 2013-01-31T05:00:30.5+01:00; empty for other text. A time without an offset is taken as UTC.
[[nodiscard]] std::optional<double> seconds_of_date(std::string_view text);

/// The column of times of a table: numbers, dates as text, or dates of a Parquet file.
/// Thread safety: none.
class TimeColumn {
 public:
  /// The column as a reader selects it; this has to outlive the reader.
  [[nodiscard]] SelectedColumn select(const TableReader& reader, const std::string& name);

  /// Append the times of the rows of a batch, in whose numbers the column has this place. Throws kBadData, with file
  /// and row, for a missing time or text that is no date.
  void append(const TableBatch& batch, std::size_t place, const std::string& file, std::vector<double>& times);

 private:
  std::string name_;
  bool is_text_ = false;
  Labels labels_;
  std::vector<double> seconds_;  // of the labels; NaN if a label is no date
};

}  // namespace widthwise::cli
