#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

/// Weights of the rows of clusters, each of which has the same weight.
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

/// Shares out the weight of each cluster over its rows, in the order in which rows are taken. If it is not divisible,
/// the last row takes the remainder: the sum over the first rows is then never above their true share, so no quantile
/// is too small, and the sum over all rows is exact.
class ClusterShares {
 public:
  /// `sizes` are the numbers of rows of the clusters, and have to outlive this.
  ClusterShares(std::span<const std::uint64_t> sizes, std::uint64_t weight)
      : sizes_(sizes), left_(sizes.begin(), sizes.end()), weight_(weight) {}

  /// The weight of the next row of a cluster.
  [[nodiscard]] double take(std::size_t cluster) {
    const std::uint64_t size = sizes_[cluster];
    const bool is_last = --left_[cluster] == 0;
    const std::uint64_t share = weight_ / size + (is_last ? weight_ % size : 0);
    return static_cast<double>(share);
  }

 private:
  std::span<const std::uint64_t> sizes_;
  std::vector<std::uint64_t> left_;
  std::uint64_t weight_;
};

}  // namespace widthwise::internal
