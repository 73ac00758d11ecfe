#include "evaluation_clusters.hpp"

#include <map>
#include <string>

#include <widthwise/error.hpp>

#include "diagnostics/rows.hpp"
#include "text.hpp"

namespace widthwise::internal {
namespace {

/// Mean shares over clusters.
struct ClusterShares {
  std::uint64_t clusters = 0;
  double covered = 0;
  double inside = 0;
};

ClusterShares shares_of(const IntervalRows& rows, std::span<const std::int64_t> clusters) {
  struct Counts {
    double rows = 0;
    double covered = 0;
    double inside = 0;
  };
  std::map<std::int64_t, Counts> counts;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    Counts& cluster = counts[clusters[i]];
    cluster.rows += 1;
    cluster.covered += is_covered(rows, i) ? 1 : 0;
    cluster.inside += is_strictly_inside(rows, i) ? 1 : 0;
  }
  ClusterShares shares{.clusters = counts.size()};
  for (const auto& [cluster, found] : counts) {
    shares.covered += found.covered / found.rows;
    shares.inside += found.inside / found.rows;
  }
  shares.covered /= static_cast<double>(counts.size());
  shares.inside /= static_cast<double>(counts.size());
  return shares;
}

/// The range of the mean coverage of `clusters` test clusters if each were one row. The quantile of clusters lies
/// between two ranks unless level * (clusters + 1) is an integer; each end of the range is that of the worse rank.
CoverageSpread expected_range(const Level& level, const GroupRank& rank, std::uint64_t clusters, double confidence) {
  const auto spread_of = [&](std::uint64_t place) {
    const RankedRows ranked{.rows = rank.rows, .rank = place, .test_rows = clusters};
    return measured_coverage_spread(std::span(&ranked, 1), confidence);
  };
  CoverageSpread spread = spread_of(rank.rank);
  const bool is_between = level.rank(rank.rows) == rank.rank && rank.rank > 1 &&
                          static_cast<double>(rank.rank) > level.value() * static_cast<double>(rank.rows + 1);
  if (is_between) spread.low = spread_of(rank.rank - 1).low;
  return spread;
}

std::string say(const LevelEvaluation& found, const ClusterCoverage& clusters, std::uint64_t needed) {
  if (found.verdict == Verdict::kInfinite) {
    return "No verdict: intervals are infinite because the level needs " + count_of(needed, "calibration cluster") +
           "; the model has " + count(found.expected.rows) + ".";
  }
  const std::string measured = "Mean coverage of " + percent(clusters.mean) + " over clusters";
  const std::string expected = "the range expected for " + count_of(found.expected.rows, "calibration cluster") +
                               " and " + count_of(clusters.clusters, "test cluster") + " (" +
                               percent_range(found.expected.low, found.expected.high) + ", in at least " +
                               significant(100 * found.confidence) + "% of cases)";
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

}  // namespace

void check_clusters(const IntervalRows& rows, const CalibrationRanks& calibration, const EvaluationOptions& options) {
  if (calibration.clustered && options.clusters.size() != rows.outcomes.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                "evaluate: the model was calibrated by clusters, so the verdict counts clusters; pass the cluster of "
                "every row");
  }
  if (!calibration.clustered && !options.clusters.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "evaluate: the rows have clusters, but the model was calibrated without; calibrate with clusters, or "
                "evaluate without them");
  }
}

void judge_clusters(LevelEvaluation& result, const IntervalRows& rows, const CalibrationRanks& calibration,
                    std::span<const std::int64_t> clusters) {
  const ClusterShares shares = shares_of(rows, clusters);
  const GroupRank& rank = calibration.groups.front();
  result.clusters = ClusterCoverage{.clusters = shares.clusters, .mean = shares.covered};
  result.expected = expected_range(result.level, rank, shares.clusters, result.confidence);
  if (rank.rank > rank.rows) {
    result.verdict = Verdict::kInfinite;
  } else if (shares.covered < result.expected.low) {
    result.verdict = Verdict::kTooLow;
  } else {
    result.verdict = shares.inside > result.expected.high ? Verdict::kTooHigh : Verdict::kValid;
  }
  result.summary = say(result, *result.clusters, calibration.min_rows);
}

}  // namespace widthwise::internal
