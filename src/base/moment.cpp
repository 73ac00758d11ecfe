#include <widthwise/moment.hpp>

#include <algorithm>
#include <chrono>

namespace widthwise {
namespace {

constexpr std::int64_t kAtto = 1'000'000'000'000'000'000;
constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kDay = 86400;
constexpr double kTwo64 = 18446744073709551616.0;

/// Reads the parts of a date from left to right.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return text_.empty(); }

  /// Whether the next character is one of these, which is then read.
  bool take(std::string_view any) {
    if (text_.empty() || any.find(text_.front()) == std::string_view::npos) return false;
    last_ = text_.front();
    text_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] char last() const { return last_; }

  /// The number of exactly these digits.
  std::optional<int> take_digits(std::size_t count) {
    if (text_.size() < count) return std::nullopt;
    int number = 0;
    for (const char digit : text_.substr(0, count)) {
      if (digit < '0' || digit > '9') return std::nullopt;
      number = 10 * number + (digit - '0');
    }
    text_.remove_prefix(count);
    return number;
  }

  /// The digits after a decimal point, in attoseconds.
  std::int64_t take_fraction() {
    std::int64_t fraction = 0;
    std::int64_t unit = kAtto;
    while (const auto digit = take_digits(1)) {
      unit /= 10;
      fraction += unit * *digit;
    }
    return fraction;
  }

 private:
  std::string_view text_;
  char last_ = 0;
};

std::optional<std::int64_t> take_day(DateReader& reader) {
  const auto year = reader.take_digits(4);
  if (!year || !reader.take("-")) return std::nullopt;
  const auto month = reader.take_digits(2);
  if (!month) return std::nullopt;
  const auto day = reader.take("-") ? reader.take_digits(2) : std::optional(1);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return kDay * std::chrono::sys_days(date).time_since_epoch().count();
}

/// Hours and minutes as seconds, with or without a colon between them, or hours alone.
std::optional<std::int64_t> take_minutes(DateReader& reader) {
  const auto hours = reader.take_digits(2);
  if (!hours || *hours > 24) return std::nullopt;
  const bool colon = reader.take(":");
  const auto minutes = reader.take_digits(2);
  if ((colon && !minutes) || minutes.value_or(0) > 59) return std::nullopt;
  return kHour * *hours + kMinute * minutes.value_or(0);
}

/// The time of day, with seconds and an offset if they follow; false if it is none.
bool take_clock(DateReader& reader, std::int64_t& seconds, std::int64_t& atto) {
  const auto minutes = take_minutes(reader);
  if (!minutes) return false;
  seconds += *minutes;
  if (reader.take(":")) {
    const auto more = reader.take_digits(2);
    if (!more || *more > 60) return false;
    seconds += *more;
    if (reader.take(".,")) atto = reader.take_fraction();
  }
  if (reader.take("Zz") || !reader.take("+-")) return true;
  const bool ahead = reader.last() == '+';
  const auto offset = take_minutes(reader);
  if (!offset) return false;
  seconds += ahead ? -*offset : *offset;
  return true;
}

}  // namespace

Moment Moment::of(std::int64_t seconds, std::int64_t atto) {
  if (seconds >= 0) {
    Moment moment = of(static_cast<std::uint64_t>(seconds));
    moment.atto = atto;
    return moment;
  }
  const auto number = static_cast<double>(seconds);
  return {.number = number, .rest = seconds - static_cast<std::int64_t>(number), .atto = atto};
}

Moment Moment::of(std::uint64_t integer) {
  const auto number = static_cast<double>(integer);
  // 2^64, to which the largest integers are rounded, is 0 modulo 2^64.
  const std::uint64_t rounded = number >= kTwo64 ? 0 : static_cast<std::uint64_t>(number);
  return {.number = number, .rest = static_cast<std::int64_t>(integer - rounded)};
}

std::optional<Moment> moment_of_date(std::string_view text) {
  DateReader reader(text);
  auto seconds = take_day(reader);
  if (!seconds) return std::nullopt;
  std::int64_t atto = 0;
  if (reader.take("T t") && !take_clock(reader, *seconds, atto)) return std::nullopt;
  if (!reader.at_end()) return std::nullopt;
  return Moment::of(*seconds, atto);
}

std::vector<double> ranks_of(std::span<const Moment> moments) {
  std::vector<Moment> distinct(moments.begin(), moments.end());
  std::ranges::sort(distinct);
  const auto repeated = std::ranges::unique(distinct);
  distinct.erase(repeated.begin(), repeated.end());
  std::vector<double> ranks;
  ranks.reserve(moments.size());
  for (const Moment& moment : moments) {
    const auto place = std::ranges::lower_bound(distinct, moment);
    ranks.push_back(static_cast<double>(place - distinct.begin()));
  }
  return ranks;
}

}  // namespace widthwise
