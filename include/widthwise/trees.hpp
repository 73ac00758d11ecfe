#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <widthwise/row_function.hpp>

namespace widthwise {

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

}  // namespace widthwise
