#pragma once

#include <algorithm>
#include <cmath>

namespace widthwise::internal {

/// Return the input of a network for a number: centred, scaled and clipped to [-bound, bound]; 0 if it is missing.
[[nodiscard]] inline float standardise(double x, double centre, double scale, double bound) {
  const double z = (x - centre) / scale;
  return std::isnan(z) ? 0.0F : static_cast<float>(std::clamp(z, -bound, bound));
}

}  // namespace widthwise::internal
