#include <cmath>

#include <widthwise/train/fit.hpp>

#include "message.hpp"
#include "text.hpp"

namespace widthwise {
namespace {

using internal::percent;
using internal::percent_range;

/// The mean widths of two goals as a ratio: of the finite intervals if both goals have the same share of infinite ones.
double width_ratio(const GoalReport& report, const GoalReport& other) {
  const bool finite = report.infinite > 0 && report.infinite == other.infinite;
  return finite ? report.finite_mean_width / other.finite_mean_width : report.mean_width / other.mean_width;
}

/// Whether the ratio of the mean widths is finite.
bool comparable(const GoalReport& report, const GoalReport& other) { return std::isfinite(width_ratio(report, other)); }

/// How the mean width of `report` compares to that of another: "17% narrower".
std::string width_against(const GoalReport& report, const GoalReport& other) {
  const double ratio = width_ratio(report, other);
  const std::string change = percent(std::abs(1 - ratio), 0);
  if (change == "0%") return "as wide";
  return change + (ratio < 1 ? " narrower" : " wider");
}

}  // namespace

void FitReport::advise_cross(const FitOptions& options, bool possible) {
  const std::uint64_t rows = fit_rows + calibration_rows;
  const bool few = rows < kFewRows && calibration_rows > 0 && options.guarantee.is_marginal();
  if (!possible || !few) return;
  const std::string least = percent(1 - 2 * options.levels.front().complement().value(), 0);
  few_rows = fmt::format(
      " With {} rows, of which {} calibrate, cross-calibration (calibration 'cross') usually gives narrower intervals: "
      "all rows fit and calibrate. Its guarantee at level {} is about {} instead of {}, and its coverage usually about "
      "{} (docs/few-rows.md).",
      rows, calibration_rows, options.levels.front().to_string(), least, percent(options.levels.front().value(), 0),
      percent(options.levels.front().value(), 0));
}

std::string FitReport::summary() const {
  if (chosen.goal == "fixed") return "All intervals have one width: no localizer was trained." + few_rows;
  if (!widths_measured()) {
    return fmt::format("The {} rows of the hold-out are too few to measure widths at this level.", holdout_rows) +
           few_rows;
  }
  const auto worst = [](const GoalReport& goal) {
    const Proportion& slab = *goal.worst_slab;
    return percent(slab.share).append(" (").append(percent_range(slab.low, slab.high)).append(")");
  };
  const bool slab_known = chosen.worst_slab && fixed.worst_slab;
  std::string text;
  if (comparable(chosen, fixed)) {
    const std::string against = width_against(chosen, fixed);
    text = "These intervals are " + against + (against == "as wide" ? " as" : " than") +
           " one width for all rows, on average" + (slab_known ? ", and cover " : "");
  } else {
    text = "The mean width cannot be compared with one width for all rows, because one of them is infinite or 0";
    if (slab_known) text += ". These intervals cover ";
  }
  if (slab_known) text += worst(chosen) + " where coverage is worst, instead of " + worst(fixed);
  text += ".";
  if (chosen.empty > 0) {
    text.append(" ").append(percent(chosen.empty));
    text.append(" of the intervals are empty: no value conforms, and the prediction alone is returned.");
  }
  if (chosen.infinite > 0) text.append(" ").append(percent(chosen.infinite)).append(" of the intervals are infinite.");
  text += few_rows;
  if (!other) return text;
  if (!comparable(*other, chosen)) {
    return text + " The mean width of the goal " + other->goal + " cannot be compared, because it is infinite or 0.";
  }
  text += " The goal " + other->goal + " would make them " + width_against(*other, chosen);
  if (slab_known && other->worst_slab) text += " and cover " + worst(*other) + " there";
  return text + ".";
}

}  // namespace widthwise
