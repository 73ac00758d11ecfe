#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

/// Trees as arrays, made by a trainer and stored in a model file. The nodes of all trees are concatenated; children
/// come after their parents, so there is no cycle.
struct TreeArrays {
  std::uint32_t inputs = 0;                ///< number of columns of x
  std::vector<float> base;                 ///< outputs: the initial values of the sums
  std::vector<std::uint32_t> roots;        ///< trees: the index of each root node, ascending from 0
  std::vector<std::uint32_t> output_of;    ///< trees: the output to which the tree adds
  std::vector<std::int32_t> feature;       ///< nodes: the column to compare, or -1 at a leaf
  std::vector<float> value;                ///< nodes: threshold of a split, or value of a leaf
  std::vector<std::uint32_t> left;         ///< nodes: the child for x < threshold; 0 at a leaf
  std::vector<std::uint32_t> right;        ///< nodes: the child otherwise; 0 at a leaf
  std::vector<std::uint8_t> missing_left;  ///< nodes: 1 if a missing value goes left

  /// Splits by category, whose value is 0: x is the number of a category, and the categories of a set go right. Numbers
  /// outside the set go left, also those that no category has.
  std::vector<std::uint32_t> set_nodes;  ///< sets: the node of each, ascending
  std::vector<std::uint32_t> set_ends;   ///< sets: the end of its words in set_words, after that of the set before
  std::vector<std::uint32_t> set_words;  ///< bit c % 32 of word c / 32 is 1 if category c goes right
};

/// The set of categories at a split, as words of TreeArrays.
struct CategorySet {
  std::uint32_t node = 0;                     ///< index of the split in TreeArrays
  std::span<const std::uint32_t> words = {};  ///< bits of the categories that go right; borrowed from the trees

  /// One more than the largest category in the set.
  [[nodiscard]] std::size_t end() const;
};

/// A sum of decision trees. x and the sums are in single precision, and trees are added in order, so the bits are those
/// of XGBoost for one row and for many. Invariant: all indices are in range, all trees are valid, all numbers are
/// finite.
class Trees final : public RowFunction {
 public:
  /// Throws kBadData with the problem found for invalid arrays.
  explicit Trees(TreeArrays arrays);
  ~Trees() override;

  [[nodiscard]] const TreeArrays& arrays() const;           ///< valid as long as the trees
  [[nodiscard]] std::size_t sets() const;                   ///< number of splits by category
  [[nodiscard]] CategorySet set(std::size_t number) const;  ///< by number, below sets()
  [[nodiscard]] std::size_t trees() const;                  ///< number of trees over all outputs

  [[nodiscard]] std::size_t inputs() const override;
  [[nodiscard]] std::size_t outputs() const override;
  void evaluate(MatrixView x, MutableMatrixView out) const override;
  [[nodiscard]] RowFunctionDescription describe() const override;

 private:
  struct Layout;
  void evaluate_rows(const MatrixView& x, const MutableMatrixView& out) const;
  void evaluate_blocks(const MatrixView& x, const MutableMatrixView& out) const;

  TreeArrays arrays_;
  std::unique_ptr<const Layout> layout_;
};

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
