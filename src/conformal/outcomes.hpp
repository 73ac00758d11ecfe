#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/conformal_predictor.hpp>
#include <widthwise/outcome_space.hpp>
#include <widthwise/roles.hpp>

namespace widthwise::internal {

/// Counts the rows whose outcome is not in an outcome space, and lists examples. Intervals are clipped to its range and
/// rounded to its step, and may not contain such an outcome. To fit or calibrate with these rows is an error, because
/// the range or the step is wrong; to leave them out would select rows by their outcome, and coverage of new rows would
/// fall. Evaluations count them as the bounds say.
class OutcomesOutside {
 public:
  explicit OutcomesOutside(const OutcomeSpace& space) : space_(space) {}

  /// Check rows with these numbers, and ids if they have some. A missing outcome (NaN) is in any space.
  void add(std::span<const double> outcomes, RowNumbers numbers, std::span<const std::string> ids = {});

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
    std::vector<std::pair<std::string, double>> first = {};  // "row 3" and the outcome, of the first few

    void add(const CellPlace& place, double outcome);
    /// "12 of 2,000 outcomes" or "1 of 2,000 outcomes", and "row 3 is -1, ...".
    [[nodiscard]] std::string share(std::uint64_t rows) const;
    [[nodiscard]] std::string examples() const;
  };

  OutcomeSpace space_;
  std::uint64_t rows_ = 0;
  Found beyond_;   // outside the range
  Found between_;  // in the range, and not a multiple of the step
};

/// Something that the outcomes suggest about their space. `kind` is the name of the option.
struct OutcomeHint {
  std::string kind;
  std::string text;
};

/// Compares outcomes and the bounds of their intervals with an outcome space, and advises on a range and a step that
/// the outcomes suggest and the space does not have.
class OutcomeHints {
 public:
  explicit OutcomeHints(const OutcomeSpace& space) : space_(space) {}

  void add_outcomes(std::span<const double> outcomes);
  /// Finite intervals of equally many rows, in the unit of the outcomes divided by `unit`.
  void add_bounds(std::span<const double> lower, std::span<const double> upper, double unit = 1);

  /// The number of outcomes, then for each suggestion a positive number if some of them exclude it. Several workers add
  /// these numbers.
  [[nodiscard]] std::span<double> counts() { return counts_; }

  /// At most one hint per option; none if bounds would hardly change.
  [[nodiscard]] std::vector<OutcomeHint> hints() const;

 private:
  static constexpr std::array<double, 4> kSteps = {1, 0.5, 0.1, 0.01};
  static constexpr std::size_t kNegative = 1;
  static constexpr std::size_t kAboveOne = 2;
  static constexpr std::size_t kFirstStep = 3;

  [[nodiscard]] std::string range_hint() const;
  [[nodiscard]] std::string step_hint() const;

  OutcomeSpace space_;
  std::array<double, kFirstStep + kSteps.size()> counts_ = {};
  double bounds_ = 0;  // finite intervals
  double below_zero_ = 0;
  double above_one_ = 0;
  double width_ = 0;  // sum
};

}  // namespace widthwise::internal
