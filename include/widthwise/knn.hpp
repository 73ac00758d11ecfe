#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <widthwise/row_function.hpp>

namespace widthwise {

/// Remembered rows as arrays: what a trainer makes and a model file holds.
struct KnnArrays {
  std::uint32_t neighbours = 1;  ///< k, at most the number of rows
  std::vector<double> centre;    ///< inputs: subtracted from x first; missing values become 0 after that
  std::vector<double> scale;     ///< inputs: then divided by; positive
  std::vector<double> points;    ///< rows x inputs, centred and scaled; each 0 or of a size from 1e-30 to 1e6
  std::vector<double> values;    ///< rows: y
};

/// The mean outcome of the k nearest remembered rows  [paper, Experiments]. Of rows at the same distance the earlier
/// is nearer. A number of x farther than 1e6 scales from the centre, infinities among them, counts as that far away;
/// one within 1e-30 scales is at the centre. Invariant: sizes fit, every number finite.
class Knn final : public RowFunction {
 public:
  /// Throws kBadData, saying what is wrong.
  explicit Knn(KnnArrays arrays);
  ~Knn() override;

  [[nodiscard]] const KnnArrays& arrays() const;

  [[nodiscard]] std::size_t inputs() const override;
  [[nodiscard]] std::size_t outputs() const override { return 1; }
  void evaluate(MatrixView x, MutableMatrixView out) const override;
  [[nodiscard]] RowFunctionDescription describe() const override;

 private:
  struct Tree;
  std::unique_ptr<const Tree> tree_;
};

}  // namespace widthwise
