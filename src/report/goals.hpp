#pragma once

#include <string>

#include <widthwise/train/fit.hpp>

namespace widthwise::internal {

/// The name of a goal in reports: "one width", "balanced (default)", "even (spline)", "goal 0.5 (exp)".
[[nodiscard]] std::string goal_name(const GoalReport& goal);

}  // namespace widthwise::internal
