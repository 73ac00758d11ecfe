#pragma once

#include <span>

#include <widthwise/objective.hpp>

namespace widthwise::internal {

/// The input of the pair sums: N values B_n with weights, M thresholds c_m with weights.
struct PairRows {
  std::span<const double> values;
  std::span<const double> value_weights;  ///< or empty for weights of 1
  std::span<const double> thresholds;
  std::span<const double> threshold_weights;
};

/// Sums over the other side, one number per threshold or value:
///   excess[m] = sum_n weight_n (B_n - c_m)+,  weight_above[m] = sum of weight_n over B_n > c_m,
///   weight_below[n] = sum of the threshold weights over c_m < B_n.
struct PairSums {
  std::span<double> excess;
  std::span<double> weight_above;
  std::span<double> weight_below;
};

/// Compute the sums exactly in O((N + M) log (N + M)): assign both sides to buckets that fit the cache, sort each
/// bucket with running sums, and look up the other side there. Only positive terms are added, so large spreads lose no
/// digits.
void exact_pair_sums(const PairRows& rows, const PairSums& out, Workspace& workspace);

}  // namespace widthwise::internal
