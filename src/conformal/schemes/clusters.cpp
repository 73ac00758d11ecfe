#include <algorithm>
#include <cmath>
#include <utility>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "conformal/schemes/factories.hpp"

namespace widthwise::internal {
namespace {

/// A calibration row has its share of the weight of its cluster: the number of rows of the cluster, and then a new row
/// has the size of its own cluster; or 1 for every cluster and for the new row.
class Clusters final : public CalibrationScheme {
 public:
  Clusters(SchemeOptions options, const Calibration& calibration)
      : CalibrationScheme(std::move(options), calibration), rows_seen_(calibration.rows_seen()) {}

  [[nodiscard]] bool reads(Role role, Step step) const override {
    return step == Step::kPredict ? role == Role::kClusterSize && counts_rows() : role == Role::kCluster;
  }

  [[nodiscard]] bool has_independent_rows() const override { return false; }

  [[nodiscard]] Combination combination() const override {
    return CalibrationScheme::combination().add(Role::kCluster).add(Choice::kEachClusterOnce, !counts_rows());
  }

  void check_rows(const Calibration& calibration) const override {
    const bool rows_lack = calibration.keys() != RowKeys::kClusters && rows_seen_ > 0;
    check_need(Role::kCluster, options().columns.has(Role::kCluster), !rows_lack, "Model",
               options().columns[Role::kCluster]);
  }

  [[nodiscard]] GuaranteeStatement guarantee(const Level& /*level*/) const override {
    const std::string if_exchangeable =
        ", if new clusters are exchangeable with the calibration clusters, and rows within a cluster as well";
    if (!counts_rows()) {
      return {.kind = "marginal",
              .text =
                  "coverage of at least the level, on average over calibration sets and new clusters, where each "
                  "cluster counts once" +
                  if_exchangeable,
              .is_marginal_for_rows = false};
    }
    const std::uint64_t bound = cluster_rule().max_size;
    const bool is_declared = options().max_cluster_size == bound;
    const std::string sizes = bound == 0 ? std::string()
                                         : fmt::format(", for clusters of at most {}{}", count_of(bound, "row"),
                                                       is_declared ? "" : ", the largest known size");
    return {.kind = "marginal",
            .text =
                "coverage of at least the level, on average over calibration sets and rows of new clusters, where each "
                "row counts once" +
                sizes + if_exchangeable,
            .is_marginal_for_rows = false};
  }

  [[nodiscard]] CalibrationRanks law(const Calibration& calibration, const Level& level,
                                     std::span<const std::int64_t> row_groups) const override {
    if (rows_seen_ == 0) return CalibrationScheme::law(calibration, level, row_groups);
    if (counts_rows()) return law_of_rows(calibration, level);
    CalibrationRanks ranks = CalibrationRanks::of_rows(level, calibration.clusters(), options().guarantee);
    ranks.sets = DependentSets{.rows = rows_seen_};
    return ranks;
  }

  [[nodiscard]] std::uint64_t units(const Calibration& calibration) const override {
    return counts_rows() ? calibration.effective_clusters() : calibration.clusters();
  }

  [[nodiscard]] const char* unit_name() const override { return rows_seen_ == 0 ? "row" : "cluster"; }

  [[nodiscard]] LevelNeeds needs(const Calibration& calibration, const Level& level) const override {
    LevelNeeds needs = CalibrationScheme::needs(calibration, level);
    if (rows_seen_ == 0) return needs;
    if (!counts_rows()) {
      needs.clusters = true;
      return needs;
    }
    const std::uint64_t size = cluster_rule().max_size;
    return {.needed = level.min_rows(size), .have = rows_seen_, .cluster_size = size};
  }

  [[nodiscard]] SchemeDescription describe(const Calibration& calibration) const override {
    SchemeDescription description = CalibrationScheme::describe(calibration);
    description.clusters = ClusterCounts{.form = cluster_rule().form,
                                         .count = calibration.clusters(),
                                         .rows = rows_seen_,
                                         .largest = calibration.largest_cluster(),
                                         .effective = calibration.effective_clusters(),
                                         .max_size = cluster_rule().max_size};
    if (rows_seen_ == 0) return description;
    const ClusterCounts& counts = *description.clusters;
    description.parts = ", in " + count_of(counts.count, "cluster") + " of up to " + count_of(counts.largest, "row");
    description.summary += description.parts;
    description.lines.emplace_back("cluster sizes", "up to " + count_of(counts.largest, "row") + ", effective number " +
                                                        count(counts.effective) + " if rows count");
    return description;
  }

 protected:
  [[nodiscard]] bool is_approximate(const Calibration& /*calibration*/) const override { return counts_rows(); }

  [[nodiscard]] std::string condition(const Calibration& /*calibration*/) const override {
    if (rows_seen_ == 0) return "";
    return counts_rows() ? ", approximately, for clusters of at most " + count_of(cluster_rule().max_size, "row")
                         : ", if each cluster counts as one row";
  }

 private:
  [[nodiscard]] bool counts_rows() const { return cluster_rule().form == ClusterForm::kRows; }

  /// The quantile lies at the share level * (T + M) / T of the T calibration rows, for new clusters of up to M rows,
  /// and so at about this share of the effective clusters: between two ranks of them.
  [[nodiscard]] CalibrationRanks law_of_rows(const Calibration& calibration, const Level& level) const {
    const std::uint64_t size = cluster_rule().max_size;
    CalibrationRanks ranks{.min_rows = level.min_rows(size),
                           .sets = DependentSets{.largest = size, .rows = rows_seen_}};
    const std::uint64_t effective = calibration.effective_clusters();
    const auto rows = static_cast<double>(rows_seen_);
    const double place = level.value() * (1 + static_cast<double>(size) / rows) * static_cast<double>(effective);
    const auto above = static_cast<std::uint64_t>(std::ceil(place));
    const bool is_finite = rows_seen_ >= ranks.min_rows;
    ranks.sets->rank_below = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(place), 1, effective);
    ranks.groups.push_back({.rows = effective, .rank = is_finite ? std::min(above, effective) : effective + 1});
    return ranks;
  }

  std::uint64_t rows_seen_;  // every prediction may ask what a level needs
};

}  // namespace

SchemePointer make_clusters(SchemeOptions options, const Calibration& calibration) {
  return std::make_shared<const Clusters>(std::move(options), calibration);
}

}  // namespace widthwise::internal
