#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>
#include <widthwise/calibration.hpp>

#include "conformal/calibration/cluster_weights.hpp"
#include "conformal/calibration/group_index.hpp"

namespace widthwise {

/// Rank the rows of all clusters together, each with its share of the weight of its cluster. `sizes` are the numbers of
/// rows of the clusters, including those not kept.
SortedScores::Group SortedScores::rank_clusters(std::span<const std::vector<Calibration::Entry>> clusters,
                                                std::span<const std::uint64_t> sizes, ClusterForm form) {
  struct Row {
    double score;
    bool above;
    std::uint32_t cluster;
  };
  std::vector<Row> rows;
  std::vector<std::uint64_t> kept;
  for (const std::vector<Calibration::Entry>& entries : clusters) {
    const auto cluster = static_cast<std::uint32_t>(kept.size());
    for (const Calibration::Entry& entry : entries) rows.push_back({entry.score, entry.above, cluster});
    kept.push_back(entries.size());
  }
  std::ranges::sort(rows, {}, &Row::score);
  const internal::ClusterWeights weights =
      form == ClusterForm::kRows ? internal::weights_by_size(kept, sizes) : internal::equal_weights(kept);
  // The rows that are not ranked come first.
  const auto rank = [&](const auto& is_ranked) {
    internal::ClusterShares shares(kept, weights.weights);
    Sum sum;
    for (const Row& row : rows) {
      if (!is_ranked(row)) accumulate(sum, shares.take(row.cluster));
    }
    Ranked ranked{{}, {}, sum};
    for (const Row& row : rows) {
      if (!is_ranked(row)) continue;
      accumulate(sum, shares.take(row.cluster));
      ranked.scores.push_back(row.score);
      ranked.weights.push_back(sum);
    }
    return ranked;
  };
  Group group;
  group.clusters = clusters.size();
  group.unit = static_cast<double>(weights.unit);
  for (std::size_t k = 0; k < kept.size(); ++k) group.remainder += static_cast<double>(weights.weights[k] % kept[k]);
  group.all = rank([](const Row&) { return true; });
  group.above = rank([](const Row& row) { return row.above; });
  group.below = rank([](const Row& row) { return !row.above; });
  group.total = group.all.weights.back();
  return group;
}

/// Rank the rows of each group by their clusters; without groups, all rows are in one.
void SortedScores::rank_groups_of_clusters(const Calibration& calibration, const ClusterRule& rule) {
  auto index = std::make_shared<internal::GroupIndex>();
  clusters_ = calibration.clusters();
  form_ = rule.form;
  if (form_ == ClusterForm::kRows) {
    new_weight_ = static_cast<double>(std::max(rule.max_size, calibration.largest_cluster()));
  }
  for (const std::int64_t group : calibration.groups()) {
    std::vector<std::vector<Calibration::Entry>> clusters;
    std::vector<std::uint64_t> sizes;
    for (const auto& [place, sample] : calibration.samples_of(group)) {
      clusters.push_back(calibration.kept(sample));
      sizes.push_back(sample.seen);
    }
    (void)index->add(group);
    groups_.push_back(rank_clusters(clusters, sizes, form_));
  }
  index_ = std::move(index);
}

}  // namespace widthwise
