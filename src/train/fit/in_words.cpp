#include <cmath>

#include <widthwise/train/fit.hpp>

#include "text.hpp"

namespace widthwise {
namespace {

using internal::percent;

// How the mean width of `report` compares to that of another: "17 % narrower".
std::string width_against(const GoalReport& report, const GoalReport& other) {
  const double ratio = report.mean_width / other.mean_width;
  if (!std::isfinite(ratio)) return "not comparable in width";
  const std::string change = percent(std::abs(1 - ratio), 0);
  if (change == "0 %") return "as wide";
  return change + (ratio < 1 ? " narrower" : " wider");
}

}  // namespace

std::string FitReport::in_words() const {
  const auto worst = [](const GoalReport& goal) { return percent(goal.worst_slab); };
  const bool slab_known = std::isfinite(chosen.worst_slab) && std::isfinite(fixed.worst_slab);
  if (chosen.goal == "fixed") return "All intervals have one width: nothing was learnt of where errors are large.";
  const std::string against_fixed = width_against(chosen, fixed);
  std::string text = "These intervals are " + against_fixed + (against_fixed == "as wide" ? " as" : " than") +
                     " one width for all rows, on average";
  if (slab_known) {
    text += ", and cover " + worst(chosen) + " where coverage is worst, instead of " + worst(fixed);
  }
  text += ".";
  if (!other) return text;
  const std::string against_chosen = width_against(*other, chosen);
  text += " The goal " + other->goal + " would make them " + against_chosen;
  if (slab_known && std::isfinite(other->worst_slab)) text += " and cover " + worst(*other) + " there";
  return text + ".";
}

}  // namespace widthwise
