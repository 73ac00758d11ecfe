#pragma once

#include <vector>

#include <widthwise/objective.hpp>

namespace widthwise::internal {

/// The initial outputs of training, one per parameter: 0, or 1 if the gradient at 0 is 0. This applies to erc, which
/// depends on the square of its parameter.
[[nodiscard]] std::vector<float> first_outputs(const ResidualRows& rows, const Objective& objective,
                                               const Reducer& reducer = SingleWorker());

}  // namespace widthwise::internal
