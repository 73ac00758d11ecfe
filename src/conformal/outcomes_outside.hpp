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

/// Counts the rows whose outcome is not in an outcome space, and lists examples. Intervals are clipped to its range and
/// rounded to its step, and may not contain such an outcome. To fit or calibrate with these rows is an error, because
/// the range or the step is wrong; to leave them out would select rows by their outcome, and coverage of new rows would
/// fall. Evaluations count them as the bounds say.
class OutcomesOutside {
 public:
  explicit OutcomesOutside(const OutcomeSpace& space) : space_(space) {}

  /// Check rows with these numbers. A missing outcome (NaN) is in any space.
  void add(std::span<const double> outcomes, RowNumbers numbers);

  [[nodiscard]] bool any() const { return rows() > 0; }
  [[nodiscard]] std::uint64_t rows() const { return beyond_.count + between_.count; }  ///< number of rows outside

  /// "12 of 2,000 outcomes lie outside the outcome range (at least 0): row 3 is -1, ...; intervals are cut to the range
  /// and cannot contain them", with the remedy. Empty if there are none. `evaluated` rows count as missed.
  [[nodiscard]] std::string to_string(bool evaluated) const;

  /// Throw kBadData if a row was outside; the message begins with `where`.
  void require_none(const std::string& where) const;

 private:
  struct Found {
    std::uint64_t count = 0;
    std::vector<std::pair<std::uint64_t, double>> first = {};  // row number and outcome of the first few

    void add(std::uint64_t number, double outcome);
    /// "12 of 2,000 outcomes" or "1 of 2,000 outcomes", and "row 3 is -1, ...".
    [[nodiscard]] std::string share(std::uint64_t rows) const;
    [[nodiscard]] std::string examples() const;
  };

  OutcomeSpace space_;
  std::uint64_t rows_ = 0;
  Found beyond_;   // outside the range
  Found between_;  // in the range, and not a multiple of the step
};

}  // namespace widthwise::internal
