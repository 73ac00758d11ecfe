#include "evaluation/parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>

#include "base/text.hpp"
#include "evaluation/diagnostics/rows.hpp"

namespace widthwise::internal {
namespace {

/// A share of covered rows and of rows strictly inside their interval.
struct Shares {
  double covered = 0;
  double inside = 0;
};

/// Shares over clusters and over rows.
struct MeasuredClusters {
  std::uint64_t clusters = 0;
  std::uint64_t effective = 0;  // clusters, if rows count
  Shares of_clusters;
  Shares of_rows;
  bool differ = false;  // whether the covered shares differ by more than chance
};

/// Whether the mean of c weighted by sizes N differs from the plain mean by more than chance. If sizes are not related
/// to c, every assignment of the c to the sizes is equally likely; the difference, the sum of (N / sum N - 1 / K) c,
/// then has mean 0 and variance sum (N / sum N - 1 / K)^2 sum (c - mean)^2 / (K - 1).
bool is_related(std::span<const double> sizes, std::span<const double> c) {
  constexpr double kDeviations = 4;
  const auto count = static_cast<double>(c.size());
  if (c.size() < 2) return false;
  const double total = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  const double mean = std::accumulate(c.begin(), c.end(), 0.0) / count;
  double difference = 0;
  double weights = 0;
  double squares = 0;
  for (std::size_t k = 0; k < c.size(); ++k) {
    const double weight = sizes[k] / total - 1 / count;
    difference += weight * (c[k] - mean);
    weights += weight * weight;
    squares += (c[k] - mean) * (c[k] - mean);
  }
  return std::abs(difference) > kDeviations * std::sqrt(weights * squares / (count - 1));
}

MeasuredClusters shares_of(const IntervalRows& rows, std::span<const std::int64_t> clusters,
                           std::span<const std::size_t> numbers) {
  struct Counts {
    double rows = 0;
    double covered = 0;
    double inside = 0;
  };
  std::map<std::int64_t, Counts> counts;
  for (const std::size_t i : numbers) {
    Counts& cluster = counts[clusters[i]];
    cluster.rows += 1;
    cluster.covered += is_covered(rows, i) ? 1 : 0;
    cluster.inside += is_strictly_inside(rows, i) ? 1 : 0;
  }
  MeasuredClusters shares{.clusters = counts.size(), .of_clusters = {}, .of_rows = {}};
  std::vector<double> sizes;
  std::vector<double> covered;
  for (const auto& [cluster, found] : counts) {
    sizes.push_back(found.rows);
    covered.push_back(found.covered / found.rows);
    shares.of_clusters.covered += covered.back();
    shares.of_clusters.inside += found.inside / found.rows;
    shares.of_rows.covered += found.covered;
    shares.of_rows.inside += found.inside;
  }
  const auto divide = [](Shares& of, std::size_t count) {
    of.covered /= static_cast<double>(count);
    of.inside /= static_cast<double>(count);
  };
  divide(shares.of_clusters, counts.size());
  divide(shares.of_rows, numbers.size());
  shares.effective = static_cast<std::uint64_t>(effective_sample_size(sizes));
  shares.differ = is_related(sizes, covered);
  return shares;
}

/// The range of the mean coverage of `clusters` test clusters of a group if each were one row. The quantile of clusters
/// lies between two ranks unless level * (clusters + 1) is an integer; each end of the range is that of the worse rank.
CoverageSpread expected_range(const Level& level, const GroupRank& rank, const DependentSets& sets,
                              std::uint64_t clusters, double confidence) {
  const auto spread_of = [&](std::uint64_t place) {
    const RankedRows ranked{.rows = rank.rows, .rank = place, .test_rows = clusters};
    return measured_coverage_spread(std::span(&ranked, 1), confidence);
  };
  CoverageSpread spread = spread_of(rank.rank);
  if (sets.largest > 0) {
    if (rank.rank <= rank.rows) spread.low = spread_of(rank.rank_below).low;
    return spread;
  }
  const bool is_between = level.rank(rank.rows) == rank.rank && rank.rank > 1 &&
                          static_cast<double>(rank.rank) > level.value() * static_cast<double>(rank.rows + 1);
  if (is_between) spread.low = spread_of(rank.rank - 1).low;
  return spread;
}

/// The test clusters of one group of the calibration, of all rows without groups.
struct MeasuredGroup {
  const GroupRank* rank;
  std::size_t rows;
  MeasuredClusters measured;
};

std::vector<MeasuredGroup> groups_of(const IntervalRows& rows, const RowRanks& ranks,
                                     std::span<const std::int64_t> clusters) {
  std::map<std::size_t, std::vector<std::size_t>> numbers;
  for (std::size_t row = 0; row < clusters.size(); ++row) numbers[ranks.group_of(row)].push_back(row);
  std::vector<MeasuredGroup> groups;
  for (const auto& [group, of_group] : numbers) {
    groups.push_back({&ranks.rank(group), of_group.size(), shares_of(rows, clusters, of_group)});
  }
  return groups;
}

/// All groups together, where the part of a cluster in each group is a cluster.
MeasuredClusters sum_of(const std::vector<MeasuredGroup>& groups) {
  if (groups.size() == 1) return groups.front().measured;
  MeasuredClusters all{.of_clusters = {}, .of_rows = {}};
  std::size_t rows = 0;
  for (const MeasuredGroup& group : groups) rows += group.rows;
  for (const auto& [rank, n, found] : groups) all.clusters += found.clusters;
  const auto add = [](Shares& sum, const Shares& part, double weight) {
    sum.covered += weight * part.covered;
    sum.inside += weight * part.inside;
  };
  for (const auto& [rank, n, found] : groups) {
    all.effective += found.effective;
    all.differ = all.differ || found.differ;
    add(all.of_clusters, found.of_clusters, static_cast<double>(found.clusters) / static_cast<double>(all.clusters));
    add(all.of_rows, found.of_rows, static_cast<double>(n) / static_cast<double>(rows));
  }
  return all;
}

/// The range of the coverage of all groups. A cluster may be in several groups, so their coverages depend on each
/// other: the ranges of all groups hold together with this confidence (Bonferroni), and so does their weighted mean.
CoverageSpread expected_range(const Level& level, const std::vector<MeasuredGroup>& groups, const DependentSets& sets,
                              double confidence) {
  const bool of_rows = sets.largest > 0;
  const auto range_of = [&](const MeasuredGroup& group, double of_group) {
    const MeasuredClusters& found = group.measured;
    return expected_range(level, *group.rank, sets, of_rows ? found.effective : found.clusters, of_group);
  };
  if (groups.size() == 1) return range_of(groups.front(), confidence);
  double total = 0;
  for (const MeasuredGroup& group : groups)
    total += static_cast<double>(of_rows ? group.rows : group.measured.clusters);
  CoverageSpread all{.high = 0};
  for (const MeasuredGroup& group : groups) {
    const CoverageSpread range = range_of(group, 1 - (1 - confidence) / static_cast<double>(groups.size()));
    const double share = static_cast<double>(of_rows ? group.rows : group.measured.clusters) / total;
    all.rows += range.rows;
    all.low += share * range.low;
    all.mean += share * range.mean;
    all.high += share * range.high;
  }
  return all;
}

/// The numbers of clusters and the range that is expected for them.
std::string expected_text(const LevelEvaluation& found, const MeasuredClusters& shares,
                          const CalibrationRanks& calibration, bool of_rows) {
  const std::string range = percent_range(found.expected.low, found.expected.high);
  if (of_rows) {
    return "the approximate range expected for an effective number of " +
           count_of(found.expected.rows, "calibration cluster") + groups_text(calibration) + " and of " +
           count_of(shares.effective, "test cluster") + " (" + range + ", in about " +
           significant(100 * found.confidence) + "% of cases)";
  }
  return "the range expected for " + count_of(found.expected.rows, "calibration cluster") + groups_text(calibration) +
         " and " + count_of(shares.clusters, "test cluster") + " (" + range + ", in at least " +
         significant(100 * found.confidence) + "% of cases)";
}

std::string judgement(const LevelEvaluation& found, const ClusterCoverage& clusters, const MeasuredClusters& shares,
                      const CalibrationRanks& calibration, const DependentSets& sets) {
  const bool of_rows = sets.largest > 0;
  if (found.verdict == Verdict::kInfinite) {
    const std::string needed = of_rows ? count_of(calibration.min_rows, "calibration row") + " for clusters of up to " +
                                             count_of(sets.largest, "row")
                                       : count_of(calibration.min_rows, "calibration cluster");
    return "No verdict: intervals are infinite because the level needs " + needed +
           (calibration.row_groups.empty() ? "" : " per group") + "; the model has " +
           count(of_rows ? sets.rows : found.expected.rows) + groups_text(calibration) + ".";
  }
  const std::string measured = of_rows ? "Coverage of " + percent(clusters.rows) + " of the rows of new clusters"
                                       : "Mean coverage of " + percent(clusters.mean) + " over clusters";
  const std::string expected = expected_text(found, shares, calibration, of_rows);
  if (found.verdict == Verdict::kTooLow) {
    return "Not valid here. " + measured + " is below " + expected +
           ". These clusters are harder than the calibration clusters: calibrate again with clusters like these.";
  }
  if (found.verdict == Verdict::kTooHigh) {
    return "Valid, but wider than needed. " + measured + " is above " + expected +
           ". These clusters are easier than the calibration clusters.";
  }
  return "Valid. " + measured + " is within " + expected + ".";
}

std::string say(const LevelEvaluation& found, const ClusterCoverage& clusters, const MeasuredClusters& shares,
                const CalibrationRanks& calibration, const DependentSets& sets) {
  std::string text = judgement(found, clusters, shares, calibration, sets);
  if (!shares.differ) return text;
  return text + " Coverage is related to the size of clusters, by more than chance: " + percent(clusters.rows) +
         " of the rows are covered, " + percent(clusters.mean) +
         " on average over clusters. The guarantee of this model is for " +
         (clusters.form == ClusterForm::kRows ? "rows" : "clusters, each counted once") + ".";
}

}  // namespace

void check_clusters(const IntervalRows& rows, const CalibrationRanks& calibration, const EvaluationOptions& options) {
  if (calibration.sets && options.clusters.size() != rows.outcomes.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                "evaluate: the model was calibrated by clusters, so the verdict counts clusters; pass the cluster of "
                "every row");
  }
  if (!calibration.sets && !options.clusters.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "evaluate: the rows have clusters, but the model was calibrated without; calibrate with clusters, or "
                "evaluate without them");
  }
}

void judge_clusters(LevelEvaluation& result, const IntervalRows& rows, const CalibrationRanks& calibration,
                    const DependentSets& sets, std::span<const std::int64_t> clusters) {
  const RowRanks ranks(calibration, clusters.size());
  const std::vector<MeasuredGroup> groups = groups_of(rows, ranks, clusters);
  const MeasuredClusters measured = sum_of(groups);
  const bool of_rows = sets.largest > 0;
  const Shares& shares = of_rows ? measured.of_rows : measured.of_clusters;
  const ClusterCoverage coverage{.clusters = measured.clusters,
                                 .mean = measured.of_clusters.covered,
                                 .rows = measured.of_rows.covered,
                                 .form = of_rows ? ClusterForm::kRows : ClusterForm::kClusters,
                                 .differ = measured.differ,
                                 .rows_needed = of_rows ? calibration.min_rows : 0,
                                 .rows_have = of_rows ? sets.rows : 0};
  result.clusters = coverage;
  result.expected = expected_range(result.level, groups, sets, result.confidence);
  if (std::ranges::all_of(groups, [](const MeasuredGroup& group) { return group.rank->rank > group.rank->rows; })) {
    result.verdict = Verdict::kInfinite;
  } else if (shares.covered < result.expected.low) {
    result.verdict = Verdict::kTooLow;
  } else {
    result.verdict = shares.inside > result.expected.high ? Verdict::kTooHigh : Verdict::kValid;
  }
  result.summary = say(result, coverage, measured, calibration, sets);
}

}  // namespace widthwise::internal
