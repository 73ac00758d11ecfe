#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <widthwise/row_function.hpp>
#include <widthwise/train/communicator.hpp>

namespace widthwise::internal {

/// Trees that are trained one after the other. They start from the checkpoint, if there is one, which is updated at
/// intervals.
class Forest {
 public:
  /// `first`: the initial values of the outputs. Throws kBadData for a checkpoint that is not of such trees.
  Forest(std::size_t inputs, std::vector<float> first, Checkpoint* checkpoint);

  [[nodiscard]] const TreeArrays& arrays() const { return arrays_; }
  [[nodiscard]] std::uint64_t rounds() const { return progress_.rounds; }
  [[nodiscard]] std::uint64_t best_rounds() const { return progress_.best_rounds; }  ///< those with the smallest loss
  [[nodiscard]] double best_loss() const { return progress_.best_loss; }

  /// Add a tree, which adds to this output.
  void add(const TreeArrays& tree, std::size_t output);

  void end_round();
  void end_round(double loss);  ///< the loss of rows that are not trained on

  /// Store the state after the last round.
  void end();

 private:
  struct Progress {
    std::uint64_t rounds = 0;
    std::uint64_t best_rounds = 0;
    double best_loss = std::numeric_limits<double>::infinity();
  };

  void load(std::span<const std::byte> state);
  void keep();

  TreeArrays arrays_;
  Progress progress_;
  Checkpoint* checkpoint_;
};

/// The trees first..last-1, which add to the base values if `first` is 0, and to 0 otherwise.
[[nodiscard]] TreeArrays part_of(const TreeArrays& trees, std::size_t first, std::size_t last);

}  // namespace widthwise::internal
