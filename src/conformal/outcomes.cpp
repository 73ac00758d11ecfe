#include "conformal/outcomes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/outcome_space.hpp>

#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise {
namespace {

constexpr double kMinStep = 1e-100;
constexpr double kMaxStep = 1e100;

/// The multiples of a step. The numbers that count as the k-th multiple lie from k step (1 - t) to k step (1 + t).
class Grid {
 public:
  explicit Grid(double step) : step_(step) {
    constexpr int kDigits = std::numeric_limits<double>::digits;
    constexpr int kExactDigits = 20;
    int exponent = 0;
    const double mantissa = std::ldexp(std::frexp(step, &exponent), kExactDigits);
    const bool exact = mantissa == std::floor(mantissa);
    // Products of at most 53 digits are exact. For other steps, t is far smaller than half a step up to 2^40 steps.
    tolerance_ = exact ? 0 : std::ldexp(1.0, -50);
    max_ = exact ? std::ldexp(1.0, exponent - kExactDigits + kDigits - 1) : std::ldexp(step, 40);
  }

  /// Whether products with the step are precise enough to round.
  [[nodiscard]] bool resolves(double y) const { return std::abs(y) <= max_; }

  [[nodiscard]] bool contains(double y) const {
    const double multiple = nearest(y);
    return !resolves(y) || (first(multiple) <= y && y <= last(multiple));
  }

  /// The least bound from which on the same multiples follow: y >= bound and y >= up(bound) agree for each of them.
  [[nodiscard]] double up(double bound) const {
    if (!resolves(bound)) return bound;
    double k = std::ceil(bound / step_);
    // The quotient is rounded, and the multiple below may extend to the bound.
    if (last((k - 1) * step_) >= bound) --k;
    if (last(k * step_) < bound) ++k;
    return std::max(bound, first(k * step_));
  }

  [[nodiscard]] double down(double bound) const { return 0.0 - up(-bound); }  // never -0

  [[nodiscard]] double nearest(double y) const { return std::round(y / step_) * step_; }
  [[nodiscard]] double first(double multiple) const { return multiple + 0.0 - tolerance_ * std::abs(multiple); }
  [[nodiscard]] double last(double multiple) const { return multiple + tolerance_ * std::abs(multiple); }

  [[nodiscard]] Interval inside(const Interval& interval) const {
    const Interval rounded{up(interval.lower), down(interval.upper)};
    if (rounded.lower <= rounded.upper) return rounded;
    const double multiple = nearest(interval.lower + (interval.upper - interval.lower) / 2);
    return {first(multiple), last(multiple)};
  }

 private:
  double step_;
  double tolerance_;
  double max_;
};

Interval clipped(const OutcomeSpace& space, const Interval& interval) {
  return {std::min(std::max(interval.lower, space.low), space.high),
          std::max(std::min(interval.upper, space.high), space.low)};
}

}  // namespace

void OutcomeSpace::check(std::string_view where) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!(low <= high && low < kInfinity && high > -kInfinity)) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "{}: the range of outcomes is empty: [{}, {}]", where, low,
                               high);
  }
  if (step == 0) return;
  if (!(step >= kMinStep && step <= kMaxStep)) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "{}: the outcome step is {}; expected a positive number from {} to {}, such as 1", where,
                               step, kMinStep, kMaxStep);
  }
  for (const double end : {low, high}) {
    if (is_multiple(end)) continue;
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "{}: the outcome range ends at {}, which is not a multiple of the outcome step {}; "
                               "expected multiples",
                               where, end, step);
  }
}

bool OutcomeSpace::has_range() const { return std::isfinite(low) || std::isfinite(high); }

bool OutcomeSpace::is_multiple(double y) const { return !has_step() || !std::isfinite(y) || Grid(step).contains(y); }

Interval OutcomeSpace::inside(const Interval& interval) const {
  const Interval part = clipped(*this, interval);
  return has_step() ? clipped(*this, Grid(step).inside(part)) : part;
}

double OutcomeSpace::inside(double bound, bool upper) const {
  const Interval part = clipped(*this, {bound, bound});
  if (!has_step()) return part.lower;
  const Grid grid(step);
  return clipped(*this, {grid.up(part.lower), grid.down(part.upper)}).*(upper ? &Interval::upper : &Interval::lower);
}

void OutcomeSpace::round(std::span<double> lower, std::span<double> upper) const {
  if (!has_step()) return;
  const Grid grid(step);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const Interval rounded = clipped(*this, grid.inside({lower[i], upper[i]}));
    lower[i] = rounded.lower;
    upper[i] = rounded.upper;
  }
}

std::string OutcomeSpace::to_string() const {
  std::string text;
  if (std::isfinite(low) && std::isfinite(high)) {
    text = fmt::format("{} to {}", low, high);
  } else if (has_range()) {
    text = std::isfinite(low) ? fmt::format("at least {}", low) : fmt::format("at most {}", high);
  }
  if (!has_step()) return text;
  return text + fmt::format("{}multiples of {}", text.empty() ? "" : ", ", step);
}

}  // namespace widthwise

namespace widthwise::internal {
namespace {

constexpr std::size_t kNamed = 3;

}  // namespace

void OutcomesOutside::Found::add(const CellPlace& place, double outcome) {
  ++count;
  if (first.size() < kNamed) first.emplace_back(place.row(0), outcome);
}

std::string OutcomesOutside::Found::share(std::uint64_t rows) const {
  return fmt::format("{} of {}", internal::count(count), count_of(rows, "outcome"));
}

std::string OutcomesOutside::Found::examples() const {
  std::string rows;
  for (const auto& [row, outcome] : first) {
    rows += fmt::format("{}{} is {}", rows.empty() ? "" : ", ", row, outcome);
  }
  return count > first.size() ? rows + ", ..." : rows;
}

void OutcomesOutside::add(std::span<const double> outcomes, RowNumbers numbers, std::span<const std::string> ids) {
  rows_ += outcomes.size();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const bool is_beyond = !space_.in_range(outcomes[i]);
    if (!is_beyond && space_.is_multiple(outcomes[i])) continue;
    const CellPlace place{.where = {}, .first_row = numbers[i] - 1, .ids = ids.empty() ? ids : ids.subspan(i)};
    (is_beyond ? beyond_ : between_).add(place, outcomes[i]);
  }
}

std::string OutcomesOutside::to_string(bool evaluated) const {
  std::string text;
  if (beyond_.count > 0) {
    text = fmt::format(
        "{}{} outside the outcome range ({}): {}; intervals are cut to the range and cannot contain them{}. Fit with a "
        "range that contains every possible outcome (outcome_range, --outcome-range), or without a range",
        beyond_.share(rows_), beyond_.count == 1 ? " lies" : " lie",
        OutcomeSpace{.low = space_.low, .high = space_.high}.to_string(), beyond_.examples(),
        evaluated ? ", so these rows count as missed" : "");
  }
  if (between_.count > 0) {
    text += fmt::format(
        "{}{}{} of the outcome step {}: {}; bounds are rounded to multiples and may exclude them{}. Fit with a step of "
        "which every possible outcome is a multiple (outcome_step, --outcome-step), or without a step",
        text.empty() ? "" : ". ", between_.share(rows_),
        between_.count == 1 ? " is not a multiple" : " are not multiples", space_.step, between_.examples(),
        evaluated ? ", and rows outside the rounded bounds count as missed" : "");
  }
  return text;
}

void OutcomesOutside::require_none(const std::string& where) const {
  if (!any()) return;
  throw make_error(ErrorCode::kBadData,
                   "{}: {}. Keep these rows: without them, intervals would be too narrow for new rows", where,
                   to_string(false));
}

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
