#pragma once

#include <optional>

#include <widthwise/train/fit.hpp>

namespace widthwise::internal {

/// The goals that one fit trains.
struct Goals {
  ResolvedGoal chosen;
  std::optional<ResolvedGoal> two_sided;  ///< the chosen goal with two sides, when the hold-out is to choose
  ResolvedGoal fixed;                     ///< one width for all rows
  std::optional<ResolvedGoal> other;      ///< the other end of the dial, when it is to be compared
};

/// Throws kInvalidArgument for a goal that the transform cannot serve.
[[nodiscard]] Goals resolve_goals(const FitOptions& options);

}  // namespace widthwise::internal
