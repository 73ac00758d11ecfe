#pragma once

#include <cstddef>

#include <widthwise/interface.hpp>
#include <widthwise/matrix_view.hpp>

namespace widthwise {

/// A function from the numbers of a row to other numbers: a base model x -> f(x), or a localizer (x, f(x)) -> p. Plain
/// arrays behind it: whatever engine trained it, none is needed to evaluate it.
/// Thread safety: full; immutable.
class RowFunction : public Interface {
 public:
  /// Columns it takes.
  [[nodiscard]] virtual std::size_t inputs() const = 0;

  /// Columns it gives.
  [[nodiscard]] virtual std::size_t outputs() const = 0;

  /// Evaluate n rows: x (n x inputs; NaN is a missing value), out (n x outputs). Throws kShapeMismatch. Each row's
  /// result is the same whatever rows are beside it.
  virtual void evaluate(MatrixView x, MutableMatrixView out) const = 0;
};

}  // namespace widthwise
