#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include <widthwise/error.hpp>
#include <widthwise/row_function.hpp>

#include "base/message.hpp"

/// Argument checks shared by all RowFunctions.
namespace widthwise::internal {

/// Throw kShapeMismatch unless x is n x inputs and out n x outputs.
inline void check_shapes(const char* where, const RowFunction& function, const MatrixView& x,
                         const MutableMatrixView& out) {
  if (x.rows() == out.rows() && x.columns() == function.inputs() && out.columns() == function.outputs()) return;
  const auto shape = [](std::size_t rows, std::size_t columns) { return fmt::format("{} x {}", rows, columns); };
  throw make_error(ErrorCode::kShapeMismatch, "{}: expected x of n x {} and out of n x {}, found {} and {}", where,
                   function.inputs(), function.outputs(), shape(x.rows(), x.columns()),
                   shape(out.rows(), out.columns()));
}

/// Return the input of a network for a number: centred, scaled and clipped to [-bound, bound]; 0 if it is missing.
[[nodiscard]] inline float standardise(double x, double centre, double scale, double bound) {
  const double z = (x - centre) / scale;
  return std::isnan(z) ? 0.0F : static_cast<float>(std::clamp(z, -bound, bound));
}

}  // namespace widthwise::internal
