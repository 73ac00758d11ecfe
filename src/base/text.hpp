#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace widthwise::internal {

/// The shortest text that reads back as x, independent of the locale.
[[nodiscard]] std::string text_of(double x);

/// The number that the whole text represents, independent of the locale; empty if it is not a number.
template <class Number>
[[nodiscard]] std::optional<Number> read_whole(std::string_view text) {
  Number number{};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto result = std::from_chars(begin, end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

// ---- values of tables

[[nodiscard]] constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// The text without blanks and tabs around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Whether the text is the word, ignoring case; `word` is in lower case.
[[nodiscard]] bool is_word(std::string_view text, std::string_view word);

/// Whether the text, which is trimmed, is one of those for missing values: empty, NA, NaN and null, ignoring case.
[[nodiscard]] bool is_missing(std::string_view text);

/// The candidate that is most similar to a misspelt `name`: the fewest letters added, removed, replaced or swapped with
/// their neighbour, at most one in three, ignoring case. Empty if there is none; the first of several.
[[nodiscard]] std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// ---- formatted numbers, independent of the locale

/// "0.9134", "12.5", "4,058", "48,120": rounded to this many significant digits, but integer digits are always shown;
/// "infinite"; "-" for NaN.
[[nodiscard]] std::string significant(double x, int digits = 4);

/// "12,384".
[[nodiscard]] std::string count(std::uint64_t n);

/// "1 row", "12,384 rows", "2 categories".
[[nodiscard]] std::string count_of(std::uint64_t n, std::string_view thing);

/// A share as "90.3%"; "-" for NaN.
[[nodiscard]] std::string percent(double share, int decimals = 1);

/// "89.5% to 91.1%".
[[nodiscard]] std::string percent_range(double low, double high);

/// The parts of a text between commas.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text);
[[nodiscard]] std::string joined(std::span<const std::string> words, std::string_view separator);
/// "one, two or three".
[[nodiscard]] std::string listed(std::span<const std::string> words);

/// The message without the names of C++ functions before its parts, for users of other interfaces:
/// "m.safetensors: Calibration::add: row 7 ..." becomes "m.safetensors: row 7 ...".
[[nodiscard]] std::string without_functions(std::string_view message);

}  // namespace widthwise::internal
