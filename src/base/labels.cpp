#include <widthwise/labels.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/hash.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise {
namespace {

bool is_integer(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool has_leading_zeros = digits.size() > 1 && digits.front() == '0';
  return !digits.empty() && !has_leading_zeros && std::ranges::all_of(digits, internal::is_digit);
}

/// Three numbers separated by the same sign, one of them a year of four digits at either end; a time may follow.
bool is_date(std::string_view label) {
  const std::string_view date = label.substr(0, label.find_first_of(" T"));
  const std::size_t first = date.find_first_of("-/.");
  if (first == std::string_view::npos) return false;
  const std::size_t second = date.find(date[first], first + 1);
  if (second == std::string_view::npos) return false;
  const std::string_view parts[] = {date.substr(0, first), date.substr(first + 1, second - first - 1),
                                    date.substr(second + 1)};
  const auto is_number = [](std::string_view part, std::size_t min, std::size_t max) {
    return part.size() >= min && part.size() <= max && std::ranges::all_of(part, internal::is_digit);
  };
  const auto is_year_at = [&](int year, int day) {
    return is_number(parts[year], 4, 4) && is_number(parts[day], 1, 2);
  };
  return is_number(parts[1], 1, 2) && (is_year_at(0, 2) || is_year_at(2, 0));
}

}  // namespace

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

double Labels::number_of(std::string_view label) const {
  const auto number = find(label);
  return number ? static_cast<double>(*number) : std::numeric_limits<double>::quiet_NaN();
}

Labels Labels::sorted() const {
  std::vector<std::string> labels = labels_;
  std::ranges::sort(labels);
  return Labels(labels);
}

void renumber(std::span<double> x, std::size_t column, std::size_t columns, const Labels& from, const Labels& to) {
  std::vector<double> numbers;
  numbers.reserve(from.size());
  for (const std::string& label : from.all()) numbers.push_back(to.number_of(label));
  for (std::size_t at = column; at < x.size(); at += columns) {
    if (!std::isnan(x[at])) x[at] = numbers[static_cast<std::size_t>(x[at])];
  }
}

std::optional<std::string_view> label_of_text(std::string_view text) {
  std::string_view value = internal::trimmed(text);
  if (internal::is_missing(value)) return std::nullopt;
  if (internal::is_word(value, "true")) return "true";
  if (internal::is_word(value, "false")) return "false";
  if (value.ends_with(".0")) value.remove_suffix(2);
  if (value == "-0") return "0";
  return is_integer(value) ? value : text;
}

std::string label_of(std::int64_t value) { return std::to_string(value); }

std::optional<std::string> label_of(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(std::fabs(value) < kExact) || value != std::trunc(value)) return std::nullopt;
  return label_of(static_cast<std::int64_t>(value));
}

std::string why_no_categories(const Labels& labels) {
  if (labels.size() == 0) return "holds no values";
  if (are_dates(labels)) return fmt::format("holds dates; {}", kDeriveFromDates);
  if (labels.size() <= kMaxCategories) return {};
  return fmt::format("has more than {} categories; merge rare ones, or derive numbers",
                     internal::count(kMaxCategories));
}

bool are_dates(const Labels& labels) { return labels.size() > 0 && std::ranges::all_of(labels.all(), is_date); }

std::string join_labels(std::span<const std::string> labels) {
  if (labels.size() == 1) return labels.front();
  std::string text;
  for (const std::string& label : labels) {
    if (&label != labels.data()) text += ", ";
    for (const char byte : label) {
      if (byte == ',' || byte == '\\') text += '\\';
      text += byte;
    }
  }
  return text;
}

std::vector<std::string> split_labels(std::string_view text) {
  std::vector<std::string> labels;
  std::string label;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      label += text[++at];
    } else if (text.substr(at, 2) == ", ") {
      labels.push_back(std::exchange(label, {}));
      ++at;
    } else {
      label += text[at];
    }
  }
  if (labels.empty()) return {std::string(text)};
  labels.push_back(std::move(label));
  return labels;
}

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
