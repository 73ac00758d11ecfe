#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <widthwise/matrix_view.hpp>

namespace widthwise::internal {

/// Rows copied from a matrix, with space for one more column.
class Rows {
 public:
  Rows(MatrixView x, std::span<const std::size_t> rows)
      : count_(rows.size()), columns_(x.columns()), values_(rows.size() * (x.columns() + 1)) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(x.row(rows[i]).data(), columns_, values_.data() + i * (columns_ + 1));
    }
  }

  void set_last(std::span<const double> values) {
    for (std::size_t i = 0; i < count_; ++i) values_[i * (columns_ + 1) + columns_] = values[i];
  }

  /// Without the last column.
  [[nodiscard]] MatrixView features() const { return {values_.data(), count_, columns_, columns_ + 1}; }
  /// With the last column.
  [[nodiscard]] MatrixView all() const { return {values_.data(), count_, columns_ + 1}; }

 private:
  std::size_t count_;
  std::size_t columns_;
  std::vector<double> values_;
};

[[nodiscard]] inline std::vector<double> taken(std::span<const double> values, std::span<const std::size_t> rows) {
  std::vector<double> out;
  out.reserve(rows.size());
  for (const std::size_t row : rows) out.push_back(values[row]);
  return out;
}

}  // namespace widthwise::internal
