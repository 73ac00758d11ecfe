#include "train/engines/xgboost/tree_rows.hpp"

#include <algorithm>

#include <widthwise/random.hpp>

namespace widthwise::internal {

std::size_t number_leaves(const TreeArrays& tree, MatrixView x, const Chunks& chunks, std::span<std::uint32_t> leaves) {
  TreeArrays numbered = tree;
  numbered.base = {0};
  std::size_t count = 0;
  for (std::size_t node = 0; node < numbered.feature.size(); ++node) {
    if (numbered.feature[node] < 0) numbered.value[node] = static_cast<float>(count++);
  }
  const Trees trees(std::move(numbered));
  chunks.for_each([&](const Chunk& chunk) {
    std::vector<double> numbers(chunk.last - chunk.first);
    trees.evaluate(x.slice(chunk.first, numbers.size()), {numbers.data(), numbers.size(), 1});
    for (std::size_t i = 0; i < numbers.size(); ++i) leaves[chunk.first + i] = static_cast<std::uint32_t>(numbers[i]);
  });
  return count;
}

void set_leaf_values(TreeArrays& tree, std::span<const float> values) {
  for (std::size_t node = 0, leaf = 0; node < tree.feature.size(); ++node) {
    if (tree.feature[node] < 0) tree.value[node] = values[leaf++];
  }
}

TreeRows::TreeRows(const std::shared_ptr<const XgboostLibrary>& library, const InputRows& rows,
                   const TrainingContext& context, std::size_t threads)
    : x_(rows.x),
      bins_(rows, context.communicator),
      matrix_(binned(library, rows.categorical, threads)),
      chunks_(rows.x.rows(), threads),
      rank_(context.communicator != nullptr ? context.communicator->rank() : 0),
      leaves_(rows.x.rows(), 0) {
  matrix_.set_labels(std::vector<double>(rows.x.rows(), 0.0));
}

TrainingMatrix TreeRows::binned(const std::shared_ptr<const XgboostLibrary>& library,
                                std::span<const std::uint8_t> categorical, std::size_t threads) const {
  const std::vector<float> numbers = bins_.numbers(x_);
  return {library, {numbers.data(), x_.rows(), x_.columns()}, categorical, threads};
}

void TreeRows::sample(const Sampling& sampling, std::size_t round, std::span<const float> weights,
                      std::span<float> out) {
  chunks_.for_each([&](const Chunk& chunk) {
    Random random = sampling.of_rows(round, rank_, chunk.number);
    for (std::size_t i = chunk.first; i < chunk.last; ++i) {
      out[i] = random.uniform() < sampling.row_share() ? weights[i] : 0;
    }
  });
  matrix_.set_column_weights(sampling.column_weights(round, x_.columns()));
}

TreeArrays TreeRows::grow(TreeGrower& grower, std::span<const float> gradient, std::span<const float> hessian) {
  TreeArrays tree = grower.grow(x_.columns(), gradient, hessian);
  bins_.to_values(tree);
  leaf_count_ = number_leaves(tree, x_, chunks_, leaves_);
  return tree;
}

}  // namespace widthwise::internal
