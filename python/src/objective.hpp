#pragma once

#include <optional>
#include <string>
#include <tuple>

#include <widthwise/objective.hpp>
#include <widthwise/train/fit.hpp>

#include "bindings.hpp"

namespace widthwise::python {

/// The objective that trains a localizer for a goal, with the rule of its scores.
struct WidthObjective {
  ResolvedGoal resolved;

  /// `score_options` are options of a fit: score, gamma and epsilon.
  WidthObjective(const std::string& goal, const std::string& transform, bool two_sided,
                 const std::optional<std::tuple<double, double, double>>& level_window,
                 const OptionValues& score_options);
};

}  // namespace widthwise::python
