#pragma once

#include <string>

#include <widthwise/error.hpp>
#include <widthwise/row_function.hpp>

/// What every RowFunction asks of its caller.
namespace widthwise::internal {

/// Throw kShapeMismatch unless x is n x inputs and out n x outputs.
inline void check_shapes(const char* where, const RowFunction& function, const MatrixView& x,
                         const MutableMatrixView& out) {
  if (x.rows() == out.rows() && x.columns() == function.inputs() && out.columns() == function.outputs()) return;
  const auto shape = [](std::size_t rows, std::size_t columns) {
    return std::to_string(rows) + " x " + std::to_string(columns);
  };
  throw Error(ErrorCode::kShapeMismatch, std::string(where) + ": expected x of n x " +
                                             std::to_string(function.inputs()) + " and out of n x " +
                                             std::to_string(function.outputs()) + ", found " +
                                             shape(x.rows(), x.columns()) + " and " + shape(out.rows(), out.columns()));
}

}  // namespace widthwise::internal
