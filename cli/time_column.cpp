#include "time_column.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <widthwise/error.hpp>

#include "message.hpp"
#include "printable.hpp"
#include "text.hpp"

namespace widthwise::cli {
namespace {

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

  /// The digits after a decimal point as a fraction.
  double take_fraction() {
    double fraction = 0;
    double unit = 0.1;
    while (const auto digit = take_digits(1)) {
      fraction += unit * *digit;
      unit /= 10;
    }
    return fraction;
  }

 private:
  std::string_view text_;
  char last_ = 0;
};

constexpr double kMinute = 60;
constexpr double kHour = 3600;
constexpr double kDay = 86400;

std::optional<double> take_day(DateReader& reader) {
  const auto year = reader.take_digits(4);
  if (!year || !reader.take("-")) return std::nullopt;
  const auto month = reader.take_digits(2);
  if (!month || !reader.take("-")) return std::nullopt;
  const auto day = reader.take_digits(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return kDay * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

/// Hours and minutes as seconds, with or without a colon between them, or hours alone.
std::optional<double> take_minutes(DateReader& reader) {
  const auto hours = reader.take_digits(2);
  if (!hours || *hours > 24) return std::nullopt;
  const bool colon = reader.take(":");
  const auto minutes = reader.take_digits(2);
  if ((colon && !minutes) || minutes.value_or(0) > 59) return std::nullopt;
  return kHour * *hours + kMinute * minutes.value_or(0);
}

/// The time of day, with seconds and an offset if they follow.
std::optional<double> take_clock(DateReader& reader) {
  auto time = take_minutes(reader);
  if (!time) return std::nullopt;
  if (reader.take(":")) {
    const auto seconds = reader.take_digits(2);
    if (!seconds || *seconds > 60) return std::nullopt;
    *time += *seconds;
    if (reader.take(".,")) *time += reader.take_fraction();
  }
  if (reader.take("Zz")) return time;
  if (!reader.take("+-")) return time;
  const double sign = reader.last() == '+' ? -1 : 1;
  const auto offset = take_minutes(reader);
  if (!offset) return std::nullopt;
  return *time + sign * *offset;
}

}  // namespace

std::optional<double> seconds_of_date(std::string_view text) {
  DateReader reader(text);
  auto seconds = take_day(reader);
  if (!seconds) return std::nullopt;
  if (reader.take("T t")) {
    const auto clock = take_clock(reader);
    if (!clock) return std::nullopt;
    *seconds += *clock;
  }
  return reader.at_end() ? seconds : std::nullopt;
}

SelectedColumn TimeColumn::select(const TableReader& reader, const std::string& name) {
  name_ = name;
  const auto found = std::ranges::find(reader.columns(), name, &ColumnInfo::name);
  is_text_ = found != reader.columns().end() && found->kind == ColumnKind::kText;
  if (!is_text_) return {.name = name, .times = true};
  return {.name = name, .collected = &labels_, .max_labels = std::numeric_limits<std::uint32_t>::max() - 1};
}

void TimeColumn::append(const TableBatch& batch, std::size_t place, const std::string& file,
                        std::vector<double>& times) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t label = seconds_.size(); label < labels_.size(); ++label) {
    seconds_.push_back(seconds_of_date(labels_[label]).value_or(kNaN));
  }
  const MatrixView numbers = batch.numbers();
  for (std::size_t i = 0; i < numbers.rows(); ++i) {
    const double number = numbers(i, place);
    const bool has_label = is_text_ && !std::isnan(number);
    const double time = has_label ? seconds_[static_cast<std::size_t>(number)] : number;
    if (!std::isfinite(time)) {
      const std::string what =
          has_label ? fmt::format("is '{}'", internal::printable(labels_[static_cast<std::size_t>(number)]))
                    : "is missing";
      throw internal::make_error(ErrorCode::kBadData,
                                 "{}: row {}: '{}' {}; expected a number, or a date such as 2024-01-31 or "
                                 "2024-01-31 05:00",
                                 file, batch.first_row() + i + 1, name_, what);
    }
    times.push_back(time);
  }
}

}  // namespace widthwise::cli
