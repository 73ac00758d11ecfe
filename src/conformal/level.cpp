#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <system_error>
#include <widthwise/error.hpp>
#include <widthwise/level.hpp>

#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise {
namespace {

// Holds a product of two 64-bit numbers; denominators are at most 10^19 < 2^64.
__extension__ typedef unsigned __int128 Product;

constexpr std::int64_t kMaximumDecimals = 19;

/// The number 0.d1d2d3... * 10^exponent, d1 and the last digit not 0; no digits at all for 0.
struct Decimal {
  std::string digits;
  std::int64_t exponent = 0;
};

std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal decimal;
  bool any_digit = false;
  bool after_point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !after_point) {
      after_point = true;
    } else if (c >= '0' && c <= '9') {
      any_digit = true;
      if (c == '0' && decimal.digits.empty()) {
        decimal.exponent -= after_point ? 1 : 0;
      } else {
        decimal.exponent += after_point ? 0 : 1;
        decimal.digits += c;
      }
    } else {
      break;
    }
  }
  if (!any_digit) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    ++i;
    // from_chars accepts only the minus sign; to_chars writes both.
    if (i + 1 < text.size() && text[i] == '+' && text[i + 1] != '-') ++i;
    int shift = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), shift);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    decimal.exponent += shift;
  }
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  return decimal;
}

bool between_zero_and_one(const Decimal& decimal) { return !decimal.digits.empty() && decimal.exponent <= 0; }

std::string written(const Decimal& decimal) {
  return fmt::format("0.{}{}", std::string(static_cast<std::size_t>(-decimal.exponent), '0'), decimal.digits);
}

std::uint64_t power_of_ten(std::int64_t exponent) {
  std::uint64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

}  // namespace

Level::Level(std::uint64_t numerator, std::uint64_t denominator)
    : numerator_(numerator / std::gcd(numerator, denominator)),
      denominator_(denominator / std::gcd(numerator, denominator)) {}

Level::Level(double value) : Level(parse(internal::text_of(value))) {}

Level Level::parse(std::string_view text) {
  constexpr std::size_t kShown = 60;
  const std::string shown = text.size() > kShown ? std::string(text.substr(0, kShown)) + "..." : std::string(text);
  const std::string expected = "Level: expected a number strictly between 0 and 1, such as 0.9, found ";
  const std::optional<Decimal> decimal = read_decimal(text);
  if (!decimal || !between_zero_and_one(*decimal)) {
    throw Error(ErrorCode::kInvalidArgument, expected + shown + suggestion(text));
  }
  const std::int64_t decimals = static_cast<std::int64_t>(decimal->digits.size()) - decimal->exponent;
  if (decimals > kMaximumDecimals) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "Level: expected at most {} decimal places, found {} in {}",
                               kMaximumDecimals, decimals, shown);
  }
  std::uint64_t numerator = 0;
  for (const char digit : decimal->digits) numerator = 10 * numerator + static_cast<std::uint64_t>(digit - '0');
  return {numerator, power_of_ten(decimals)};
}

std::string Level::suggestion(std::string_view text) {
  const bool has_sign = text.ends_with('%');
  const std::optional<Decimal> decimal = read_decimal(has_sign ? text.substr(0, text.size() - 1) : text);
  if (!decimal) return "";
  const Decimal hundredth{decimal->digits, decimal->exponent - 2};
  if (!between_zero_and_one(hundredth) || hundredth.exponent < -kMaximumDecimals) return "";
  // Without the sign, a number from 1 to 2 is more likely a mistake than a percentage.
  const bool is_percentage = decimal->exponent > 0 && !(decimal->exponent == 1 && decimal->digits[0] == '1');
  return has_sign || is_percentage ? fmt::format("; did you mean {}?", written(hundredth)) : "";
}

std::string Level::to_string() const {
  std::int64_t decimals = 1;
  while (power_of_ten(decimals) % denominator_ != 0) ++decimals;
  const std::string digits = std::to_string(numerator_ * (power_of_ten(decimals) / denominator_));
  return fmt::format("0.{}{}", std::string(static_cast<std::size_t>(decimals) - digits.size(), '0'), digits);
}

double Level::value() const {
  // Dividing the two numbers would round three times if they exceed 2^53.
  const std::string decimal = to_string();
  double value = 0;
  std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
  return value;
}

std::uint64_t Level::rank(std::uint64_t n) const {
  // The quotient fits even for the greatest n: a level is at most 1 - 10^-19, and 2^64 (1 - 10^-19) < 2^64 - 1.
  const Product scaled = (Product{n} + 1) * numerator_;
  return static_cast<std::uint64_t>((scaled + (denominator_ - 1)) / denominator_);
}

std::uint64_t Level::min_rows(std::uint64_t new_weight) const {
  // (n + w) level <= n exactly when n >= w level / (1 - level).
  const std::uint64_t miss = denominator_ - numerator_;
  const Product needed = (Product{numerator_} * new_weight + (miss - 1)) / miss;
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  return needed > kMax ? kMax : static_cast<std::uint64_t>(needed);
}

std::strong_ordering operator<=>(const Level& a, const Level& b) {
  return Product{a.numerator_} * b.denominator_ <=> Product{b.numerator_} * a.denominator_;
}

}  // namespace widthwise
