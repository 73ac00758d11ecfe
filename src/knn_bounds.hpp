#pragma once

#include <algorithm>
#include <cmath>

/// Conversion of x to a point, identical for stored rows and for rows to predict.
namespace widthwise::internal {

/// Coordinates are clipped to this absolute value, about the root of the maximum number of stored rows, which no
/// standardised number exceeds. Distances stay finite and still distinguish rows.
inline constexpr double kFarthest = 1e6;

/// Smaller absolute values become 0. Otherwise two numbers could be so close that a search tree that halves boxes would
/// need a thousand levels to separate them.
inline constexpr double kNearest = 1e-30;

/// Return x centred, scaled and clipped as above; missing values become 0.
[[nodiscard]] inline double standardised(double x, double centre, double scale) {
  const double point = std::clamp((x - centre) / scale, -kFarthest, kFarthest);
  return std::abs(point) >= kNearest ? point : 0;
}

}  // namespace widthwise::internal
