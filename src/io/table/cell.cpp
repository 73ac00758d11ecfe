#include "io/table/cell.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

#include "base/text.hpp"

namespace widthwise::internal {
namespace {

/// Whether a number outside the range of a double is too small, which counts as 0.
bool is_tiny(std::string_view text) {
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) return text.substr(exponent + 1).starts_with('-');
  return text.substr(text.starts_with('-') ? 1 : 0).find_first_not_of('0') == text.find('.');
}

std::optional<double> number_in_trimmed(std::string_view text) {
  const bool plus = text.size() > 1 && text.front() == '+' && text[1] != '-';
  const char* const end = text.data() + text.size();
  double value = 0;
  const auto result = std::from_chars(text.data() + (plus ? 1 : 0), end, value);
  if (result.ptr == end) {
    if (result.ec == std::errc() && !std::isnan(value)) return value;
    if (result.ec == std::errc::result_out_of_range && is_tiny(text)) return 0.0;
  }
  if (is_missing(text)) return std::numeric_limits<double>::quiet_NaN();
  if (is_word(text, "true")) return 1.0;
  if (is_word(text, "false")) return 0.0;
  return std::nullopt;
}

}  // namespace

CellType type_of_cell(std::string_view cell) {
  const std::string_view text = trimmed(cell);
  if (is_missing(text)) return CellType::kMissing;
  if (is_word(text, "true") || is_word(text, "false")) return CellType::kBoolean;
  const std::string_view digits = text.substr(text.front() == '-' ? 1 : 0);
  if (!digits.empty() && std::ranges::all_of(digits, is_digit)) {
    const bool has_leading_zeros = digits.size() > 1 && digits.front() == '0';
    if (!has_leading_zeros && text != "-0" && integer_in_cell(text)) return CellType::kInteger;
    const std::optional<double> number = number_in_trimmed(text);
    return number && text_of(*number) == text ? CellType::kReal : CellType::kText;
  }
  return number_in_trimmed(text) ? CellType::kReal : CellType::kText;
}

CellType common_type(CellType a, CellType b) {
  if (a == b || b == CellType::kMissing) return a;
  if (a == CellType::kMissing) return b;
  const auto is_number = [](CellType type) { return type == CellType::kInteger || type == CellType::kReal; };
  return is_number(a) && is_number(b) ? CellType::kReal : CellType::kText;
}

std::optional<double> number_in_cell(std::string_view cell) { return number_in_trimmed(trimmed(cell)); }

bool has_decimal_comma(std::string_view cell) {
  const std::string_view text = trimmed(cell);
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || comma == 0 || comma + 1 == text.size() || !is_digit(text[comma + 1]))
    return false;
  std::string with_point(text);
  with_point[comma] = '.';
  return type_of_cell(with_point) == CellType::kReal;
}

std::optional<std::int64_t> integer_in_cell(std::string_view cell) {
  const std::string_view text = trimmed(cell);
  if (is_word(text, "true")) return 1;
  if (is_word(text, "false")) return 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  std::int64_t value = 0;
  const auto result = std::from_chars(begin, end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> key_in_cell(std::string_view cell) {
  const std::string_view text = trimmed(cell);
  if (const auto value = read_whole<std::uint64_t>(text)) return value;
  if (!text.starts_with('-')) return std::nullopt;
  const std::optional<std::int64_t> negative = integer_in_cell(text);
  if (!negative) return std::nullopt;
  return static_cast<std::uint64_t>(*negative);
}

}  // namespace widthwise::internal
