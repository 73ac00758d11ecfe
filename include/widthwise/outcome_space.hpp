#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace widthwise {

/// The closed interval [lower, upper] for y, in the unit of y. The default is the whole real line.
struct Interval {
  double lower = -std::numeric_limits<double>::infinity();  ///< -infinity if there is no bound
  double upper = std::numeric_limits<double>::infinity();   ///< +infinity if there is no bound
};

/// What outcomes can be: the numbers of a range, or the multiples of a step in it. Intervals are clipped to the range,
/// and their bounds are moved inward to multiples of the step. Every outcome of the space stays inside its interval, or
/// outside of it, so coverage does not change. Another outcome may be in no interval: Model::calibrate,
/// Model::check_outcomes and fit throw an error for it.
///
/// A number is a multiple of the step if it differs from the computed product by a relative 2^-50 at most, such as
/// 0.1 * 3 and 0.3. It has to be equal for steps whose multiples are exact: whole numbers and their halves, quarters
/// and so on, of at most 20 significant bits. Bounds of other steps are moved outward by 2^-50, so that each such
/// number is inside. Numbers whose neighbours in floating point are as far apart as steps are left as they are.
struct OutcomeSpace {
  double low = -std::numeric_limits<double>::infinity();  ///< smallest possible y; -infinity: no bound
  double high = std::numeric_limits<double>::infinity();  ///< largest possible y; +infinity: no bound
  double step = 0;                                        ///< of which every y is a multiple; 0: y is any number

  /// Throw kInvalidArgument if the range is empty, the step is no positive number from 1e-100 to 1e100, or an end of
  /// the range is not a multiple of the step. The message begins with `where`.
  void check(std::string_view where) const;

  [[nodiscard]] bool has_range() const;                     ///< whether an end is finite
  [[nodiscard]] bool has_step() const { return step > 0; }  ///< whether bounds are rounded

  /// Whether an outcome lies in the range. A missing outcome (NaN) does.
  [[nodiscard]] bool in_range(double y) const { return !(y < low || y > high); }

  /// Whether an outcome is a multiple of the step. A missing outcome (NaN) is, and every number is without a step.
  [[nodiscard]] bool is_multiple(double y) const;

  /// The same space for outcomes divided by a power of two.
  [[nodiscard]] OutcomeSpace in_units(double unit) const { return {low / unit, high / unit, step / unit}; }

  /// The part of an interval in this space: clipped, and rounded inward. If no multiple of the step is inside, the
  /// multiple nearest to the middle of the interval.
  [[nodiscard]] Interval inside(const Interval& interval) const;

  /// The same for one bound: the smallest y of the space that is at least `bound`, or the largest that is at most
  /// `bound` if it is `upper`.
  [[nodiscard]] double inside(double bound, bool upper) const;

  /// Round the bounds of n intervals that are clipped already. Nothing without a step.
  void round(std::span<double> lower, std::span<double> upper) const;

  /// "0 to 1", "at least 0, multiples of 1"; empty if y is any number.
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const OutcomeSpace&, const OutcomeSpace&) = default;
};

}  // namespace widthwise
