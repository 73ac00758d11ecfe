#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <widthwise/objective.hpp>

#include "train/engines/threads/chunks.hpp"

namespace widthwise::internal {

/// Rows of several leaves.
struct LeafRows {
  std::span<const double> errors;         ///< y - f(x) (n)
  std::span<const float> weights;         ///< n numbers >= 0
  std::span<const std::uint32_t> leaves;  ///< numbers of leaves (n), from 0
  std::size_t threads = 1;

  [[nodiscard]] Chunks chunks() const { return {errors.size(), threads}; }
};

/// A quantile of the errors of every leaf, robust for few rows: the minimum of a smooth pinball loss whose smoothing is
/// a multiple of the typical error of the leaf (docs/mathematics.md).
class LeafValues {
 public:
  /// `smoothing` > 0: errors below about this many typical errors count by their squares. `penalty`: an L2 penalty, in
  /// rows.
  LeafValues(double probability, double smoothing, double penalty);

  /// The values of `count` leaves, over the rows of all workers; 0 for leaves without rows.
  [[nodiscard]] std::vector<double> of(const LeafRows& rows, std::size_t count, const Reducer& reducer) const;

 private:
  double tilt_;       // 1 - 2p
  double smoothing_;  // in typical errors
  double penalty_;
};

}  // namespace widthwise::internal
