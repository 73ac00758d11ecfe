#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "conformal/schemes/factories.hpp"

namespace widthwise::internal {
namespace {

/// A calibration row has its share of the weight of its cluster: the number of rows of the cluster, and then a new row
/// has the size of its own cluster; or 1 for every cluster and for the new row. In groups, the cluster of a row is the
/// part of it that lies in the group of the row.
class Clusters final : public CalibrationScheme {
 public:
  Clusters(SchemeOptions options, const Calibration& calibration, bool in_groups)
      : CalibrationScheme(std::move(options), calibration),
        in_groups_(in_groups),
        sizes_(calibration.cluster_sizes()),
        all_({.clusters = calibration.clusters(),
              .rows = calibration.rows_seen(),
              .largest = calibration.largest_cluster(),
              .effective = calibration.effective_clusters()}) {}

  [[nodiscard]] bool reads(Role role, Step step) const override {
    return step == Step::kPredict ? role == Role::kClusterSize && counts_rows() : role == Role::kCluster;
  }

  [[nodiscard]] bool has_independent_rows() const override { return false; }

  [[nodiscard]] std::string scope() const override { return in_groups_ ? " in each group" : ""; }

  [[nodiscard]] Combination combination() const override {
    return CalibrationScheme::combination().add(Role::kCluster).add(Choice::kEachClusterOnce, !counts_rows());
  }

  void check_rows(const Calibration& calibration) const override {
    const bool rows_lack = !have_clusters(calibration.keys()) && all_.rows > 0;
    check_need(Role::kCluster, options().columns.has(Role::kCluster), !rows_lack, "Model",
               options().columns[Role::kCluster]);
  }

  [[nodiscard]] GuaranteeStatement guarantee(const Level& /*level*/) const override {
    const std::string kind = in_groups_ ? "group-conditional" : "marginal";
    const std::string if_exchangeable = fmt::format(
        ", if new clusters are exchangeable with the calibration clusters{}, and rows within a cluster as well",
        in_groups_ ? ", together with the groups of their rows" : "");
    if (!counts_rows()) {
      return {.kind = kind,
              .text = fmt::format(
                  "coverage of at least the level{}, on average over calibration sets and new clusters{}, where each "
                  "cluster counts once{}",
                  scope(), in_groups_ ? " with rows in the group" : "", if_exchangeable),
              .is_marginal_for_rows = false};
    }
    const std::uint64_t bound = cluster_rule().max_size;
    const bool is_declared = options().max_cluster_size == bound;
    const std::string sizes = bound == 0 ? std::string()
                                         : fmt::format(", for clusters of at most {}{}{}", count_of(bound, "row"),
                                                       in_group(), is_declared ? "" : ", the largest known size");
    return {.kind = kind,
            .text = fmt::format(
                "coverage of at least the level{}, on average over calibration sets and rows of new clusters{}, where "
                "each row counts once{}{}",
                scope(), in_group(), sizes, if_exchangeable),
            .is_marginal_for_rows = false};
  }

  [[nodiscard]] CalibrationRanks law(const Calibration& calibration, const Level& level,
                                     std::span<const std::int64_t> row_groups) const override {
    if (all_.rows == 0) return CalibrationScheme::law(calibration, level, row_groups);
    const std::uint64_t largest = counts_rows() ? cluster_rule().max_size : 0;
    return {.groups = {rank_of(level, all_)},
            .min_rows = counts_rows() ? level.min_rows(largest) : options().guarantee.min_rows(level),
            .sets = DependentSets{.largest = largest, .rows = all_.rows}};
  }

  [[nodiscard]] std::uint64_t units(const Calibration& /*calibration*/) const override { return units_of(all_); }

  [[nodiscard]] std::uint64_t units_in(const Calibration& /*calibration*/, std::int64_t group) const override {
    return units_of(sizes_in(group));
  }

  [[nodiscard]] const char* unit_name() const override { return all_.rows == 0 ? "row" : "cluster"; }

  [[nodiscard]] LevelNeeds needs(const Calibration& calibration, const Level& level) const override {
    return all_.rows == 0 ? CalibrationScheme::needs(calibration, level) : needs_of(level, all_);
  }

  [[nodiscard]] LevelNeeds needs_in(const Calibration& /*calibration*/, const Level& level,
                                    std::int64_t group) const override {
    return needs_of(level, sizes_in(group));
  }

  [[nodiscard]] GroupRank rank_in(const Calibration& calibration, const Level& level,
                                  std::int64_t group) const override {
    GroupRank rank = rank_of(level, sizes_in(group));
    rank.group = group;
    rank.label = calibration.label(group);
    return rank;
  }

  [[nodiscard]] SchemeDescription describe(const Calibration& calibration) const override {
    SchemeDescription description = CalibrationScheme::describe(calibration);
    description.clusters = ClusterCounts{.form = cluster_rule().form,
                                         .count = all_.clusters,
                                         .rows = all_.rows,
                                         .largest = all_.largest,
                                         .effective = all_.effective,
                                         .max_size = cluster_rule().max_size};
    if (all_.rows == 0) return description;
    const ClusterCounts& counts = *description.clusters;
    const std::string largest = count_of(counts.largest, "row") + in_group();
    description.parts = ", in " + count_of(counts.count, "cluster") + " of up to " + largest;
    description.summary += description.parts;
    description.lines.emplace_back(
        "cluster sizes", "up to " + largest + ", effective number " + count(counts.effective) + " if rows count");
    return description;
  }

  [[nodiscard]] bool is_approximate(const Calibration& /*calibration*/) const override { return counts_rows(); }

  [[nodiscard]] std::string condition(const Calibration& /*calibration*/) const override {
    if (all_.rows == 0) return "";
    return counts_rows()
               ? ", approximately, for clusters of at most " + count_of(cluster_rule().max_size, "row") + in_group()
               : ", if each cluster counts as one row";
  }

 private:
  [[nodiscard]] bool counts_rows() const { return cluster_rule().form == ClusterForm::kRows; }

  /// What follows a number of rows of a cluster.
  [[nodiscard]] const char* in_group() const { return in_groups_ ? " in a group" : ""; }

  [[nodiscard]] ClusterSizes sizes_in(std::int64_t group) const {
    const auto found = sizes_.find(group);
    return found == sizes_.end() ? ClusterSizes() : found->second;
  }

  [[nodiscard]] std::uint64_t units_of(const ClusterSizes& sizes) const {
    return counts_rows() ? sizes.effective : sizes.clusters;
  }

  [[nodiscard]] LevelNeeds needs_of(const Level& level, const ClusterSizes& sizes) const {
    if (!counts_rows()) {
      return {.needed = options().guarantee.min_rows(level), .have = sizes.clusters, .clusters = true};
    }
    const std::uint64_t size = cluster_rule().max_size;
    return {.needed = level.min_rows(size), .have = sizes.rows, .cluster_size = size};
  }

  /// If rows count, the quantile lies at the share level * (T + M) / T of the T calibration rows, for new clusters of
  /// up to M rows, and so at about this share of the effective clusters: between two ranks of them.
  [[nodiscard]] GroupRank rank_of(const Level& level, const ClusterSizes& sizes) const {
    if (!counts_rows()) return {.rows = sizes.clusters, .rank = options().guarantee.rank(level, sizes.clusters)};
    const auto largest = static_cast<double>(cluster_rule().max_size);
    const double place =
        level.value() * (1 + largest / static_cast<double>(sizes.rows)) * static_cast<double>(sizes.effective);
    const auto above = static_cast<std::uint64_t>(std::ceil(place));
    return {.rows = sizes.effective,
            .rank = needs_of(level, sizes).met() ? std::min(above, sizes.effective) : sizes.effective + 1,
            .rank_below = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(place), 1, sizes.effective)};
  }

  bool in_groups_;
  // Every prediction may ask what a level needs.
  std::map<std::int64_t, ClusterSizes> sizes_;  // by group
  ClusterSizes all_;
};

}  // namespace

SchemePointer make_clusters(SchemeOptions options, const Calibration& calibration, bool in_groups) {
  return std::make_shared<const Clusters>(std::move(options), calibration, in_groups);
}

}  // namespace widthwise::internal
