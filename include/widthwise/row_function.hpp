#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <widthwise/interface.hpp>
#include <widthwise/matrix_view.hpp>

namespace widthwise {

/// A borrowed array of any type that row functions consist of.
using ArrayView = std::variant<std::span<const float>, std::span<const double>, std::span<const std::uint8_t>,
                               std::span<const std::int32_t>, std::span<const std::uint32_t>>;

/// An array of a row function, under the name that model files and exporters use.
struct NamedArray {
  std::string name;                ///< unique within one function
  ArrayView values;                ///< row-major, borrowed from the function
  std::vector<std::size_t> shape;  ///< multiplies to the size of `values`
};

/// A row function as plain data. Model files, `inspect`, Python and exporters read this, so that a new kind of row
/// function describes itself once. Arrays are borrowed from the function.
struct RowFunctionDescription {
  std::string kind = {};     ///< "trees" or "net"; empty for a function that cannot be stored
  std::string summary = {};  ///< for people: "120 trees with 3,720 nodes"
  std::vector<std::pair<std::string, std::uint64_t>> figures = {};  ///< the same as numbers, by name
  std::vector<std::pair<std::string, std::variant<std::uint64_t, double>>> numbers = {};  ///< by name, as stored
  std::vector<NamedArray> arrays = {};  ///< weights, thresholds and the like, as stored

  /// Add a vector under a name; shape {} is that of the vector.
  template <class Number>
  void add(std::string name, const std::vector<Number>& values, std::vector<std::size_t> shape = {}) {
    if (shape.empty()) shape = {values.size()};
    arrays.push_back({std::move(name), std::span<const Number>(values), std::move(shape)});
  }
};

/// A function of the numbers of a row: a base model x -> f(x), or a localizer (x, f(x)) -> p. It is stored as plain
/// arrays, so evaluating it does not need the engine that trained it.
/// Thread safety: full; immutable.
class RowFunction : public Interface {
 public:
  /// Number of input columns.
  [[nodiscard]] virtual std::size_t inputs() const = 0;

  /// Number of output columns.
  [[nodiscard]] virtual std::size_t outputs() const = 0;

  /// Evaluate n rows: x (n x inputs; NaN is a missing value), out (n x outputs). The result of a row does not depend on
  /// the other rows. Throws kShapeMismatch.
  virtual void evaluate(MatrixView x, MutableMatrixView out) const = 0;

  /// The function as plain data; valid as long as the function. Without an override the kind is empty.
  [[nodiscard]] virtual RowFunctionDescription describe() const { return {}; }
};

}  // namespace widthwise
