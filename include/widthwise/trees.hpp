#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <widthwise/row_function.hpp>

namespace widthwise {

/// Trees as arrays: what a trainer makes and a model file holds. Nodes of all trees stand one after the other;
/// children come after their parents, so there is no cycle.
struct TreeArrays {
  std::uint32_t inputs = 0;
  std::vector<float> base;                 ///< outputs numbers: where the sums begin
  std::vector<std::uint32_t> roots;        ///< trees: the place of each root among the nodes, ascending from 0
  std::vector<std::uint32_t> output_of;    ///< trees: the output that the tree adds to
  std::vector<std::int32_t> feature;       ///< nodes: the column compared, or -1 at a leaf
  std::vector<float> value;                ///< nodes: threshold of a split, or what a leaf adds
  std::vector<std::uint32_t> left;         ///< nodes: the child where x < threshold; 0 at a leaf
  std::vector<std::uint32_t> right;        ///< nodes: the child otherwise; 0 at a leaf
  std::vector<std::uint8_t> missing_left;  ///< nodes: 1 when a missing value goes left
};

/// A sum of decision trees, in single precision (x, too) and in the order of the trees, as XGBoost computes it: the
/// same bits, for one row and for many. Invariant: every index in range, every tree a tree, every number finite.
class Trees final : public RowFunction {
 public:
  /// Throws kBadData, saying what is wrong, for arrays that are not trees.
  explicit Trees(TreeArrays arrays);
  ~Trees() override;

  [[nodiscard]] const TreeArrays& arrays() const;
  [[nodiscard]] std::size_t trees() const;

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

}  // namespace widthwise
