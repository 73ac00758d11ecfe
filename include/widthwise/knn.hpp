#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <widthwise/row_function.hpp>

namespace widthwise {

/// Stored rows as arrays, made by a trainer and stored in a model file.
struct KnnArrays {
  std::uint32_t neighbours = 1;  ///< k, at most the number of rows
  std::vector<double> centre;    ///< inputs: subtracted from x; missing values become 0 afterwards
  std::vector<double> scale;     ///< inputs: divisor after centring; positive
  std::vector<double> points;    ///< rows x inputs, centred and scaled; each 0 or of absolute value 1e-30 to 1e6
  std::vector<double> values;    ///< rows: y
};

/// The mean outcome of the k nearest stored rows  [paper, Experiments]. Of rows at the same distance, the earlier one
/// is used first. Values of x are clipped at 1e6 scales from the centre, including infinities; values within 1e-30
/// scales count as the centre. Invariant: sizes match, and all numbers are finite.
class Knn final : public RowFunction {
 public:
  /// Throws kBadData with the problem found.
  explicit Knn(KnnArrays arrays);
  ~Knn() override;

  [[nodiscard]] const KnnArrays& arrays() const;  ///< valid as long as this function

  [[nodiscard]] std::size_t inputs() const override;
  [[nodiscard]] std::size_t outputs() const override { return 1; }
  void evaluate(MatrixView x, MutableMatrixView out) const override;
  [[nodiscard]] RowFunctionDescription describe() const override;

 private:
  struct Tree;
  std::unique_ptr<const Tree> tree_;
};

}  // namespace widthwise
