#pragma once

#include <algorithm>
#include <cmath>

namespace widthwise::internal {

/// Return what a network sees of a number: centred, scaled and cut to [-bound, bound]; 0 for a missing one.
[[nodiscard]] inline float standardise(double x, double centre, double scale, double bound) {
  const double z = (x - centre) / scale;
  return std::isnan(z) ? 0.0F : static_cast<float>(std::clamp(z, -bound, bound));
}

}  // namespace widthwise::internal
