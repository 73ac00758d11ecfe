#include <algorithm>
#include <cmath>

#include <widthwise/guarantee.hpp>
#include <widthwise/train/fit.hpp>

#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise {
namespace {

using internal::count_of;
using internal::percent;
using internal::percent_range;

/// The folds that few rows are advised to be cross-calibrated with (docs/few-rows.md).
constexpr std::uint64_t kAdvisedFolds = 10;

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

/// Width and coverage of the chosen goal, compared with one width for all rows and with the opposite goal.
std::string goals_comparison(const FitReport& report) {
  const GoalReport& chosen = report.chosen;
  const GoalReport& fixed = report.fixed;
  if (chosen.goal == "fixed") return "All intervals have one width: no localizer was trained.";
  if (!report.widths_measured()) {
    return fmt::format("The hold-out has {}, too few to measure widths at this level.",
                       count_of(report.holdout_rows, "row"));
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
  if (!report.other) return text;
  const GoalReport& other = *report.other;
  if (!comparable(other, chosen)) {
    return text + " The mean width of the goal " + other.goal + " cannot be compared, because it is infinite or 0.";
  }
  text += " The goal " + other.goal + " would make them " + width_against(other, chosen);
  if (slab_known && other.worst_slab) text += " and cover " + worst(other) + " there";
  return text + ".";
}

}  // namespace

void FitReport::advise_cross(const FitOptions& options, bool possible) {
  const std::uint64_t rows = fit_rows + calibration_rows;
  const bool few = rows < kFewRows && calibration_rows > 0 && options.guarantee.is_marginal();
  if (!possible || !few) return;
  const Level& level = options.levels.front();
  const std::uint64_t folds = std::min(kAdvisedFolds, rows);
  few_rows = fmt::format(
      " With {} rows, of which {} calibrate, cross-calibration with one width (calibration 'cross', {} folds, score "
      "transform 'identity') usually gives narrower intervals: all rows fit and calibrate. Its guarantee at level {} "
      "is {} instead of {}, or {} with one fold per row, and its coverage usually about {} (docs/few-rows.md).",
      rows, calibration_rows, folds, level.to_string(), percent(cross_coverage(level, rows, folds)),
      percent(level.value(), 0), percent(cross_coverage(level, rows, rows)), percent(level.value(), 0));
}

std::string FitReport::summary() const { return goals_comparison(*this) + few_rows + outcome_hints; }

}  // namespace widthwise
