#pragma once

#include <widthwise/evaluation.hpp>

/// The verdict on rows with clusters, a part of `evaluate`.
namespace widthwise::internal {

/// Throw kInvalidArgument unless rows have clusters exactly if the calibration has them.
void check_clusters(const IntervalRows& rows, const CalibrationRanks& calibration, const EvaluationOptions& options);

/// The ranks of a calibration by clusters whose rows count, for new clusters of up to `max_size` rows. The quantile
/// lies at the share level * (T + M) / T of the T calibration rows, and so at about this share of the effective
/// clusters.
[[nodiscard]] CalibrationRanks ranks_of_cluster_rows(const Calibration& calibration, const Level& level,
                                                     std::uint64_t max_size);

/// Judge the coverage of the clusters (n, one per row): set the fields of the verdict.
void judge_clusters(LevelEvaluation& result, const IntervalRows& rows, const CalibrationRanks& calibration,
                    std::span<const std::int64_t> clusters);

}  // namespace widthwise::internal
