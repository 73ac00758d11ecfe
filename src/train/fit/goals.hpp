#pragma once

#include <optional>

#include <widthwise/train/fit.hpp>

namespace widthwise::internal {

/// The goals that one fit trains.
struct Goals {
  GoalPlan chosen;
  std::optional<GoalPlan> two_sided;  ///< the chosen goal with two sides, when the hold-out is to choose
  GoalPlan fixed;                     ///< one width for all rows
  std::optional<GoalPlan> other;      ///< the other end of the dial, when it is to be compared
};

/// Throws kInvalidArgument for a goal that the transform cannot serve.
[[nodiscard]] Goals resolve_goals(const FitOptions& options);

}  // namespace widthwise::internal
