#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <widthwise/diagnostics.hpp>

/// What every diagnostic asks of a row of intervals. `where` is the public function that was called, for the message.
namespace widthwise::internal {

/// Throw unless there are rows, of equal sizes, with outcomes and bounds an interval can have.
void check_rows(const IntervalRows& rows, std::string_view where);

/// Throw kShapeMismatch unless `found` of `what` stand beside `expected` outcomes.
void check_size(std::size_t found, std::size_t expected, std::string_view what, std::string_view where);

[[nodiscard]] inline bool is_covered(const IntervalRows& rows, std::size_t i) {
  return rows.lower[i] <= rows.outcomes[i] && rows.outcomes[i] <= rows.upper[i];
}

/// Whether the outcome lies inside the interval by more than rounding: bounds are rounded outwards by a few units in
/// the last place, so an outcome whose score equals the calibration quantile may lie just inside.
[[nodiscard]] bool is_strictly_inside(const IntervalRows& rows, std::size_t i);

/// Whether the conformal set was empty, and the prediction alone is returned.
[[nodiscard]] inline bool is_empty_set(const IntervalRows& rows, std::size_t i) {
  return !rows.predictions.empty() && rows.lower[i] == rows.upper[i] && rows.lower[i] == rows.predictions[i];
}

[[nodiscard]] inline double width_of(const IntervalRows& rows, std::size_t i) { return rows.upper[i] - rows.lower[i]; }

/// A sum of numbers that are not negative, compensated (Neumaier 1974); one +infinity makes it +infinity.
class CompensatedSum {
 public:
  void add(double x) {
    const double total = total_ + x;
    lost_ += total_ >= x ? (total_ - total) + x : (x - total) + total_;
    total_ = total;
  }

  /// What an infinite total lost is inf - inf, and beside the point.
  [[nodiscard]] double value() const { return std::isinf(total_) ? total_ : total_ + lost_; }

 private:
  double total_ = 0;
  double lost_ = 0;
};

}  // namespace widthwise::internal
