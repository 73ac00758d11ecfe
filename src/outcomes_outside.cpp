#include "outcomes_outside.hpp"

#include <cmath>

#include <widthwise/error.hpp>

#include "text.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kNamed = 3;

/// "0 to 1", "at least 0", "at most 1".
std::string words_of(const OutcomeRange& range) {
  if (std::isinf(range.high)) return "at least " + text_of(range.low);
  if (std::isinf(range.low)) return "at most " + text_of(range.high);
  return text_of(range.low) + " to " + text_of(range.high);
}

}  // namespace

void OutcomesOutside::add(std::span<const double> outcomes, RowNumbers numbers) {
  rows_ += outcomes.size();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!(outcomes[i] < range_.low || outcomes[i] > range_.high)) continue;
    ++outside_;
    if (first_.size() < kNamed) first_.emplace_back(numbers[i], outcomes[i]);
  }
}

void OutcomesOutside::require_none(const std::string& where) const {
  if (outside_ == 0) return;
  std::string rows;
  for (const auto& [number, outcome] : first_) {
    rows += (rows.empty() ? "" : ", ") + std::string("row ") + std::to_string(number) + " is " + text_of(outcome);
  }
  if (outside_ > first_.size()) rows += ", ...";
  throw Error(ErrorCode::kBadData,
              where + ": " + count(outside_) + " of " + count_of(rows_, "outcome") +
                  (outside_ == 1 ? " lies" : " lie") + " outside the outcome range (" + words_of(range_) +
                  "): " + rows +
                  "; intervals are cut to the range and cannot contain them. Fit with a range that holds every outcome "
                  "(outcome_range, --outcome-range), or remove these rows");
}

}  // namespace widthwise::internal
