#pragma once

#include <widthwise/dense_net.hpp>
#include <widthwise/matrix_view.hpp>

namespace widthwise::internal {

/// Evaluate n rows by torch, as training does: x (n x inputs), out (n x outputs). What DenseNet::evaluate is tested
/// against.
void evaluate_by_torch(const DenseNetArrays& net, MatrixView x, MutableMatrixView out);

}  // namespace widthwise::internal
