#include <cmath>

#include <widthwise/train/fit.hpp>

#include "text.hpp"

namespace widthwise {
namespace {

using internal::percent;
using internal::percent_range;

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
  if (chosen.goal == "fixed") return "All intervals have one width: nothing was learnt of where errors are large.";
  const auto worst = [](const GoalReport& goal) {
    const Proportion& slab = *goal.worst_slab;
    return percent(slab.share).append(" (").append(percent_range(slab.low, slab.high)).append(")");
  };
  const std::string against_fixed = width_against(chosen, fixed);
  std::string text = "These intervals are " + against_fixed + (against_fixed == "as wide" ? " as" : " than") +
                     " one width for all rows, on average";
  const bool slab_known = chosen.worst_slab && fixed.worst_slab;
  if (slab_known) {
    text += ", and cover " + worst(chosen) + " where coverage is worst, instead of " + worst(fixed);
  }
  text += ".";
  if (chosen.empty > 0) {
    text.append(" ").append(percent(chosen.empty));
    text.append(" of them are empty: no value conforms, and the prediction alone is returned.");
  }
  if (chosen.infinite > 0) text.append(" ").append(percent(chosen.infinite)).append(" of them are infinite.");
  if (!other) return text;
  const std::string against_chosen = width_against(*other, chosen);
  text += " The goal " + other->goal + " would make them " + against_chosen;
  if (slab_known && other->worst_slab) text += " and cover " + worst(*other) + " there";
  return text + ".";
}

}  // namespace widthwise
