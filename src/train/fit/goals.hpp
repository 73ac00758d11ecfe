#pragma once

#include <optional>

#include <widthwise/train/fit.hpp>

namespace widthwise::internal {

/// The goals that one fit trains.
struct Goals {
  ResolvedGoal chosen;
  std::optional<ResolvedGoal> two_sided;  ///< the chosen goal with two sides, if the hold-out chooses
  std::optional<ResolvedGoal>
      distribution;                   ///< the chosen goal with the distribution of the error, if the hold-out chooses
  ResolvedGoal fixed;                 ///< one width for all rows
  std::optional<ResolvedGoal> other;  ///< the opposite goal, if it is compared
};

/// `quantiles`: f(x) is the centre of two quantiles, which need not be where most outcomes are, so that every goal may
/// have two sides. Throws kInvalidArgument for a goal that the transform does not support.
[[nodiscard]] Goals resolve_goals(const FitOptions& options, bool quantiles);

}  // namespace widthwise::internal
