#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <widthwise/train/fit.hpp>

namespace widthwise::internal {

/// The predictions of each part, with 0 for rows that are not predicted. Throws kShapeMismatch for other numbers of
/// parts or rows than those of the plan.
[[nodiscard]] std::vector<std::vector<double>> predicted_values(const FitTable& table,
                                                                const PlannedPredictions& predictions);

/// The smallest number of rows that a part fits its localizer to.
[[nodiscard]] std::size_t least_predicted(const FitTable& table, std::span<const SplitPart> parts);

}  // namespace widthwise::internal
