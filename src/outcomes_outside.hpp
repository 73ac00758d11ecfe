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

/// The remedy for outcomes outside the range.
inline constexpr const char* kWidenOutcomeRange =
    "Fit with a range that contains every possible outcome (outcome_range, --outcome-range), or without a range";

/// Counts the rows whose outcome lies outside a range, and lists examples. Intervals are clipped to the range and never
/// cover such a row. To fit or calibrate with these rows is an error, because the range is wrong; to leave them out
/// would select rows by their outcome, and coverage of new rows would fall. Evaluations count them as missed.
class OutcomesOutside {
 public:
  explicit OutcomesOutside(const OutcomeRange& range) : range_(range) {}

  /// Check rows with these numbers. A missing outcome (NaN) is in any range.
  void add(std::span<const double> outcomes, RowNumbers numbers);

  [[nodiscard]] bool any() const { return outside_ > 0; }
  [[nodiscard]] std::uint64_t rows() const { return outside_; }  ///< number of rows outside

  /// "12 of 2,000 outcomes lie outside the outcome range (at least 0): row 3 is -1, ...; intervals are cut to the range
  /// and cannot contain them". Empty if there are none.
  [[nodiscard]] std::string to_string() const;

  /// Throw kBadData if a row was outside; the message begins with `where`.
  void require_none(const std::string& where) const;

 private:
  OutcomeRange range_;
  std::uint64_t rows_ = 0;
  std::uint64_t outside_ = 0;
  std::vector<std::pair<std::uint64_t, double>> first_;  // row number and outcome of the first few
};

}  // namespace widthwise::internal
