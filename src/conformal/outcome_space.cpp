#include <widthwise/outcome_space.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <widthwise/error.hpp>

#include "base/message.hpp"

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
