#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <widthwise/matrix_view.hpp>

namespace widthwise::internal {

/// Rows copied from a matrix, with space for more columns.
class WideRows {
 public:
  WideRows(MatrixView x, std::span<const std::size_t> rows, std::size_t more = 0)
      : count_(rows.size()), columns_(x.columns()), stride_(columns_ + more), values_(rows.size() * stride_) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(x.row(rows[i]).data(), columns_, values_.data() + i * stride_);
    }
  }

  /// Set one of the further columns, by its number from 0.
  void set(std::size_t column, std::span<const double> values) {
    for (std::size_t i = 0; i < count_; ++i) values_[i * stride_ + columns_ + column] = values[i];
  }

  /// Without the further columns.
  [[nodiscard]] MatrixView features() const { return {values_.data(), count_, columns_, stride_}; }
  /// With the further columns.
  [[nodiscard]] MatrixView all() const { return {values_.data(), count_, stride_}; }

 private:
  std::size_t count_;
  std::size_t columns_;
  std::size_t stride_;
  std::vector<double> values_;
};

/// The values of some rows, each of which has `columns` of them.
[[nodiscard]] inline std::vector<double> taken(std::span<const double> values, std::span<const std::size_t> rows,
                                               std::size_t columns = 1) {
  std::vector<double> out;
  out.reserve(rows.size() * columns);
  for (const std::size_t row : rows) {
    for (std::size_t k = 0; k < columns; ++k) out.push_back(values[row * columns + k]);
  }
  return out;
}

}  // namespace widthwise::internal
