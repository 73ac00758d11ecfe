#pragma once

#include <vector>

#include <widthwise/objective.hpp>

namespace widthwise::internal {

/// The outputs that training begins with, one for each parameter: 0, but 1 where nothing can be learnt from 0. erc
/// depends on the square of its parameter alone: at 0 its gradient is 0.
[[nodiscard]] std::vector<float> first_outputs(const ResidualRows& rows, const Objective& objective,
                                               const Reducer& reducer = SingleWorker());

}  // namespace widthwise::internal
