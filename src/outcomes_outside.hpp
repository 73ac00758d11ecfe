#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/conformal_predictor.hpp>

namespace widthwise::internal {

/// Counts the rows whose outcome lies outside a range, and lists examples. Intervals are clipped to the range and never
/// cover such a row, so these rows are an error instead of a silent loss of coverage.
class OutcomesOutside {
 public:
  explicit OutcomesOutside(const OutcomeRange& range) : range_(range) {}

  /// Check rows with these numbers. A missing outcome (NaN) is in any range.
  void add(std::span<const double> outcomes, RowNumbers numbers);

  [[nodiscard]] bool any() const { return outside_ > 0; }

  /// Throw kBadData if a row was outside; the message begins with `where`.
  void require_none(const std::string& where) const;

 private:
  OutcomeRange range_;
  std::uint64_t rows_ = 0;
  std::uint64_t outside_ = 0;
  std::vector<std::pair<std::uint64_t, double>> first_;  // row number and outcome of the first few
};

}  // namespace widthwise::internal
