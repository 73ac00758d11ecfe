#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <widthwise/matrix_view.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/communicator.hpp>
#include <widthwise/train/trainer.hpp>

namespace widthwise::internal {

/// The bins of the inputs of trees, of about equal counts. XGBoost trains on the numbers of bins. It needs no quantiles
/// of them, so that its versions choose the same splits.
class Bins {
 public:
  static constexpr std::size_t kMost = 256;  ///< per column of numbers; XGBoost splits between any two of so many

  /// Of these rows, or of a sample of them if they are many; over all workers, if there are any.
  Bins(const InputRows& rows, const Communicator* communicator);

  /// The numbers of bins of rows (n x columns). Missing values stay NaN and categories their numbers.
  [[nodiscard]] std::vector<float> numbers(MatrixView x) const;

  /// Replace the thresholds of trees on numbers of bins by values of the columns.
  void to_values(TreeArrays& trees) const;

 private:
  [[nodiscard]] bool is_number(std::size_t column) const { return categorical_.empty() || categorical_[column] == 0; }

  std::vector<std::vector<float>> edges_;  // by column, ascending: the number of a bin is that of the edges up to x
  std::vector<std::uint8_t> categorical_;  // 1 for a column of categories, or empty
};

}  // namespace widthwise::internal
