#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include <widthwise/objective.hpp>
#include <widthwise/train/fit.hpp>

#include "bindings.hpp"
#include "boosting.hpp"

namespace widthwise::python {

/// The objective that trains a localizer for a goal, with the rule of its scores.
struct WidthObjective {
  ResolvedGoal resolved;
  std::shared_ptr<Boosting> boosting = std::make_shared<Boosting>();  ///< its memory is for one thread at a time
  std::shared_ptr<std::mutex> boosting_mutex = std::make_shared<std::mutex>();

  /// `score_options` are options of a fit: score, gamma and epsilon.
  WidthObjective(const std::string& goal, const std::string& transform, bool two_sided,
                 const std::optional<std::tuple<double, double, double>>& level_window,
                 const OptionValues& score_options);
};

}  // namespace widthwise::python
