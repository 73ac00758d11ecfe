#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <widthwise/row_function.hpp>

namespace widthwise {

/// One fully connected layer: out = weights x + biases.
struct DenseLayer {
  std::uint32_t inputs = 0;    ///< columns of x, or outputs of the layer before
  std::uint32_t outputs = 0;   ///< units of this layer; those of the last layer are the outputs of the network
  std::vector<float> weights;  ///< outputs x inputs, row-major
  std::vector<float> biases;   ///< outputs
};

/// A network as arrays, made by a trainer and stored in a model file.
struct DenseNetArrays {
  std::vector<double> centre;      ///< inputs: subtracted from x; missing values become 0 afterwards
  std::vector<double> scale;       ///< inputs: divisor after centring; positive
  double bound = 10;               ///< then clipped to [-bound, bound], so that outliers stay in the training range
  std::vector<DenseLayer> layers;  ///< at least one; ReLU between them, none after the last
};

/// A fully connected network with ReLU, in single precision; the same bits on every x86-64, and no allocation for
/// layers of up to 1024 units. Invariant: the sizes of the layers match, and all numbers are finite.
class DenseNet final : public RowFunction {
 public:
  /// Throws kBadData with the problem found for invalid arrays.
  explicit DenseNet(DenseNetArrays arrays);

  [[nodiscard]] const DenseNetArrays& arrays() const { return arrays_; }  ///< valid as long as the network

  [[nodiscard]] std::size_t inputs() const override;
  [[nodiscard]] std::size_t outputs() const override;
  void evaluate(MatrixView x, MutableMatrixView out) const override;
  [[nodiscard]] RowFunctionDescription describe() const override;

 private:
  DenseNetArrays arrays_;
  std::size_t widest_ = 0;
  std::vector<std::vector<float>> columns_;  // one per layer: its weights by columns, of padded length
};

}  // namespace widthwise
