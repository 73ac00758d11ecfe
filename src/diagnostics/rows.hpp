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
