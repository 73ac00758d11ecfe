#pragma once

#include <algorithm>
#include <cmath>

/// How x becomes a point: the same for the rows remembered and the rows asked for.
namespace widthwise::internal {

/// Points are cut to this size: about the root of the greatest number of rows that could be remembered, which no
/// standardised number exceeds. Distances stay finite, and those of a cut number still tell rows apart.
inline constexpr double kFarthest = 1e6;

/// What is nearer to the centre is there. Without it two numbers could be so close that a search tree that halves boxes
/// takes a thousand levels to part them.
inline constexpr double kNearest = 1e-30;

/// Return x centred, scaled, and cut as above; missing values are at the centre.
[[nodiscard]] inline double standardised(double x, double centre, double scale) {
  const double point = std::clamp((x - centre) / scale, -kFarthest, kFarthest);
  return std::abs(point) >= kNearest ? point : 0;
}

}  // namespace widthwise::internal
