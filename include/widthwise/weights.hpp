#pragma once

#include <span>

namespace widthwise {

/// The largest and, inverted, the smallest learnt weight. A ratio of a thousand is more than trees can estimate; beyond
/// it, single rows would dominate a calibration set.
inline constexpr double kMaxLearntWeight = 1000;

/// The likelihood ratio with this logarithm, limited to [1 / kMaxLearntWeight, kMaxLearntWeight]. +infinity for NaN,
/// which gives a row to predict an infinite interval.
[[nodiscard]] double learnt_weight(double log_weight);

/// Effective sample size (sum w)^2 / sum w^2 of positive, finite weights (Kish 1965); 0 for none.
[[nodiscard]] double effective_sample_size(std::span<const double> weights);

}  // namespace widthwise
