#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

/// Weights of the rows of clusters.
namespace widthwise::internal {

/// The largest weight of a cluster: sums of 2^32 such weights are exact in two doubles.
inline constexpr std::uint64_t kMaxClusterWeight = std::uint64_t{1} << 52U;

/// The weight of every cluster as an integer: the least common multiple of the sizes, so that the share of each row is
/// an integer as well; or kMaxClusterWeight if that is smaller.
[[nodiscard]] inline std::uint64_t cluster_weight(std::span<const std::uint64_t> sizes) {
  std::uint64_t weight = 1;
  for (const std::uint64_t size : sizes) {
    const std::uint64_t factor = size / std::gcd(weight, size);
    if (factor > kMaxClusterWeight / weight) return kMaxClusterWeight;
    weight *= factor;
  }
  return weight;
}

/// Weights of clusters as integers, and the one that stands for 1.
struct ClusterWeights {
  std::vector<std::uint64_t> weights;
  std::uint64_t unit = 1;
};

/// Every cluster has weight 1; `kept` are their numbers of rows.
[[nodiscard]] inline ClusterWeights equal_weights(std::span<const std::uint64_t> kept) {
  const std::uint64_t weight = cluster_weight(kept);
  return {std::vector(kept.size(), weight), weight};
}

/// Every cluster has the weight of its size, so every row weighs 1, or more if not all rows of its cluster are kept.
/// The unit makes the shares of rows integers, unless the weights would be too large to be exact.
[[nodiscard]] inline ClusterWeights weights_by_size(std::span<const std::uint64_t> kept,
                                                    std::span<const std::uint64_t> sizes) {
  std::vector<std::uint64_t> sampled;
  std::uint64_t largest = 1;
  for (std::size_t k = 0; k < kept.size(); ++k) {
    if (kept[k] < sizes[k]) sampled.push_back(kept[k]);
    largest = std::max(largest, sizes[k]);
  }
  std::uint64_t unit = cluster_weight(sampled);
  if (unit > kMaxClusterWeight / largest) unit = 1;
  ClusterWeights result{{sizes.begin(), sizes.end()}, unit};
  for (std::uint64_t& weight : result.weights) weight *= unit;
  return result;
}

/// Shares out the weight of each cluster over its rows, in the order in which rows are taken. If it is not divisible,
/// the last row takes the remainder: the sum over the first rows is then never above their true share, so no quantile
/// is too small, and the sum over all rows is exact.
class ClusterShares {
 public:
  /// `sizes` are the numbers of rows of the clusters; they and `weights` have to outlive this.
  ClusterShares(std::span<const std::uint64_t> sizes, std::span<const std::uint64_t> weights)
      : sizes_(sizes), left_(sizes.begin(), sizes.end()), weights_(weights) {}

  /// The weight of the next row of a cluster.
  [[nodiscard]] double take(std::size_t cluster) {
    const std::uint64_t size = sizes_[cluster];
    const bool is_last = --left_[cluster] == 0;
    const std::uint64_t share = weights_[cluster] / size + (is_last ? weights_[cluster] % size : 0);
    return static_cast<double>(share);
  }

 private:
  std::span<const std::uint64_t> sizes_;
  std::vector<std::uint64_t> left_;
  std::span<const std::uint64_t> weights_;
};

}  // namespace widthwise::internal
