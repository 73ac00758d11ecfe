#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <vector>

namespace widthwise::internal {
namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return result;
}

/// Number of letters to add, remove, replace or swap with the next one to turn a into b (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row_before_last(b.size() + 1);
  std::vector<std::size_t> last_row(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row_before_last.swap(last_row);
    last_row.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last_row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last_row[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], row_before_last[j - 2] + 1);
    }
  }
  return row.back();
}

std::string fixed(double x, int decimals) {
  std::array<char, 64> buffer{};
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::fixed, decimals);
  return {buffer.data(), result.ptr};
}

// Insert a comma before every third digit from `first` on, counted from the end.
std::string with_commas(std::string digits, std::size_t first) {
  for (std::size_t end = digits.size(); end > first + 3; end -= 3) digits.insert(end - 3, 1, ',');
  return digits;
}

}  // namespace

std::string text_of(double x) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x);
  return {buffer.data(), result.ptr};
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char letter) { return letter == ' ' || letter == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(
      text, word, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; });
}

bool is_missing(std::string_view text) {
  return text.empty() || is_word(text, "na") || is_word(text, "nan") || is_word(text, "null");
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  const std::string wanted = lower_case(name);
  const std::string* nearest = nullptr;
  std::size_t minimum = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(wanted.size(), candidate.size());
    const std::size_t shorter = std::min(wanted.size(), candidate.size());
    // The distance is at least the difference of the lengths; skip candidates for which that is too large.
    if (longer - shorter > longer / 3) continue;
    const std::size_t distance = edit_distance(wanted, lower_case(candidate));
    if (distance > longer / 3 || (nearest != nullptr && distance >= minimum)) continue;
    nearest = &candidate;
    minimum = distance;
  }
  return nearest == nullptr ? std::string() : *nearest;
}

std::string significant(double x, int digits) {
  if (std::isnan(x)) return "-";
  if (std::isinf(x)) return x > 0 ? "infinite" : "-infinite";
  const std::size_t sign = x < 0 ? 1 : 0;
  const double min_integer = std::pow(10.0, digits);  // from this size on, all digits before the point are shown
  if (std::abs(x) >= min_integer && std::abs(x) < 1e15) return with_commas(fixed(x, 0), sign);
  std::array<char, 64> buffer{};
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::general, digits);
  std::string text(buffer.data(), result.ptr);
  if (text.find('e') != std::string::npos) return text;
  const std::size_t point = std::min(text.find('.'), text.size());
  return with_commas(text.substr(0, point), sign) + text.substr(point);
}

std::string count(std::uint64_t n) { return with_commas(std::to_string(n), 0); }

std::string count_of(std::uint64_t n, std::string_view thing) {
  if (n == 1) return "1 " + std::string(thing);
  const bool ies = thing.ends_with('y');  // "category"; no thing that is counted is a "day"
  return count(n) + " " + std::string(thing.substr(0, thing.size() - (ies ? 1 : 0))) + (ies ? "ies" : "s");
}

std::string percent(double share, int decimals) { return std::isnan(share) ? "-" : fixed(100 * share, decimals) + "%"; }

std::string percent_range(double low, double high) { return percent(low) + " to " + percent(high); }

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(',');
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string joined(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != words.data()) text.append(separator);
    text.append(word);
  }
  return text;
}

std::string listed(std::span<const std::string> words) {
  if (words.size() < 2) return joined(words, "");
  return joined(words.first(words.size() - 1), ", ") + " or " + words.back();
}

std::string without_functions(std::string_view message) {
  constexpr std::string_view kScope = "::";
  constexpr std::string_view kAfter = ": ";
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  std::string text(message);
  for (std::size_t part = 0; part < text.size();) {
    const std::size_t scope = text.find_first_not_of(kLetters, part);
    const bool is_scoped = scope != std::string::npos && scope > part && text.compare(scope, 2, kScope) == 0;
    const std::size_t end = is_scoped ? text.find_first_not_of(kLetters, scope + kScope.size()) : std::string::npos;
    if (end != std::string::npos && text.compare(end, 2, kAfter) == 0) {
      text.erase(part, end + kAfter.size() - part);
    } else {
      const std::size_t next = text.find(kAfter, part);
      part = next == std::string::npos ? text.size() : next + kAfter.size();
    }
  }
  return text;
}

}  // namespace widthwise::internal
