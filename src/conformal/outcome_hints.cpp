#include "conformal/outcome_hints.hpp"

#include <cmath>
#include <utility>

#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise::internal {
namespace {

constexpr double kMinOutcomes = 20;
constexpr double kMinShare = 0.005;  // of bounds that a range would move
constexpr double kMinGain = 0.001;   // of the mean width that a step would save

}  // namespace

void OutcomeHints::add_outcomes(std::span<const double> outcomes) {
  for (const double y : outcomes) {
    if (std::isnan(y)) continue;
    counts_[0] += 1;
    if (y < 0) counts_[kNegative] += 1;
    if (y > 1) counts_[kAboveOne] += 1;
    for (std::size_t k = 0; k < kSteps.size(); ++k) {
      double& excluded = counts_[kFirstStep + k];  // one outcome suffices
      if (excluded == 0 && !OutcomeSpace{.step = kSteps[k]}.is_multiple(y)) excluded = 1;
    }
  }
}

void OutcomeHints::add_bounds(std::span<const double> lower, std::span<const double> upper, double unit) {
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (!std::isfinite(lower[i]) || !std::isfinite(upper[i])) continue;
    bounds_ += 1;
    below_zero_ += lower[i] < 0 ? 1 : 0;
    above_one_ += upper[i] * unit > 1 ? 1 : 0;
    width_ += (upper[i] - lower[i]) * unit;
  }
}

std::string OutcomeHints::range_hint() const {
  if (space_.has_range() || counts_[kNegative] > 0) return {};
  const bool below = below_zero_ >= kMinShare * bounds_;
  // Whole numbers up to 1 are labels or counts, not shares.
  if (counts_[kAboveOne] == 0 && above_one_ >= kMinShare * bounds_ && counts_[kFirstStep] > 0) {
    return fmt::format(
        "All outcomes lie from 0 to 1, but {} of the lower bounds are below 0 and {} of the upper bounds above 1: if "
        "this holds for every outcome, fit with --outcome-range 0,1 (outcome_range=(0, 1) in Python).",
        percent(below_zero_ / bounds_), percent(above_one_ / bounds_));
  }
  if (!below) return {};
  return fmt::format(
      "Outcomes are never negative, but {} of the lower bounds are: if no outcome can be negative, fit with "
      "--outcome-range 0, (outcome_range=(0, np.inf) in Python).",
      percent(below_zero_ / bounds_));
}

std::string OutcomeHints::step_hint() const {
  if (space_.has_step()) return {};
  for (std::size_t k = 0; k < kSteps.size(); ++k) {
    if (counts_[kFirstStep + k] > 0) continue;
    if (kSteps[k] < kMinGain * width_ / bounds_) return {};
    return fmt::format(
        "All outcomes are {}: --outcome-step {} (outcome_step={}) rounds bounds inward to such numbers, which makes "
        "intervals narrower by about {} and keeps coverage.",
        kSteps[k] == 1 ? "whole numbers" : fmt::format("multiples of {}", kSteps[k]), kSteps[k], kSteps[k], kSteps[k]);
  }
  return {};
}

std::vector<OutcomeHint> OutcomeHints::hints() const {
  std::vector<OutcomeHint> found;
  if (counts_[0] < kMinOutcomes || bounds_ == 0) return found;
  if (std::string text = range_hint(); !text.empty()) found.push_back({"outcome_range", std::move(text)});
  if (std::string text = step_hint(); !text.empty()) found.push_back({"outcome_step", std::move(text)});
  return found;
}

}  // namespace widthwise::internal
