#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

namespace widthwise {

/// Borrowed row-major matrix: `rows` rows of `columns` numbers; consecutive rows are `stride` numbers apart.
/// Thread safety: that of the memory it refers to.
template <class T>
class BasicMatrixView {
 public:
  constexpr BasicMatrixView() = default;  ///< no rows, no columns
  /// View rows x columns numbers without gaps. `data` has to outlive the view.
  constexpr BasicMatrixView(T* data, std::size_t rows, std::size_t columns)
      : BasicMatrixView(data, rows, columns, columns) {}
  /// View rows that are `stride` numbers apart. A stride of 0 repeats one row.
  constexpr BasicMatrixView(T* data, std::size_t rows, std::size_t columns, std::size_t stride)
      : data_(data), rows_(rows), columns_(columns), stride_(stride) {}

  /// View a span as a matrix with one column, for transforms with one parameter.
  static constexpr BasicMatrixView column(std::span<T> values) { return {values.data(), values.size(), 1}; }

  /// Convert a mutable view to a const view.
  constexpr operator BasicMatrixView<const T>() const  // NOLINT(google-explicit-constructor)
    requires(!std::is_const_v<T>)
  {
    return {data_, rows_, columns_, stride_};
  }

  [[nodiscard]] constexpr T* data() const { return data_; }  ///< the first number of row 0; null for a view of nothing
  [[nodiscard]] constexpr std::size_t rows() const { return rows_; }        ///< 0 for a view of nothing
  [[nodiscard]] constexpr std::size_t columns() const { return columns_; }  ///< numbers per row
  [[nodiscard]] constexpr std::size_t stride() const { return stride_; }    ///< numbers from one row to the next
  /// Whether there are no rows. Rows without columns count as rows.
  [[nodiscard]] constexpr bool empty() const { return rows_ == 0; }
  /// Whether there is no gap between rows, so that data() is one array of rows() * columns() numbers.
  [[nodiscard]] constexpr bool contiguous() const { return stride_ == columns_; }

  /// The numbers of row i, borrowed. Not range-checked.
  [[nodiscard]] constexpr std::span<T> row(std::size_t i) const { return {data_ + i * stride_, columns_}; }
  /// The number in row i and column j, from 0. Not range-checked.
  [[nodiscard]] constexpr T& operator()(std::size_t i, std::size_t j) const { return data_[i * stride_ + j]; }

  /// `count` rows from row `first`.
  [[nodiscard]] constexpr BasicMatrixView slice(std::size_t first, std::size_t count) const {
    return {data_ + first * stride_, count, columns_, stride_};
  }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t stride_ = 0;
};

using MatrixView = BasicMatrixView<const double>;   ///< input: read-only
using MutableMatrixView = BasicMatrixView<double>;  ///< output: the callee writes to it

/// Copy a matrix row by row to another of the same shape.
inline void copy_rows(MatrixView from, MutableMatrixView to) {
  if (from.columns() == 1) {  // one loop, instead of one for each row
    for (std::size_t i = 0; i < from.rows(); ++i) to.data()[i * to.stride()] = from.data()[i * from.stride()];
    return;
  }
  for (std::size_t i = 0; i < from.rows(); ++i) std::copy_n(from.row(i).data(), from.columns(), to.row(i).data());
}

}  // namespace widthwise
