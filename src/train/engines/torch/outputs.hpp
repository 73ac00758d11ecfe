#pragma once

#include <widthwise/matrix_view.hpp>
#include <widthwise/row_function.hpp>

namespace widthwise::internal {

/// Evaluate n rows with torch, as in training: x (n x inputs), out (n x outputs). DenseNet::evaluate is tested against
/// this.
void evaluate_by_torch(const DenseNetArrays& net, MatrixView x, MutableMatrixView out);

}  // namespace widthwise::internal
