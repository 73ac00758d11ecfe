#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace widthwise::internal {

/// The cells that count as missing because the user says so: those with the text of a marker, without the spaces around
/// it, and those with its number, so that CSV and Parquet files of one table have the same missing values.
/// Thread safety: const methods may run concurrently.
class MissingMarkers {
 public:
  explicit MissingMarkers(const std::vector<std::string>& markers);

  [[nodiscard]] bool empty() const { return texts_.empty(); }
  [[nodiscard]] bool contains(std::string_view cell) const;

  /// The column with nulls in place of markers.
  [[nodiscard]] std::shared_ptr<arrow::Array> removed_from(const std::shared_ptr<arrow::Array>& column) const;

 private:
  [[nodiscard]] bool contains(double number) const;
  [[nodiscard]] std::vector<bool> found_in(const arrow::Array& column) const;

  std::vector<std::string> texts_;
  std::vector<double> numbers_;
};

}  // namespace widthwise::internal
