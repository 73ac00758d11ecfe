#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <widthwise/diagnostics.hpp>

/// Checks shared by all diagnostics. `where` is the name of the public function, for the message.
namespace widthwise::internal {

/// Throw unless there are rows, sizes are equal, and outcomes and bounds are valid.
void check_rows(const IntervalRows& rows, std::string_view where);

/// Throw kShapeMismatch unless the number `found` of `what` equals the number `expected` of outcomes.
void check_size(std::size_t found, std::size_t expected, std::string_view what, std::string_view where);

[[nodiscard]] inline bool is_covered(const IntervalRows& rows, std::size_t i) {
  return rows.lower[i] <= rows.outcomes[i] && rows.outcomes[i] <= rows.upper[i];
}

/// Whether the outcome lies inside the interval by more than rounding: bounds are rounded outwards by a few units in
/// the last place, so an outcome whose score equals the calibration quantile may lie just inside.
[[nodiscard]] bool is_strictly_inside(const IntervalRows& rows, std::size_t i);

/// Whether the conformal set was empty, so that the interval is the prediction itself.
[[nodiscard]] inline bool is_empty_set(const IntervalRows& rows, std::size_t i) {
  return !rows.predictions.empty() && rows.lower[i] == rows.upper[i] && rows.lower[i] == rows.predictions[i];
}

[[nodiscard]] inline double width_of(const IntervalRows& rows, std::size_t i) { return rows.upper[i] - rows.lower[i]; }

/// Compensated sum of non-negative numbers (Neumaier 1974); +infinity if any of them is +infinity.
class CompensatedSum {
 public:
  void add(double x) {
    const double total = total_ + x;
    lost_ += total_ >= x ? (total_ - total) + x : (x - total) + total_;
    total_ = total;
  }

  /// The compensation of an infinite total would be inf - inf and is ignored.
  [[nodiscard]] double value() const { return std::isinf(total_) ? total_ : total_ + lost_; }

 private:
  double total_ = 0;
  double lost_ = 0;
};

}  // namespace widthwise::internal
