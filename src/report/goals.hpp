#pragma once

#include <string>

#include <widthwise/train/fit.hpp>

namespace widthwise::internal {

/// The name of a goal in reports: "one width", "balanced (default)", "even (spline)", "goal 0.5 (exp)".
[[nodiscard]] std::string goal_name(const GoalReport& goal);

/// Whether a model was fitted to predictions as given, whose model may have seen the rows.
[[nodiscard]] bool has_given_predictions(const ModelParts& parts);

/// What is known of the errors that a model was fitted to: "out of sample", "of cross-validated predictions" or "of the
/// predictions as given".
[[nodiscard]] std::string kind_of_errors(const ModelParts& parts);

}  // namespace widthwise::internal
