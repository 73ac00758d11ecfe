#include <widthwise/labels.hpp>

#include <algorithm>
#include <cmath>

#include <widthwise/error.hpp>

#include "message.hpp"
#include "printable.hpp"

namespace widthwise {

Labels::Labels(std::span<const std::string> labels) {
  labels_.reserve(labels.size());
  numbers_.reserve(labels.size());
  for (const std::string& label : labels) {
    const std::size_t before = size();
    if (add(label) != before) {
      throw internal::make_error(ErrorCode::kInvalidArgument, "the label '{}' occurs twice",
                                 internal::printable(label));
    }
  }
}

std::uint32_t Labels::add(std::string_view label) {
  if (const auto known = find(label)) return *known;
  const auto number = static_cast<std::uint32_t>(size());
  labels_.emplace_back(label);
  numbers_.emplace(label, number);
  return number;
}

std::optional<std::uint32_t> Labels::find(std::string_view label) const {
  const auto found = numbers_.find(label);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

Labels Labels::sorted() const {
  std::vector<std::string> labels = labels_;
  std::ranges::sort(labels);
  return Labels(labels);
}

std::string label_of(std::int64_t value) { return std::to_string(value); }

std::optional<std::string> label_of(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(std::fabs(value) < kExact) || value != std::trunc(value)) return std::nullopt;
  return label_of(static_cast<std::int64_t>(value));
}

}  // namespace widthwise
