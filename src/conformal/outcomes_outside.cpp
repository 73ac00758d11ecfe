#include "conformal/outcomes_outside.hpp"

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kNamed = 3;

}  // namespace

void OutcomesOutside::Found::add(std::uint64_t number, double outcome) {
  ++count;
  if (first.size() < kNamed) first.emplace_back(number, outcome);
}

std::string OutcomesOutside::Found::share(std::uint64_t rows) const {
  return fmt::format("{} of {}", internal::count(count), count_of(rows, "outcome"));
}

std::string OutcomesOutside::Found::examples() const {
  std::string rows;
  for (const auto& [number, outcome] : first) {
    rows += fmt::format("{}row {} is {}", rows.empty() ? "" : ", ", number, outcome);
  }
  return count > first.size() ? rows + ", ..." : rows;
}

void OutcomesOutside::add(std::span<const double> outcomes, RowNumbers numbers) {
  rows_ += outcomes.size();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!space_.in_range(outcomes[i])) {
      beyond_.add(numbers[i], outcomes[i]);
    } else if (!space_.is_multiple(outcomes[i])) {
      between_.add(numbers[i], outcomes[i]);
    }
  }
}

std::string OutcomesOutside::to_string(bool evaluated) const {
  std::string text;
  if (beyond_.count > 0) {
    text = fmt::format(
        "{}{} outside the outcome range ({}): {}; intervals are cut to the range and cannot contain them{}. Fit with a "
        "range that contains every possible outcome (outcome_range, --outcome-range), or without a range",
        beyond_.share(rows_), beyond_.count == 1 ? " lies" : " lie",
        OutcomeSpace{.low = space_.low, .high = space_.high}.to_string(), beyond_.examples(),
        evaluated ? ", so these rows count as missed" : "");
  }
  if (between_.count > 0) {
    text += fmt::format(
        "{}{}{} of the outcome step {}: {}; bounds are rounded to multiples and may exclude them{}. Fit with a step of "
        "which every possible outcome is a multiple (outcome_step, --outcome-step), or without a step",
        text.empty() ? "" : ". ", between_.share(rows_),
        between_.count == 1 ? " is not a multiple" : " are not multiples", space_.step, between_.examples(),
        evaluated ? ", and rows outside the rounded bounds count as missed" : "");
  }
  return text;
}

void OutcomesOutside::require_none(const std::string& where) const {
  if (!any()) return;
  throw make_error(ErrorCode::kBadData,
                   "{}: {}. Keep these rows: without them, intervals would be too narrow for new rows", where,
                   to_string(false));
}

}  // namespace widthwise::internal
