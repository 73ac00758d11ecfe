#include <widthwise/exchangeability.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/schemes.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "conformal/calibration/checks.hpp"

namespace widthwise {
namespace {

using internal::kInfinity;
using internal::kMaxRows;
using internal::WordReader;
using internal::WordWriter;

/// A density of the p-value: exponent * p^(exponent - 1), or the same of 1 - p.
struct Bet {
  double exponent;
  bool of_complement;

  /// Whether it wins with small p-values, those of large scores.
  [[nodiscard]] constexpr bool wins_with_larger_errors() const { return (exponent < 1) != of_complement; }
};

// Noise times 1.5 and 2 give p-values with densities near p^-0.5 and p^-0.7; exponents above 1 are bounded and win with
// changes of typical scores; the bets on 1 - p mirror them for smaller errors.
constexpr Bet kBetList[] = {
    {0.5, false}, {0.75, false}, {4.0 / 3, false}, {2, false}, {0.5, true}, {0.75, true}, {4.0 / 3, true}, {2, true},
};

// Time scale of the investment: half of the capital is invested in the first 172 rows.
constexpr double kInvestmentRows = 100;

constexpr std::uint64_t kMagic = 0x004843584557577fU;  // zero-terminated "\x7fWWEXCH"
constexpr std::uint64_t kFormat = 1;
constexpr std::size_t kHeaderWords = 9;
// Logarithms of other platforms may be rounded differently.
constexpr double kRounding = 1e-9;

// Random numbers of calibration rows and of stream rows are unrelated.
constexpr std::uint64_t kCalibrationDraws = 1;
constexpr std::uint64_t kStreamDraws = 2;

Random draws_of(std::uint64_t seed, std::uint64_t kind, std::uint64_t row) {
  return Random(mix_bits(mix_bits(seed) + kind) + row);
}

[[noreturn]] void refuse(ErrorCode code, const std::string& what) {
  throw Error(code, "ExchangeabilityMonitor: " + what);
}

/// The share of the capital that is not yet invested after this many rows: from 1 to 0, so slowly that the share of row
/// t is about 1 / (t log^2 t).
double reserve(std::uint64_t rows) { return 1 / (1 + std::log1p(static_cast<double>(rows) / kInvestmentRows)); }

/// log(exp(a) + exp(b)).
double log_add(double a, double b) {
  const double high = std::max(a, b);
  return high == -kInfinity ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

}  // namespace

// --- ranks

ExchangeabilityMonitor::Ranks::Ranks(std::vector<Mark> rows) {
  std::ranges::sort(rows);
  const std::size_t n = rows.size();
  if (n <= kMaxMarks) {
    marks_ = std::move(rows);
    return;
  }
  between_.reserve(kMaxMarks + 1);
  std::size_t next = 0;
  for (std::size_t m = 1; m <= kMaxMarks; ++m) {
    const std::size_t position = m * (n + 1) / (kMaxMarks + 1) - 1;
    marks_.push_back(rows[position]);
    between_.push_back(position - next);
    next = position + 1;
  }
  between_.push_back(n - next);
  count_gaps();
}

/// Make the sums of `between_`.
void ExchangeabilityMonitor::Ranks::count_gaps() {
  const std::size_t gaps = between_.size();
  rows_between_ = std::accumulate(between_.begin(), between_.end(), std::uint64_t{0});
  sums_.assign(gaps + 1, 0);
  for (std::size_t i = 1; i <= gaps; ++i) {
    sums_[i] += between_[i - 1];
    const std::size_t parent = i + (i & (0 - i));
    if (parent <= gaps) sums_[parent] += sums_[i];
  }
}

/// Number of rows between marks below this gap.
std::uint64_t ExchangeabilityMonitor::Ranks::between_before(std::size_t gap) const {
  std::uint64_t sum = 0;
  for (std::size_t i = gap; i > 0; i &= i - 1) sum += sums_[i];
  return sum;
}

/// Allocate the memory of this many calls of `add`.
void ExchangeabilityMonitor::Ranks::make_room(std::size_t rows) {
  const std::size_t needed = marks_.size() + std::min(rows, kMaxMarks - marks_.size());
  if (needed > marks_.capacity()) marks_.reserve(std::max(needed, std::min(2 * marks_.capacity(), kMaxMarks)));
  if (rows <= kMaxMarks - marks_.size()) return;
  between_.reserve(kMaxMarks + 1);
  sums_.reserve(kMaxMarks + 2);
}

ExchangeabilityMonitor::PValue ExchangeabilityMonitor::Ranks::add(const Mark& row, double within) {
  make_room(1);
  const auto above = std::ranges::upper_bound(marks_, row);
  const auto gap = static_cast<std::size_t>(above - marks_.begin());
  // A new row is equally likely in each of the n + 1 positions between n rows. A gap between marks with m rows has
  // m + 1 of these positions.
  const std::uint64_t inside = between_.empty() ? 1 : between_[gap] + 1;
  const std::uint64_t below = gap + (between_.empty() ? 0 : between_before(gap));
  const std::uint64_t places = marks_.size() + rows_between_ + 1;
  const PValue value{
      .p = (static_cast<double>(places - inside - below) + static_cast<double>(inside) * (1 - within)) /
           static_cast<double>(places),
      .complement = (static_cast<double>(below) + static_cast<double>(inside) * within) / static_cast<double>(places)};
  if (marks_.size() < kMaxMarks) {
    marks_.insert(above, row);
    return value;
  }
  if (between_.empty()) {
    between_.assign(kMaxMarks + 1, 0);
    sums_.assign(kMaxMarks + 2, 0);
  }
  ++between_[gap];
  ++rows_between_;
  for (std::size_t i = gap + 1; i < sums_.size(); i += i & (0 - i)) ++sums_[i];
  return value;
}

// --- martingale

ExchangeabilityMonitor::ExchangeabilityMonitor(const Calibration& calibration, const ExchangeabilityOptions& options)
    : options_(options) {
  static_assert(std::size(kBetList) == kBets);
  check_options();
  const std::string refusal = CalibrationScheme::of({}, calibration)->refusal(Choice::kOrderTest);
  if (!refusal.empty()) refuse(ErrorCode::kInvalidArgument, refusal);
  log_capital_.fill(-kInfinity);
  if (calibration.groups().empty()) ranks_[0];
  std::uint64_t number = 0;
  for (const std::int64_t group : calibration.groups()) {
    std::vector<Mark> rows;
    for (const CalibrationRow& row : calibration.rows(group)) {
      rows.push_back({row.score, draws_of(options_.seed, kCalibrationDraws, number++).bits()});
    }
    ranks_[group] = Ranks(std::move(rows));
  }
}

void ExchangeabilityMonitor::check_options() const {
  if (options_.false_alarm_rate > 0 && options_.false_alarm_rate < 1) return;
  refuse(ErrorCode::kInvalidArgument,
         fmt::format("expected a false-alarm rate between 0 and 1, found {}", options_.false_alarm_rate));
}

void ExchangeabilityMonitor::make_room(std::size_t rows, std::int64_t group) {
  if (const auto ranks = ranks_.find(group); ranks != ranks_.end()) ranks->second.make_room(rows);
}

double ExchangeabilityMonitor::observe(double score, std::int64_t group) {
  if (std::isnan(score)) {
    throw Error(ErrorCode::kNotFinite,
                "ExchangeabilityMonitor::observe: the score is NaN; drop rows without an outcome or a prediction");
  }
  if (rows_ == kMaxRows) refuse(ErrorCode::kInvalidArgument, "observe: the total exceeds 2^63 rows");
  PValue value{.p = std::numeric_limits<double>::quiet_NaN()};
  if (const auto ranks = ranks_.find(group); ranks != ranks_.end()) {
    Random draws = draws_of(options_.seed, kStreamDraws, rows_);
    const std::uint64_t tie = draws.bits();
    // Strictly between 0 and 1, so that no bet loses everything.
    const double within = (static_cast<double>(draws.bits() >> 12U) + 0.5) * 0x1p-52;
    value = ranks->second.add({internal::without_negative_zero(score), tie}, within);
  }
  ++rows_;
  bet(value);
  return value.p;
}

void ExchangeabilityMonitor::bet(const PValue& value) {
  const bool ranked = !std::isnan(value.p);
  const double log_p = std::log(value.p);
  const double log_complement = std::log(value.complement);
  const double invested = std::log((reserve(rows_ - 1) - reserve(rows_)) / static_cast<double>(kBets));
  for (std::size_t j = 0; j < kBets; ++j) {
    const Bet& one = kBetList[j];
    log_capital_[j] = log_add(log_capital_[j], invested);
    if (!ranked) continue;
    log_capital_[j] += std::log(one.exponent) + (one.exponent - 1) * (one.of_complement ? log_complement : log_p);
  }
  highest_ = std::max(highest_, log_martingale());
  if (alarm_ || highest_ < -std::log(options_.false_alarm_rate)) return;
  double larger = -kInfinity;
  double smaller = -kInfinity;
  for (std::size_t j = 0; j < kBets; ++j) {
    double& side = kBetList[j].wins_with_larger_errors() ? larger : smaller;
    side = log_add(side, log_capital_[j]);
  }
  alarm_ = {.row = rows_, .larger = larger > smaller};
}

double ExchangeabilityMonitor::log_martingale() const {
  double total = std::log(reserve(rows_));
  for (const double capital : log_capital_) total = log_add(total, capital);
  return total;
}

std::string ExchangeabilityMonitor::summary() const {
  const std::string rate = internal::significant(100 * options_.false_alarm_rate) + "%";
  if (!alarm_) {
    return fmt::format(
        "No alarm: no evidence that rows stopped being exchangeable with the calibration rows (false-alarm rate {}).",
        rate);
  }
  return fmt::format(
      "Alarm at row {}: rows stopped being exchangeable with the calibration rows; errors are {} (false-alarm rate "
      "{}).",
      internal::count(alarm_->row), alarm_->larger ? "larger" : "smaller", rate);
}

// --- bytes
//
// In 64-bit words: magic, format, false-alarm rate, seed, rows, row of the alarm or 0, whether errors are larger, the
// highest logarithm, number of groups; the logarithm of the capital of each bet; for each group its number, its marks
// and 1 if rows lie between them, else 0; for each mark its score and tie-breaker; then the number of rows in each gap,
// if there are such rows; a checksum over all.

std::vector<std::byte> ExchangeabilityMonitor::serialise() const {
  constexpr std::size_t kGroupWords = 3;
  std::size_t words = kHeaderWords + kBets;
  for (const auto& [group, ranks] : ranks_) {
    words += kGroupWords + 2 * ranks.marks_.size() + ranks.between_.size();
  }
  WordWriter writer(words);
  writer.put(kMagic);
  writer.put(kFormat);
  writer.put(options_.false_alarm_rate);
  writer.put(options_.seed);
  writer.put(rows_);
  writer.put(alarm_ ? alarm_->row : std::uint64_t{0});
  writer.put(std::uint64_t{alarm_ && alarm_->larger ? 1U : 0U});
  writer.put(highest_);
  writer.put(std::uint64_t{ranks_.size()});
  for (const double capital : log_capital_) writer.put(capital);
  for (const auto& [group, ranks] : ranks_) {
    writer.put(static_cast<std::uint64_t>(group));
    writer.put(std::uint64_t{ranks.marks_.size()});
    writer.put(std::uint64_t{ranks.between_.empty() ? 0U : 1U});
    for (const Mark& mark : ranks.marks_) {
      writer.put(mark.score);
      writer.put(mark.tie);
    }
    for (const std::uint64_t rows : ranks.between_) writer.put(rows);
  }
  return std::move(writer).finish();
}

/// Reads a state from bytes, field by field.
struct ExchangeabilityMonitor::Reader {
  WordReader words;
  ExchangeabilityMonitor monitor = {};

  void check(bool holds, const char* what) const { words.check(holds, what); }

  /// Returns the number of groups.
  std::uint64_t read_header() {
    monitor.options_.false_alarm_rate = words.get_number();
    monitor.options_.seed = words.get();
    try {
      monitor.check_options();
    } catch (const Error& error) {
      words.refuse(error.what());
    }
    monitor.rows_ = words.get();
    check(monitor.rows_ <= kMaxRows, "there are more than 2^63 rows");
    const std::uint64_t row = words.get();
    const std::uint64_t larger = words.get();
    check(row <= monitor.rows_ && larger <= (row > 0 ? 1U : 0U), "the alarm is invalid");
    if (row > 0) monitor.alarm_ = {.row = row, .larger = larger == 1};
    monitor.highest_ = words.get_number();
    const std::uint64_t groups = words.get();
    for (double& capital : monitor.log_capital_) {
      capital = words.get_number();
      check(monitor.rows_ == 0 ? capital == -kInfinity : std::isfinite(capital), "the capital of a bet is invalid");
    }
    check_highest();
    return groups;
  }

  void check_highest() const {
    const double highest = monitor.highest_;
    const double rounding = kRounding * (1 + std::abs(highest));
    check(std::isfinite(highest) && !std::signbit(highest) && highest >= monitor.log_martingale() - rounding &&
              (monitor.rows_ > 0 || highest == 0),
          "the highest value is invalid");
    const double threshold = -std::log(monitor.options_.false_alarm_rate);
    check(monitor.alarm_ ? highest >= threshold - rounding : highest <= threshold + rounding,
          "the alarm does not match the highest value");
  }

  void read_group() {
    const auto group = static_cast<std::int64_t>(words.get());
    check(monitor.ranks_.empty() || group > monitor.ranks_.rbegin()->first, "the groups are not in order");
    const std::uint64_t marks = words.get();
    const std::uint64_t between = words.get();
    check(marks <= kMaxMarks && between <= (marks == kMaxMarks ? 1U : 0U), "the marks are invalid");
    Ranks& ranks = monitor.ranks_[group];
    for (std::uint64_t i = 0; i < marks; ++i) {
      const Mark mark{.score = words.get_number(), .tie = words.get()};
      check(!std::isnan(mark.score) && !(mark.score == 0 && std::signbit(mark.score)), "a score is NaN or -0");
      check(ranks.marks_.empty() || ranks.marks_.back() <= mark, "the scores are not in order");
      ranks.marks_.push_back(mark);
    }
    if (between == 0) return;
    std::uint64_t total = 0;
    for (std::size_t gap = 0; gap <= kMaxMarks; ++gap) {
      const std::uint64_t rows = words.get();
      check(rows <= kMaxRows - total, "there are more than 2^63 rows");
      total += rows;
      ranks.between_.push_back(rows);
    }
    check(total > 0, "the marks are invalid");
    ranks.count_gaps();
  }
};

ExchangeabilityMonitor ExchangeabilityMonitor::deserialise(std::span<const std::byte> bytes) {
  Reader reader{.words = WordReader(bytes, "ExchangeabilityMonitor::deserialise")};
  WordReader& words = reader.words;
  words.expect_header(kMagic, kFormat, "the state of a test of exchangeability");
  words.verify_checksum();
  const std::uint64_t groups = reader.read_header();
  words.check(groups <= words.words_left(), "unexpected end of the bytes");
  for (std::uint64_t i = 0; i < groups; ++i) reader.read_group();
  words.check(words.words_left() == 0, "unexpected bytes at the end");
  return std::move(reader.monitor);
}

}  // namespace widthwise
