#include <widthwise/group_labels.hpp>

#include <widthwise/error.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/random.hpp>

#include "base/hash.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise {

std::int64_t group_number(std::string_view label) {
  const auto integer = internal::read_whole<std::int64_t>(label);
  // Not "007", which is another label than "7".
  if (integer && !is_reserved_group(*integer) && label_of(*integer) == label) return *integer;
  const std::uint64_t hash = internal::hash_bytes(mix_bits(label.size()), std::as_bytes(std::span(label)));
  const auto number = static_cast<std::int64_t>(hash);
  return is_reserved_group(number) ? number + 3 : number;
}

std::int64_t GroupLabels::add(std::string_view label) {
  if (label.empty()) return kNoGroup;
  const std::int64_t number = group_number(label);
  const auto [found, added] = labels_.try_emplace(number, label);
  if (added && !internal::is_utf8(label)) {
    labels_.erase(found);
    throw internal::make_error(ErrorCode::kBadData, "the group label '{}' is not UTF-8", internal::printable(label));
  }
  if (found->second != label) {
    throw internal::make_error(ErrorCode::kBadData, "the group labels '{}' and '{}' have the same hash; rename one",
                               internal::printable(found->second), internal::printable(label));
  }
  return number;
}

std::vector<std::int64_t> GroupLabels::add(std::span<const std::string> labels) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(labels.size());
  for (const std::string& label : labels) numbers.push_back(add(label));
  return numbers;
}

const std::string* GroupLabels::find(std::int64_t group) const {
  const auto found = labels_.find(group);
  return found == labels_.end() ? nullptr : &found->second;
}

}  // namespace widthwise
