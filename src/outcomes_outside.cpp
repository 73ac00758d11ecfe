#include "outcomes_outside.hpp"

#include <cmath>

#include <widthwise/error.hpp>

#include "message.hpp"
#include "text.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kNamed = 3;

/// "0 to 1", "at least 0", "at most 1".
std::string words_of(const OutcomeRange& range) {
  if (std::isinf(range.high)) return fmt::format("at least {}", range.low);
  if (std::isinf(range.low)) return fmt::format("at most {}", range.high);
  return fmt::format("{} to {}", range.low, range.high);
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

std::string OutcomesOutside::to_string() const {
  if (outside_ == 0) return {};
  std::string rows;
  for (const auto& [number, outcome] : first_) {
    rows += fmt::format("{}row {} is {}", rows.empty() ? "" : ", ", number, outcome);
  }
  if (outside_ > first_.size()) rows += ", ...";
  return fmt::format(
      "{} of {}{} outside the outcome range ({}): {}; intervals are cut to the range and cannot contain them",
      count(outside_), count_of(rows_, "outcome"), outside_ == 1 ? " lies" : " lie", words_of(range_), rows);
}

void OutcomesOutside::require_none(const std::string& where) const {
  if (outside_ == 0) return;
  throw make_error(ErrorCode::kBadData,
                   "{}: {}. {}. Keep these rows: without them, intervals would be too narrow for new rows", where,
                   to_string(), kWidenOutcomeRange);
}

}  // namespace widthwise::internal
