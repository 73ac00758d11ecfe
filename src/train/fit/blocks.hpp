#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "train/fit/cross_fit.hpp"

namespace widthwise::internal {

/// Rows that no split separates: those of one cluster, or of one time. Copies of one row are a cluster. Without either,
/// there are no blocks, and rows are split one by one.
class RowBlocks {
 public:
  /// n clusters or n times, or neither.
  RowBlocks(std::vector<std::uint64_t> clusters, std::vector<double> times)
      : clusters_(std::move(clusters)), times_(std::move(times)) {}

  [[nodiscard]] bool any() const { return !clusters_.empty() || !times_.empty(); }

  /// The cluster of each row; several workers hash them.
  [[nodiscard]] std::span<const std::uint64_t> clusters() const { return clusters_; }

  /// The blocks of some of the rows.
  [[nodiscard]] RowBlocks of(std::span<const std::size_t> rows) const;

  /// Number of distinct clusters or times.
  [[nodiscard]] std::size_t count() const;

  /// Which rows (n) are in a share: that share of the clusters, chosen at random, or about that share of the rows, the
  /// latest ones. The number of clusters does not depend on their sizes; otherwise they would not be exchangeable with
  /// a new cluster. Unless the share is 0, both sides have at least one block, and a share of clusters two
  /// if possible; throws kTooFewRows for fewer than two blocks.
  [[nodiscard]] std::vector<bool> share(double share, std::uint64_t seed) const;

  /// Assign rows to folds: clusters at random, equally many per fold, or times in order, about equally many rows per
  /// fold. Throws kInvalidArgument for fewer than 2 folds, kTooFewRows for more folds than blocks.
  [[nodiscard]] Folds folds(std::size_t count, std::uint64_t seed) const;

 private:
  /// The number of the block of each row (n), and the rows of each block.
  struct Numbered {
    std::vector<std::size_t> block_of;
    std::vector<std::size_t> rows;
  };
  /// Clusters in random order, or times from the first to the last.
  [[nodiscard]] Numbered numbered(std::uint64_t seed) const;

  std::vector<std::uint64_t> clusters_;
  std::vector<double> times_;
};

}  // namespace widthwise::internal
