#pragma once

#include <widthwise/evaluation.hpp>

/// The verdict on rows with clusters, a part of `evaluate`.
namespace widthwise::internal {

/// Throw kInvalidArgument unless rows have clusters exactly if the calibration has them.
void check_clusters(const IntervalRows& rows, const CalibrationRanks& calibration, const EvaluationOptions& options);

/// Judge the coverage of the clusters (n, one per row), which are the `sets` of the calibration: set the fields of the
/// verdict.
void judge_clusters(LevelEvaluation& result, const IntervalRows& rows, const CalibrationRanks& calibration,
                    const DependentSets& sets, std::span<const std::int64_t> clusters);

}  // namespace widthwise::internal
