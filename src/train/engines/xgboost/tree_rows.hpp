#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <widthwise/row_function.hpp>
#include <widthwise/train/trainer.hpp>

#include "train/engines/threads/chunks.hpp"
#include "train/engines/xgboost/bins.hpp"
#include "train/engines/xgboost/booster.hpp"
#include "train/engines/xgboost/settings.hpp"

namespace widthwise::internal {

/// Number the leaves of a tree in the order of its nodes, write the number of the leaf of every row (n), and return how
/// many leaves there are.
std::size_t number_leaves(const TreeArrays& tree, MatrixView x, const Chunks& chunks, std::span<std::uint32_t> leaves);

/// The rows of one training of trees: XGBoost chooses the splits of each tree from their derivatives, and the trainer
/// computes the values of the leaves. Thread safety: none.
class TreeRows {
 public:
  /// The rows must outlive this object.
  TreeRows(const std::shared_ptr<const XgboostLibrary>& library, const InputRows& rows, const TrainingContext& context,
           std::size_t threads);

  [[nodiscard]] MatrixView x() const { return x_; }
  [[nodiscard]] const TrainingMatrix& matrix() const { return matrix_; }
  [[nodiscard]] const Chunks& chunks() const { return chunks_; }

  /// Draw the columns of a round, and its rows: `out` (n) is the weight of a row, or 0 if it is not in the sample.
  void sample(const Sampling& sampling, std::size_t round, std::span<const float> weights, std::span<float> out);

  /// The next tree, from derivatives of all rows. Its leaves have no values yet.
  [[nodiscard]] TreeArrays grow(TreeGrower& grower, std::span<const float> gradient, std::span<const float> hessian);

  /// The leaf of every row in the last tree (n), from 0, and the number of leaves.
  [[nodiscard]] std::span<const std::uint32_t> leaves() const { return leaves_; }
  [[nodiscard]] std::size_t leaf_count() const { return leaf_count_; }

 private:
  [[nodiscard]] TrainingMatrix binned(const std::shared_ptr<const XgboostLibrary>& library,
                                      std::span<const std::uint8_t> categorical, std::size_t threads) const;

  MatrixView x_;
  Bins bins_;
  TrainingMatrix matrix_;
  Chunks chunks_;
  std::size_t rank_;
  std::vector<std::uint32_t> leaves_;
  std::size_t leaf_count_ = 1;
};

/// Set the values of the leaves of a tree, in the order of its nodes.
void set_leaf_values(TreeArrays& tree, std::span<const float> values);

}  // namespace widthwise::internal
