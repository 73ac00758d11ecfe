#include <widthwise/online.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <widthwise/error.hpp>

#include "calibration/checks.hpp"
#include "text.hpp"
#include "words.hpp"

namespace widthwise {
namespace {

using internal::bit_words;
using internal::kInfinity;
using internal::kMostRows;
using internal::text_of;
using internal::WordReader;
using internal::WordWriter;

// The difference of two products of 64-bit numbers below 2^127.
__extension__ typedef __int128 Difference;

constexpr double kAdaptiveParts = 20;  // of alpha, one of which is a step
constexpr double kDecayingStep = 1;
constexpr double kMostStep = 10;
constexpr std::uint64_t kMostWindow = 1'000'000;

// Steps go as t^(-1/2 - 0.1): those of independent rows sum up to settle, and a change is still caught up with.
constexpr double kDecay = 0.6;
// A calibrated start need not search for q, so the steps begin as after so many rows.
constexpr double kHeadStart = 100;

constexpr std::uint64_t kMagic = 0x004e494c4e4f5757U;  // "WWONLIN", zero-terminated
constexpr std::uint64_t kFormatVersion = 1;
constexpr std::size_t kHeaderWords = 7;
constexpr std::size_t kLevelWords = 8;

[[noreturn]] void refuse(ErrorCode code, const std::string& what) { throw Error(code, "OnlineCalibration: " + what); }

/// eta_t / (step * scale) of the row after `rows` others.
double decay(std::uint64_t rows) { return std::pow(static_cast<double>(rows) + 1 + kHeadStart, -kDecay); }

/// Scores for one unit of probability near the level: the slope of the quantile function over half of alpha to both
/// sides. Where ties make that 0, the spread of all scores; then the size of q; then 1, as scores are in units.
double scale_near(const Level& level, double q, std::span<const double> sorted) {
  const double value = level.value();
  const double reach = std::min(value, level.complement().value()) / 2;
  const auto at = [&](double p) {
    const auto n = static_cast<double>(sorted.size());
    return sorted[static_cast<std::size_t>(std::clamp(p * n, 0.0, n - 1))];
  };
  for (const double scale :
       {(at(value + reach) - at(value - reach)) / (2 * reach), sorted.back() - sorted.front(), std::abs(q)}) {
    if (scale > 0 && std::isfinite(scale)) return scale;
  }
  return 1;
}

template <class Levels>
bool has_twice(Levels levels) {
  std::ranges::sort(levels);
  return std::ranges::adjacent_find(levels) != levels.end();
}

/// A level's decimals and their number: 0.95 is 95 and 2.
std::pair<std::uint64_t, std::uint64_t> decimals_of(const Level& level) {
  const std::uint64_t decimals = level.text().size() - 2;  // at most 19, after "0."
  std::uint64_t power = 1;
  for (std::uint64_t i = 0; i < decimals; ++i) power *= 10;
  return {level.numerator() * (power / level.denominator()), decimals};
}

Level level_of(std::uint64_t number, std::uint64_t decimals) {
  const std::string digits = std::to_string(number);
  if (digits.size() > decimals || decimals > 19 || number % 10 == 0) {
    throw Error(ErrorCode::kBadData, "a level is not written as levels are");
  }
  return Level::parse("0." + std::string(decimals - digits.size(), '0') + digits);
}

bool is_negative_zero(double x) { return x == 0 && std::signbit(x); }

}  // namespace

std::string_view name_of(OnlineMethod method) { return method == OnlineMethod::kAdaptive ? "adaptive" : "decaying"; }

OnlineMethod online_method_of(std::string_view name) {
  for (const OnlineMethod method : {OnlineMethod::kAdaptive, OnlineMethod::kDecaying}) {
    if (name == name_of(method)) return method;
  }
  throw Error(ErrorCode::kInvalidArgument,
              "expected the method adaptive or decaying, found '" + std::string(name) + "'");
}

double default_step(OnlineMethod method, const Level& level) {
  if (method == OnlineMethod::kDecaying) return kDecayingStep;
  return std::min(level.value(), level.complement().value()) / kAdaptiveParts;
}

template <class T>
std::optional<T> OnlineCalibration::Ring<T>::push(T value, std::uint64_t capacity) {
  if (values.size() < capacity) {
    values.push_back(value);
    return std::nullopt;
  }
  const T gone = std::exchange(values[oldest], value);
  oldest = (oldest + 1) % values.size();
  return gone;
}

OnlineCalibration::OnlineCalibration(const Calibration& calibration, std::vector<Level> levels,
                                     const OnlineOptions& options)
    : method_(options.method), window_(options.window), levels_(std::move(levels)), states_(levels_.size()) {
  for (std::size_t j = 0; j < levels_.size(); ++j) {
    states_[j].step = options.step.value_or(default_step(method_, levels_[j]));
  }
  check_options();
  const auto groups = calibration.groups();
  if (groups.size() > 1 || (groups.size() == 1 && groups[0] != 0)) {
    refuse(ErrorCode::kInvalidArgument, "the calibration has groups; a stream is followed as a whole");
  }
  if (calibration.weighted()) {
    refuse(ErrorCode::kInvalidArgument, "the calibration has weights, which the rows of a stream do not bring");
  }
  // By priority, so the first of them are a uniform sample; -0 has the bytes of 0 in a calibration already.
  std::vector<double> scores;
  for (const CalibrationRow& row : calibration.rows(0)) scores.push_back(row.score);
  if (method_ == OnlineMethod::kAdaptive) {
    scores_.values.assign(
        scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(scores.size(), window_)));
    sorted_ = scores_.values;
    std::ranges::sort(sorted_);
  }
  std::ranges::sort(scores);
  for (std::size_t j = 0; j < levels_.size(); ++j) {
    LevelState& state = states_[j];
    const std::uint64_t rank = levels_[j].rank(scores.size());
    state.fixed = rank <= scores.size() ? scores[rank - 1] : kInfinity;
    if (method_ == OnlineMethod::kAdaptive) continue;
    if (!std::isfinite(state.fixed)) {
      refuse(ErrorCode::kTooFewRows, "level " + levels_[j].text() + " has no finite quantile to begin with: it needs " +
                                         internal::rows_text(levels_[j].least_rows()) + ", the calibration has " +
                                         std::to_string(scores.size()) +
                                         "; calibrate first, or use the method adaptive");
    }
    state.q = state.fixed;
    state.scale = scale_near(levels_[j], state.q, scores);
  }
}

void OnlineCalibration::check_options() const {
  for (const LevelState& state : states_) {
    if (state.step > 0 && state.step <= kMostStep) continue;
    refuse(ErrorCode::kInvalidArgument, "expected a step above 0 and up to 10, found " + text_of(state.step));
  }
  if (window_ < 1 || window_ > kMostWindow) {
    refuse(ErrorCode::kInvalidArgument, "expected a window of 1 to 1,000,000 rows, found " + std::to_string(window_));
  }
  if (levels_.empty()) refuse(ErrorCode::kInvalidArgument, "expected at least one level, found none");
  if (has_twice(levels_)) refuse(ErrorCode::kInvalidArgument, "a level is given twice");
  if (method_ == OnlineMethod::kDecaying) return;
  for (const Level& level : levels_) {
    if (window_ >= level.least_rows()) continue;
    refuse(ErrorCode::kInvalidArgument, "a window of " + internal::rows_text(window_) + " is too short for level " +
                                            level.text() + ", which needs " + internal::rows_text(level.least_rows()));
  }
}

/// alpha T - misses, the misses that are owed; rounded once.
double OnlineCalibration::excess(std::size_t j) const {
  const Level alpha = levels_[j].complement();
  const Difference owed = static_cast<Difference>(alpha.numerator()) * static_cast<Difference>(rows_) -
                          static_cast<Difference>(states_[j].misses) * static_cast<Difference>(alpha.denominator());
  return static_cast<double>(owed) / static_cast<double>(alpha.denominator());
}

double OnlineCalibration::miss_rate(std::size_t j) const {
  const double alpha = levels_[j].complement().value();
  // The sum of step (alpha - err_t) needs no history: it is the step times the misses that are owed.
  return method_ == OnlineMethod::kAdaptive ? alpha + states_[j].step * excess(j) : alpha;
}

double OnlineCalibration::quantile(std::size_t j) const {
  if (method_ == OnlineMethod::kDecaying) return states_[j].q;
  const double alpha = miss_rate(j);
  if (alpha <= 0) return kInfinity;
  if (alpha >= 1) return -kInfinity;
  const std::size_t n = sorted_.size();
  // Exact where nothing is owed: the first interval is that of the calibration.
  const double rank =
      excess(j) == 0 ? static_cast<double>(levels_[j].rank(n)) : std::ceil(static_cast<double>(n + 1) * (1 - alpha));
  return rank <= static_cast<double>(n) ? sorted_[static_cast<std::size_t>(rank) - 1] : kInfinity;
}

void OnlineCalibration::quantiles(std::span<double> out) const {
  if (out.size() != levels_.size()) {
    refuse(ErrorCode::kShapeMismatch,
           std::to_string(levels_.size()) + " levels but " + std::to_string(out.size()) + " places for quantiles");
  }
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = quantile(j);
}

void OnlineCalibration::observe(double score) {
  if (std::isnan(score)) {
    throw Error(ErrorCode::kNotFinite,
                "OnlineCalibration::observe: the score is NaN; leave out rows without an outcome or a prediction");
  }
  if (rows_ == kMostRows) refuse(ErrorCode::kInvalidArgument, "more than 2^63 rows");
  score = internal::without_negative_zero(score);
  for (std::size_t j = 0; j < states_.size(); ++j) {
    LevelState& state = states_[j];
    const bool missed = score > quantile(j) || miss_rate(j) >= 1;
    state.misses_fixed += score > state.fixed ? 1 : 0;
    if (method_ == OnlineMethod::kDecaying) {
      const double alpha = levels_[j].complement().value();
      state.q += state.step * state.scale * decay(rows_) * ((missed ? 1 : 0) - alpha);
      state.q = internal::without_negative_zero(state.q);
    }
    state.misses += missed ? 1 : 0;
    (void)state.recent.push(missed ? 1 : 0, window_);
  }
  ++rows_;
  if (method_ == OnlineMethod::kDecaying) return;
  if (const auto gone = scores_.push(score, window_)) {
    sorted_.erase(std::ranges::lower_bound(sorted_, *gone));
  }
  sorted_.insert(std::ranges::upper_bound(sorted_, score), score);
}

OnlineCoverage OnlineCalibration::coverage(std::size_t j) const {
  const LevelState& state = states_[j];
  const std::vector<std::uint8_t>& recent = state.recent.values;
  return {.rows = rows_,
          .covered = rows_ - state.misses,
          .covered_fixed = rows_ - state.misses_fixed,
          .recent_rows = recent.size(),
          .recent_covered = recent.size() - std::accumulate(recent.begin(), recent.end(), std::uint64_t{0})};
}

// Format 1, in 64-bit words: magic, version, method, window, rows, number of levels, scores in the window; for
// each level its decimals and their number, step, the fixed quantile, q, scale, misses, fixed misses, then one bit for
// each of the recent rows, oldest first; the scores, oldest first; a checksum over all.
std::vector<std::byte> OnlineCalibration::serialise() const {
  const std::size_t recent = std::min(rows_, window_);
  const std::size_t kept = scores_.values.size();
  WordWriter writer(kHeaderWords + levels_.size() * (kLevelWords + bit_words(recent)) + kept);
  writer.put(kMagic);
  writer.put(kFormatVersion);
  writer.put(static_cast<std::uint64_t>(method_));
  writer.put(window_);
  writer.put(rows_);
  writer.put(std::uint64_t{levels_.size()});
  writer.put(std::uint64_t{kept});
  for (std::size_t j = 0; j < levels_.size(); ++j) {
    const LevelState& state = states_[j];
    const auto [number, decimals] = decimals_of(levels_[j]);
    writer.put(number);
    writer.put(decimals);
    writer.put(state.step);
    writer.put(state.fixed);
    writer.put(state.q);
    writer.put(state.scale);
    writer.put(state.misses);
    writer.put(state.misses_fixed);
    writer.put_bits(recent, [&](std::size_t i) { return state.recent[i] != 0; });
  }
  for (std::size_t i = 0; i < kept; ++i) writer.put(scores_[i]);
  return std::move(writer).finish();
}

OnlineCalibration OnlineCalibration::deserialise(std::span<const std::byte> bytes) {
  WordReader reader(bytes, "OnlineCalibration::deserialise");
  const auto check = [&](bool holds, const char* what) { reader.check(holds, what); };
  reader.expect_header(kMagic, kFormatVersion, "the state of an online calibration");
  reader.verify_checksum();
  OnlineCalibration online;
  const std::uint64_t method = reader.get();
  check(method <= 1, "the method is one that this version does not know");
  online.method_ = static_cast<OnlineMethod>(method);
  const bool adaptive = online.method_ == OnlineMethod::kAdaptive;
  online.window_ = reader.get();
  online.rows_ = reader.get();
  check(online.rows_ <= kMostRows, "there are more than 2^63 rows");
  const std::uint64_t levels = reader.get();
  const std::uint64_t kept = reader.get();
  check(levels <= reader.words_left() / kLevelWords && kept <= reader.words_left(), "the bytes end too early");
  const std::uint64_t recent = std::min(online.rows_, online.window_);
  check(adaptive ? kept >= recent && kept <= online.window_ : kept == 0, "the window is not as long as it must be");
  for (std::uint64_t j = 0; j < levels; ++j) {
    LevelState state;
    const std::uint64_t number = reader.get();
    const std::uint64_t decimals = reader.get();
    try {
      online.levels_.push_back(level_of(number, decimals));
    } catch (const Error& error) {
      reader.refuse(error.what());
    }
    state.step = reader.get_number();
    state.fixed = reader.get_number();
    state.q = reader.get_number();
    state.scale = reader.get_number();
    check(!std::isnan(state.fixed) && !is_negative_zero(state.fixed), "a fixed quantile is NaN or -0");
    check(!is_negative_zero(state.q) && (adaptive ? state.q == 0 : std::isfinite(state.q)), "a quantile cannot be");
    check(adaptive ? std::bit_cast<std::uint64_t>(state.scale) == 0 : state.scale > 0 && std::isfinite(state.scale),
          "a scale cannot be");
    check(adaptive || std::isfinite(state.fixed), "a fixed quantile is infinite");
    state.misses = reader.get();
    state.misses_fixed = reader.get();
    check(state.misses <= online.rows_ && state.misses_fixed <= online.rows_, "there are more misses than rows");
    check(bit_words(recent) <= reader.words_left(), "the bytes end too early");
    std::uint64_t recent_misses = 0;
    state.recent.values.resize(recent);
    check(reader.get_bits(recent,
                          [&](std::size_t i, bool missed) {
                            state.recent.values[i] = missed ? 1 : 0;
                            recent_misses += missed ? 1 : 0;
                          }),
          "there are recent rows that do not exist");
    check(recent_misses <= state.misses && recent - recent_misses <= online.rows_ - state.misses,
          "the recent misses do not go with all misses");
    online.states_.push_back(std::move(state));
  }
  try {
    online.check_options();
  } catch (const Error& error) {
    reader.refuse(error.what());
  }
  for (std::size_t j = 0; adaptive && j < levels; ++j) {
    // Beyond these no sequence of rows leads, but for rounding: past 0 every row is a hit, past 1 a miss.
    const double alpha = online.levels_[j].complement().value();
    const double step = online.states_[j].step;
    const double rate = online.miss_rate(j);
    check(rate >= -step * (1 - alpha) - 1e-9 && rate <= 1 + step * alpha + 1e-9,
          "the misses are more or fewer than any rows could give");
  }
  check(reader.words_left() == kept, "there are more or fewer scores than it says");
  online.scores_.values.reserve(kept);
  for (std::uint64_t i = 0; i < kept; ++i) {
    const double score = reader.get_number();
    check(!std::isnan(score) && !is_negative_zero(score), "a score is NaN or -0");
    online.scores_.values.push_back(score);
  }
  online.sorted_ = online.scores_.values;
  std::ranges::sort(online.sorted_);
  return online;
}

}  // namespace widthwise
