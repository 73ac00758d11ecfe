#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/table/cells.hpp"

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
  [[nodiscard]] Cells removed_from(const Cells& column) const;

 private:
  [[nodiscard]] bool contains(double number) const;
  [[nodiscard]] std::vector<bool> found_in(const Cells& column) const;

  std::vector<std::string> texts_;
  std::vector<double> numbers_;
};

}  // namespace widthwise::internal
