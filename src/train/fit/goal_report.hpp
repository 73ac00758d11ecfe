#pragma once

#include <cstdint>
#include <span>

#include <widthwise/matrix_view.hpp>
#include <widthwise/predictor.hpp>
#include <widthwise/train/fit.hpp>

namespace widthwise::internal {

/// Rows that a localizer was not trained on, in units.
struct HoldOut {
  PredictionRows rows;  ///< with the localizer's parameters
  std::span<const double> outcomes;
  MatrixView features;  ///< standardised, for the worst slab
};

/// Calibrate on one half of the rows and measure on the other, both ways: coverage, mean width (times unit) and the
/// coverage in the worst slab at one level.
[[nodiscard]] GoalReport measure_goal(const ConformalRule& rule, const HoldOut& hold, const Level& level,
                                      const OutcomeRange& range, double unit, std::uint64_t seed);

}  // namespace widthwise::internal
