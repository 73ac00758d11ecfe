#pragma once

#include <span>
#include <vector>

namespace widthwise::internal {

/// |r| of all rows, ascending, or 1024 quantiles of them, stored in the model to check calibration rows.
[[nodiscard]] std::vector<double> residual_quantiles(std::span<const double> residuals);

}  // namespace widthwise::internal
