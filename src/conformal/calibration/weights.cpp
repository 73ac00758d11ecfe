#include <algorithm>
#include <cmath>
#include <limits>

#include <widthwise/calibration.hpp>

namespace widthwise {

double learnt_weight(double log_weight) {
  if (std::isnan(log_weight)) return std::numeric_limits<double>::infinity();
  return std::clamp(std::exp(log_weight), 1 / kMaxLearntWeight, kMaxLearntWeight);
}

double effective_sample_size(std::span<const double> weights) {
  if (weights.empty()) return 0;
  // Relative to the largest weight, so that no sum overflows.
  const double largest = std::ranges::max(weights);
  double sum = 0;
  double squares = 0;
  for (const double weight : weights) {
    const double share = weight / largest;
    sum += share;
    squares += share * share;
  }
  return sum * sum / squares;
}

}  // namespace widthwise
