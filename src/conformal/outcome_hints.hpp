#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <widthwise/outcome_space.hpp>

namespace widthwise::internal {

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
