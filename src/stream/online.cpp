#include <widthwise/online.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/schemes.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "conformal/calibration/checks.hpp"

namespace widthwise {
namespace {

using internal::bit_words;
using internal::kInfinity;
using internal::kMaxRows;
using internal::text_of;
using internal::WordReader;
using internal::WordWriter;

// The difference of two products of 64-bit numbers below 2^127.
__extension__ typedef __int128 Difference;

constexpr double kAdaptiveParts = 20;  // the default step is this fraction of alpha
constexpr double kDecayingStep = 1;
constexpr double kMaxStep = 10;
constexpr std::uint64_t kMaxWindow = 1'000'000;

// Maximum number of rows as which a batch counts; with the default step, a batch of misses lowers the level by alpha.
constexpr double kBatchRows = 20;
// Minimum number of batches in the window, so that it contains both kinds if batches alternate between two kinds.
constexpr double kWindowDelays = 10;
// Maximum number of rows inserted into the sorted window one by one; for more rows the window is sorted again.
constexpr std::size_t kFewRows = 64;

// Steps decrease as t^(-1/2 - 0.1): q converges for independent rows and still follows a change.
constexpr double kDecay = 0.6;
// A calibrated q is already near its target, so the steps start as after this many rows.
constexpr double kHeadStart = 100;

constexpr std::uint64_t kMagic = 0x004e494c4e4f5757U;  // "WWONLIN", zero-terminated
constexpr std::uint64_t kFormat = 1;
constexpr std::size_t kHeaderWords = 7;
constexpr std::size_t kLevelWords = 8;
constexpr std::size_t kBatchWords = 5;
constexpr double kRounding = 1e-9;

[[noreturn]] void refuse(ErrorCode code, const std::string& what) { throw Error(code, "OnlineCalibration: " + what); }

/// eta_t / (step * scale) of the row after `rows` others, if `pace` rows count as one.
double decay(std::uint64_t rows, double pace) {
  return std::pow(static_cast<double>(rows) / pace + 1 + kHeadStart, -kDecay) / pace;
}

/// Change of the score per unit of probability near the level: the slope of the quantile function over half of alpha to
/// both sides. If ties make it 0, the spread of all scores; else the absolute value of q; else 1, as scores are in
/// units.
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

/// The number of words of a state with a format of its own, and these words.
void put_words(WordWriter& writer, std::span<const std::byte> bytes) {
  const std::size_t words = bytes.size() / internal::kWordBytes;
  writer.put(std::uint64_t{words});
  for (std::size_t i = 0; i < words; ++i) writer.put(internal::load_word(bytes, i));
}

template <class Levels>
bool has_twice(Levels levels) {
  std::ranges::sort(levels);
  return std::ranges::adjacent_find(levels) != levels.end();
}

/// The decimals of a level and their number: 95 and 2 for 0.95.
std::pair<std::uint64_t, std::uint64_t> decimals_of(const Level& level) {
  const std::uint64_t decimals = level.to_string().size() - 2;  // at most 19, after "0."
  std::uint64_t power = 1;
  for (std::uint64_t i = 0; i < decimals; ++i) power *= 10;
  return {level.numerator() * (power / level.denominator()), decimals};
}

Level level_of(std::uint64_t number, std::uint64_t decimals) {
  const std::string digits = std::to_string(number);
  if (digits.size() > decimals || decimals > 19 || number % 10 == 0) {
    throw Error(ErrorCode::kBadData, "a level is not a decimal between 0 and 1");
  }
  return Level::parse(fmt::format("0.{}{}", std::string(decimals - digits.size(), '0'), digits));
}

void expect_numbers(std::span<const double> scores) {
  if (std::ranges::none_of(scores, [](double score) { return std::isnan(score); })) return;
  throw Error(ErrorCode::kNotFinite,
              "OnlineCalibration::observe: a score is NaN; drop rows without an outcome or a prediction");
}

bool is_negative_zero(double x) { return x == 0 && std::signbit(x); }

}  // namespace

std::string_view name_of(OnlineMethod method) { return method == OnlineMethod::kAdaptive ? "adaptive" : "decaying"; }

OnlineMethod online_method_of(std::string_view name) {
  for (const OnlineMethod method : {OnlineMethod::kAdaptive, OnlineMethod::kDecaying}) {
    if (name == name_of(method)) return method;
  }
  throw internal::make_error(ErrorCode::kInvalidArgument, "unknown method '{}'; expected adaptive or decaying", name);
}

double default_step(OnlineMethod method, const Level& level) {
  if (method == OnlineMethod::kDecaying) return kDecayingStep;
  return std::min(level.value(), level.complement().value()) / kAdaptiveParts;
}

OnlineCalibration::OnlineCalibration(const Calibration& calibration, std::vector<Level> levels,
                                     const OnlineOptions& options)
    : method_(options.method), window_rows_(options.window_rows), levels_(std::move(levels)), states_(levels_.size()) {
  for (std::size_t j = 0; j < levels_.size(); ++j) {
    states_[j].step = options.step.value_or(default_step(method_, levels_[j]));
  }
  check_options();
  const std::string refusal = CalibrationScheme::of({}, calibration)->refusal(Choice::kStream);
  if (!refusal.empty()) refuse(ErrorCode::kInvalidArgument, refusal);
  if (options.false_alarm_rate != 0) {
    exchangeability_.emplace(calibration, ExchangeabilityOptions{.false_alarm_rate = options.false_alarm_rate});
  }
  // Ordered by priority, so the first rows are a uniform sample; a calibration already stores -0 as 0.
  std::vector<double> scores;
  for (const CalibrationRow& row : calibration.rows(0)) scores.push_back(row.score);
  if (method_ == OnlineMethod::kAdaptive) {
    const std::size_t kept = std::min<std::uint64_t>(scores.size(), window_rows_);
    scores_.make_room(kept);
    for (const double score : std::span(scores).first(kept)) scores_.push_back(score);
    sort_window();
  }
  std::ranges::sort(scores);
  for (std::size_t j = 0; j < levels_.size(); ++j) {
    LevelState& state = states_[j];
    const std::uint64_t rank = levels_[j].rank(scores.size());
    state.fixed = rank <= scores.size() ? scores[rank - 1] : kInfinity;
    if (method_ == OnlineMethod::kAdaptive) continue;
    if (!std::isfinite(state.fixed)) {
      refuse(ErrorCode::kTooFewRows,
             fmt::format("level {} has no finite initial quantile: it needs {}, the calibration has {}; add "
                         "calibration rows, or use the method adaptive",
                         levels_[j].to_string(), internal::rows_text(levels_[j].min_rows()), scores.size()));
    }
    state.q = state.fixed;
    state.scale = scale_near(levels_[j], state.q, scores);
  }
}

void OnlineCalibration::check_options() const {
  for (const LevelState& state : states_) {
    if (state.step > 0 && state.step <= kMaxStep) continue;
    refuse(ErrorCode::kInvalidArgument, fmt::format("expected a step above 0 and up to 10, found {}", state.step));
  }
  if (window_rows_ < 1 || window_rows_ > kMaxWindow) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("expected a window of 1 to 1,000,000 rows, found {}", window_rows_));
  }
  if (levels_.empty()) refuse(ErrorCode::kInvalidArgument, "expected at least one level, found none");
  if (levels_.size() > kMaxLevels) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("expected at most {} levels, found {}", kMaxLevels, levels_.size()));
  }
  if (has_twice(levels_)) refuse(ErrorCode::kInvalidArgument, "a level occurs twice");
  if (method_ == OnlineMethod::kDecaying) return;
  for (const Level& level : levels_) {
    if (window_rows_ >= level.min_rows()) continue;
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("a window of {} is too short for level {}, which needs {}", internal::rows_text(window_rows_),
                       level.to_string(), internal::rows_text(level.min_rows())));
  }
}

/// alpha T - misses, the excess E of docs/mathematics.md; rounded once.
double OnlineCalibration::excess(std::size_t j) const {
  const Level alpha = levels_[j].complement();
  const Difference owed = static_cast<Difference>(alpha.numerator()) * static_cast<Difference>(rows_) -
                          static_cast<Difference>(states_[j].misses) * static_cast<Difference>(alpha.denominator());
  return static_cast<double>(owed) / static_cast<double>(alpha.denominator());
}

/// Number of rows that count as one.
double OnlineCalibration::pace() const {
  // Steps of q must not grow again, otherwise the bound does not hold.
  return std::max(1.0, (method_ == OnlineMethod::kAdaptive ? delay_ : slowest_) / kBatchRows);
}

/// Maximum number of rows in the window if this is the mean delay.
std::uint64_t OnlineCalibration::window_capacity(double delay) const {
  // Row by row, there are no batches that the window must span.
  const double delays = std::clamp(kWindowDelays * (delay - 1), 0.0, static_cast<double>(kMaxWindow));
  return std::max(window_rows_, static_cast<std::uint64_t>(delays));
}

double OnlineCalibration::miss_rate(std::size_t j) const {
  const double alpha = levels_[j].complement().value();
  // The sum of step (alpha - err_t) needs no history: it is the step times the excess.
  return method_ == OnlineMethod::kAdaptive ? alpha + states_[j].step * excess(j) / pace() : alpha;
}

double OnlineCalibration::quantile(std::size_t j) const {
  if (method_ == OnlineMethod::kDecaying) return states_[j].q;
  const double alpha = miss_rate(j);
  if (alpha <= 0) return kInfinity;
  if (alpha >= 1) return -kInfinity;
  const std::size_t n = sorted_.size();
  // Exact for an excess of 0, so that the first interval is that of the calibration.
  const double rank =
      excess(j) == 0 ? static_cast<double>(levels_[j].rank(n)) : std::ceil(static_cast<double>(n + 1) * (1 - alpha));
  return rank <= static_cast<double>(n) ? sorted_[static_cast<std::size_t>(rank) - 1] : kInfinity;
}

void OnlineCalibration::check_places(std::size_t places) const {
  if (places == levels_.size()) return;
  refuse(ErrorCode::kShapeMismatch, fmt::format("{} levels but {} output quantiles", levels_.size(), places));
}

void OnlineCalibration::quantiles(std::span<double> out) const {
  check_places(out.size());
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = quantile(j);
}

/// The next batch, not yet issued.
OnlineCalibration::Issued OnlineCalibration::next_batch(std::uint64_t rows) const {
  if (rows == 0) refuse(ErrorCode::kInvalidArgument, "issue: expected at least one row, found 0");
  if (rows > kMaxRows - issued_) refuse(ErrorCode::kInvalidArgument, "issue: the total exceeds 2^63 rows");
  Issued batch{.rows = rows};
  for (std::size_t j = 0; j < levels_.size(); ++j) {
    batch.levels.push_back({.q = quantile(j), .empty = method_ == OnlineMethod::kAdaptive && miss_rate(j) >= 1});
  }
  return batch;
}

std::uint64_t OnlineCalibration::issue(std::uint64_t rows) {
  const std::uint64_t number = issued_;
  pending_.emplace_hint(pending_.end(), number, next_batch(rows));
  issued_ += rows;
  if (pending_.size() > kMaxPendingBatches) pending_.erase(pending_.begin());
  return number;
}

std::uint64_t OnlineCalibration::issue(const RowSketch& rows) {
  auto contents = std::make_shared<const Contents>(Contents{.limit = rows.limit(), .left = rows.entries()});
  const std::uint64_t number = issue(rows.rows());
  pending_.at(number).contents = std::move(contents);
  return number;
}

std::vector<PendingBatch> OnlineCalibration::pending() const {
  std::vector<PendingBatch> batches;
  for (const auto& [number, batch] : pending_) batches.push_back({.number = number, .rows = batch.rows});
  return batches;
}

std::uint64_t OnlineCalibration::rows_pending() const {
  std::uint64_t rows = 0;
  for (const auto& [number, batch] : pending_) rows += batch.rows;
  return rows;
}

const OnlineCalibration::Issued& OnlineCalibration::pending_batch(std::uint64_t batch) const {
  const auto found = pending_.find(batch);
  if (found != pending_.end()) return found->second;
  refuse(ErrorCode::kInvalidArgument,
         fmt::format("batch {}{}", batch,
                     batch < issued_ ? " has no pending rows: its outcomes were observed, or it was dropped"
                                     : fmt::format(" was not issued; the next batch is {}", issued_)));
}

void OnlineCalibration::issued_quantiles(std::uint64_t batch, std::span<double> out) const {
  const Issued& issued = pending_batch(batch);
  check_places(out.size());
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = issued.levels[j].q;
}

void OnlineCalibration::drop(std::uint64_t batch) {
  (void)pending_batch(batch);
  pending_.erase(batch);
}

/// The rows that are left of a batch after those with these hashes. Throws if one of them is not pending.
std::shared_ptr<const OnlineCalibration::Contents> OnlineCalibration::without(
    std::uint64_t batch, std::span<const std::uint64_t> hashes) const {
  const Issued& issued = pending_batch(batch);
  if (issued.contents == nullptr || hashes.empty()) return issued.contents;
  const auto find = [](auto& entries, std::uint64_t hash) {
    const auto found = std::ranges::lower_bound(entries, hash, {}, &RowSketch::Entry::hash);
    return found == entries.end() || found->hash != hash ? nullptr : &*found;
  };
  Contents after = *issued.contents;
  std::size_t unknown = 0;
  std::size_t twice = 0;
  std::uint64_t other_batch = batch;
  for (const std::uint64_t hash : hashes) {
    if (hash > after.limit) continue;
    RowSketch::Entry* const entry = find(after.left, hash);
    if (entry != nullptr && entry->count > 0) {
      --entry->count;
    } else if (entry != nullptr) {
      ++twice;
    } else if (++unknown == 1) {
      for (const auto& [number, other] : pending_) {
        if (other.contents != nullptr && find(other.contents->left, hash) != nullptr) other_batch = number;
      }
    }
  }
  if (unknown + twice > 0) {
    const std::size_t count = unknown > 0 ? unknown : twice;
    const std::string where = unknown == 0 ? fmt::format("already observed in batch {}", batch)
                              : other_batch != batch
                                  ? fmt::format("issued in batch {}, not in batch {}", other_batch, batch)
                                  : fmt::format("not issued in batch {}", batch);
    refuse(
        ErrorCode::kInvalidArgument,
        fmt::format("observe: {} of {} {} {}; pass each row once, with the number of its batch and the features that "
                    "it was issued with",
                    count, internal::rows_text(hashes.size()), count == 1 ? "was" : "were", where));
  }
  return std::make_shared<const Contents>(std::move(after));
}

void OnlineCalibration::require_unobserved(const RowSketch& rows) const {
  if (rows.rows() < RowOverlap::kMinRows || observed_.empty()) return;
  const RowOverlap twice = overlap(observed_, rows);
  if (!twice.found()) return;
  throw internal::make_error(
      ErrorCode::kDuplicateRows,
      "{:.0f}% of these rows were already observed with the same outcomes, and an outcome counts "
      "once; pass only rows that follow them",
      std::max(1.0, 100 * twice.share()));
}

void OnlineCalibration::observe(std::uint64_t batch, std::span<const double> scores,
                                std::span<const std::uint8_t> covered, std::span<const std::uint64_t> hashes,
                                std::span<const std::uint64_t> contents) {
  const Issued& issued = pending_batch(batch);
  const std::size_t k = levels_.size();
  if (scores.size() > issued.rows) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("observe: {} of batch {}, which has {} pending", internal::rows_text(scores.size()), batch,
                       internal::rows_text(issued.rows)));
  }
  if (!covered.empty() && covered.size() != scores.size() * k) {
    refuse(ErrorCode::kShapeMismatch,
           fmt::format("observe: expected {} coverage flags, one per row and level, found {}", scores.size() * k,
                       covered.size()));
  }
  if (!hashes.empty() && hashes.size() != scores.size()) {
    refuse(ErrorCode::kShapeMismatch,
           fmt::format("observe: expected {} hashes, one per row, found {}", scores.size(), hashes.size()));
  }
  expect_numbers(scores);
  std::shared_ptr<const Contents> left = without(batch, hashes);
  const std::uint64_t delay = issued_ - batch;
  observed_.make_room(contents.size());
  make_room(scores.size(), delay);
  // From here on nothing allocates memory, so nothing fails.
  record(issued, delay, scores, covered);
  observed_.add(contents);
  Issued& pending = pending_.find(batch)->second;
  pending.contents = std::move(left);
  pending.rows -= scores.size();
  if (pending.rows == 0) pending_.erase(batch);
}

void OnlineCalibration::observe(double score) {
  expect_numbers({&score, 1});
  const Issued issued = next_batch(1);
  make_room(1, 1);
  ++issued_;
  record(issued, 1, {&score, 1}, {});
}

/// Allocate the memory that `record` needs.
void OnlineCalibration::make_room(std::size_t rows, std::uint64_t delay) {
  for (LevelState& state : states_) {
    state.recent.make_room(std::min<std::uint64_t>(state.recent.size() + rows, window_rows_ + 1));
  }
  if (exchangeability_) exchangeability_->make_room(rows);
  if (method_ == OnlineMethod::kDecaying) return;
  // The mean delay moves towards that of the batch, so the capacity is at most the larger one. A score is added before
  // the oldest is removed.
  const std::uint64_t capacity = std::max(window_capacity(delay_), window_capacity(static_cast<double>(delay)));
  const std::size_t kept =
      scores_.size() + std::min<std::uint64_t>(rows, capacity - std::min(capacity, scores_.size()) + 1);
  scores_.make_room(kept);
  if (kept > sorted_.capacity()) sorted_.reserve(kept + kept / 2);
}

/// Record the scores of rows that were issued `delay` rows ago. make_room must precede it; it does not fail then.
void OnlineCalibration::record(const Issued& issued, std::uint64_t delay, std::span<const double> scores,
                               std::span<const std::uint8_t> covered) {
  const std::size_t k = levels_.size();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double score = internal::without_negative_zero(scores[i]);
    note_delay(delay);
    for (std::size_t j = 0; j < k; ++j) {
      const bool missed = score > issued.levels[j].q || issued.levels[j].empty;
      states_[j].misses_fixed += score > states_[j].fixed ? 1U : 0U;
      learn(j, missed, covered.empty() ? !missed : covered[i * k + j] != 0);
    }
    ++rows_;
    if (exchangeability_) exchangeability_->observe(score);
    if (method_ == OnlineMethod::kAdaptive) keep(score, scores.size() <= kFewRows);
  }
  if (scores.size() > kFewRows) sort_window();
}

/// Record the delay of an outcome: the number of rows issued since the start of its batch.
void OnlineCalibration::note_delay(std::uint64_t delay) {
  const auto rows = static_cast<double>(delay);
  delay_ = rows_ == 0 ? rows : delay_ + (rows - delay_) / static_cast<double>(window_rows_);
  slowest_ = std::max(slowest_, delay_);
  longest_delay_ = std::max(longest_delay_, delay);
}

void OnlineCalibration::learn(std::size_t j, bool missed, bool covered) {
  LevelState& state = states_[j];
  if (method_ == OnlineMethod::kDecaying) {
    const double alpha = levels_[j].complement().value();
    state.q += state.step * state.scale * decay(rows_, pace()) * ((missed ? 1 : 0) - alpha);
    state.q = internal::without_negative_zero(state.q);
  }
  state.misses += missed ? 1 : 0;
  state.covered += covered ? 1 : 0;
  state.note(covered, window_rows_);
}

/// Record whether a recent row is covered.
void OnlineCalibration::LevelState::note(bool is_covered, std::uint64_t window_rows) {
  recent.push_back(is_covered ? 0 : 1);
  recent_outside += is_covered ? 0 : 1;
  if (recent.size() <= window_rows) return;
  recent_outside -= recent.front();
  recent.pop_front();
}

/// Add a score to the window, and to the sorted window if it is maintained.
void OnlineCalibration::keep(double score, bool sorted) {
  scores_.push_back(score);
  if (sorted) sorted_.insert(std::ranges::upper_bound(sorted_, score), score);
  for (const std::uint64_t capacity = window_capacity(delay_); scores_.size() > capacity; scores_.pop_front()) {
    if (sorted) sorted_.erase(std::ranges::lower_bound(sorted_, scores_.front()));
  }
}

/// Make the sorted window again.
void OnlineCalibration::sort_window() {
  sorted_.resize(scores_.size());
  for (std::size_t i = 0; i < scores_.size(); ++i) sorted_[i] = scores_[i];
  std::ranges::sort(sorted_);
}

OnlineCoverage OnlineCalibration::coverage(std::size_t j) const {
  const LevelState& state = states_[j];
  return {.rows = rows_,
          .covered = state.covered,
          .covered_fixed = rows_ - state.misses_fixed,
          .recent_rows = state.recent.size(),
          .recent_covered = state.recent.size() - state.recent_outside};
}

// --- bytes
//
// In 64-bit words: magic, format, method, window, rows, number of levels, scores in the window; for each level its
// decimals and their number, step, the fixed quantile, q, scale, misses, fixed misses, then one bit for each of the
// recent rows, oldest first; the scores, oldest first; rows issued, mean delay, its greatest value, the greatest delay,
// pending batches; for each level the rows covered; for each pending batch its number, rows, and for each level q and
// whether the set is empty; the number of words of the state of the test of exchangeability, or 0, and these words; the
// number of words of the sketch of observed rows and these words; for each pending batch the number of its hashes and,
// if there are any, the limit, and for each hash, ascending, the hash and the number of rows left; a checksum over all.
// The test and the sketch have a format and a checksum of their own.

std::vector<std::byte> OnlineCalibration::serialise() const {
  const std::vector<std::byte> test = exchangeability_ ? exchangeability_->serialise() : std::vector<std::byte>();
  const std::vector<std::byte> observed = observed_.serialise();
  const std::size_t recent = std::min(rows_, window_rows_);
  const std::size_t k = levels_.size();
  std::size_t hashes = 0;  // the words of the hashes of pending batches
  for (const auto& [number, batch] : pending_) hashes += batch.contents ? 1 + 2 * batch.contents->left.size() : 0;
  WordWriter writer(kHeaderWords + k * (kLevelWords + bit_words(recent)) + scores_.size() + kBatchWords + k +
                    pending_.size() * (3 + 2 * k) + hashes + 2 +
                    (test.size() + observed.size()) / internal::kWordBytes);
  writer.put(kMagic);
  writer.put(kFormat);
  writer.put(static_cast<std::uint64_t>(method_));
  writer.put(window_rows_);
  writer.put(rows_);
  writer.put(std::uint64_t{k});
  writer.put(std::uint64_t{scores_.size()});
  for (std::size_t j = 0; j < k; ++j) {
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
  for (std::size_t i = 0; i < scores_.size(); ++i) writer.put(scores_[i]);
  put_batches(writer);
  put_words(writer, test);
  put_words(writer, observed);
  put_hashes(writer);
  return std::move(writer).finish();
}

void OnlineCalibration::put_hashes(WordWriter& writer) const {
  for (const auto& [number, batch] : pending_) {
    writer.put(std::uint64_t{batch.contents ? batch.contents->left.size() : 0});
    if (!batch.contents) continue;
    writer.put(batch.contents->limit);
    for (const RowSketch::Entry& entry : batch.contents->left) {
      writer.put(entry.hash);
      writer.put(entry.count);
    }
  }
}

void OnlineCalibration::put_batches(WordWriter& writer) const {
  writer.put(issued_);
  writer.put(delay_);
  writer.put(slowest_);
  writer.put(longest_delay_);
  writer.put(std::uint64_t{pending_.size()});
  for (const LevelState& state : states_) writer.put(state.covered);
  for (const auto& [number, batch] : pending_) {
    writer.put(number);
    writer.put(batch.rows);
    for (const IssuedLevel& level : batch.levels) {
      writer.put(level.q);
      writer.put(std::uint64_t{level.empty ? 1U : 0U});
    }
  }
}

/// Reads a state from bytes, field by field.
struct OnlineCalibration::Reader {
  WordReader words;
  OnlineCalibration online = {};
  std::uint64_t kept = 0;

  void check(bool holds, const char* what) const { words.check(holds, what); }
  [[nodiscard]] bool adaptive() const { return online.method_ == OnlineMethod::kAdaptive; }

  void read_header() {
    const std::uint64_t method = words.get();
    check(method <= 1, "unknown method");
    online.method_ = static_cast<OnlineMethod>(method);
    online.window_rows_ = words.get();
    online.rows_ = words.get();
    check(online.rows_ <= kMaxRows, "there are more than 2^63 rows");
    const std::uint64_t levels = words.get();
    kept = words.get();
    check(levels <= words.words_left() / kLevelWords && kept <= words.words_left(), "unexpected end of the bytes");
    online.states_.resize(levels);
  }

  void read_level(LevelState& state) {
    const std::uint64_t number = words.get();
    const std::uint64_t decimals = words.get();
    try {
      online.levels_.push_back(level_of(number, decimals));
    } catch (const Error& error) {
      words.refuse(error.what());
    }
    state.step = words.get_number();
    state.fixed = words.get_number();
    state.q = words.get_number();
    state.scale = words.get_number();
    check(!std::isnan(state.fixed) && !is_negative_zero(state.fixed), "a fixed quantile is NaN or -0");
    check(!is_negative_zero(state.q) && (adaptive() ? state.q == 0 : std::isfinite(state.q)), "a quantile is invalid");
    check(adaptive() ? std::bit_cast<std::uint64_t>(state.scale) == 0 : state.scale > 0 && std::isfinite(state.scale),
          "a scale is invalid");
    check(adaptive() || std::isfinite(state.fixed), "a fixed quantile is infinite");
    state.misses = words.get();
    state.misses_fixed = words.get();
    check(state.misses <= online.rows_ && state.misses_fixed <= online.rows_, "there are more misses than rows");
    state.covered = online.rows_ - state.misses;
    const std::uint64_t recent = std::min(online.rows_, online.window_rows_);
    check(bit_words(recent) <= words.words_left(), "unexpected end of the bytes");
    state.recent.make_room(recent + 1);
    check(words.get_bits(recent, [&](std::size_t, bool outside) { state.note(!outside, recent); }),
          "there are more recent rows than rows");
  }

  void read_scores() {
    check(kept <= words.words_left(), "unexpected end of the bytes");
    online.scores_.make_room(kept);
    for (std::uint64_t i = 0; i < kept; ++i) {
      const double score = words.get_number();
      check(!std::isnan(score) && !is_negative_zero(score), "a score is NaN or -0");
      online.scores_.push_back(score);
    }
    online.sort_window();
  }

  void read_batches() {
    online.issued_ = words.get();
    online.delay_ = words.get_number();
    online.slowest_ = words.get_number();
    online.longest_delay_ = words.get();
    const std::uint64_t batches = words.get();
    const double minimum = online.rows_ > 0 ? 1 : 0;
    check(online.issued_ <= kMaxRows && online.rows_ <= online.issued_, "more rows are observed than issued");
    check(online.longest_delay_ <= online.issued_ && minimum <= online.delay_ && online.delay_ <= online.slowest_ &&
              online.slowest_ <= static_cast<double>(online.longest_delay_) * (1 + kRounding) &&
              !is_negative_zero(online.delay_) && !is_negative_zero(online.slowest_),
          "the delays are invalid");
    check(online.rows_ > 0 || online.longest_delay_ == 0, "the delays are invalid");
    for (LevelState& state : online.states_) {
      state.covered = words.get();
      check(state.covered <= online.rows_, "more rows are covered than observed");
    }
    check(batches <= kMaxPendingBatches, "there are too many pending batches");
    for (std::uint64_t i = 0; i < batches; ++i) read_batch();
  }

  /// The words that put_words wrote.
  [[nodiscard]] std::vector<std::byte> read_words() {
    const std::uint64_t count = words.get();
    check(count <= words.words_left(), "unexpected end of the bytes");
    std::vector<std::byte> bytes(count * internal::kWordBytes);
    for (std::size_t i = 0; i < count; ++i) internal::store_word(bytes, i, words.get());
    return bytes;
  }

  void read_rows() {
    online.observed_ = RowSketch::deserialise(read_words());
    check(online.observed_.capacity() == kObservedCapacity && online.observed_.rows() <= online.issued_,
          "the observed rows do not match the stream");
    for (auto& [number, batch] : online.pending_) {
      const std::uint64_t hashes = words.get();
      if (hashes == 0) continue;
      check(hashes <= kBatchCapacity && 2 * hashes < words.words_left(), "unexpected end of the bytes");
      Contents contents{.limit = words.get()};
      for (std::uint64_t i = 0; i < hashes; ++i) {
        const RowSketch::Entry entry{.hash = words.get(), .count = words.get()};
        check(entry.hash <= contents.limit && (i == 0 || contents.left.back().hash < entry.hash) &&
                  entry.count <= online.issued_ - number,
              "the rows of a batch are invalid");
        contents.left.push_back(entry);
      }
      batch.contents = std::make_shared<const Contents>(std::move(contents));
    }
  }

  void read_test() {
    const std::vector<std::byte> bytes = read_words();
    if (bytes.empty()) return;
    online.exchangeability_ = ExchangeabilityMonitor::deserialise(bytes);
    check(online.exchangeability_->rows() == online.rows_ && !online.exchangeability_->ranks_by_group(),
          "the test of exchangeability does not match the stream");
  }

  void read_batch() {
    const std::uint64_t number = words.get();
    Issued batch{.rows = words.get()};
    const auto last = online.pending_.rbegin();
    check(last == online.pending_.rend() || number >= last->first + last->second.rows, "the batches are not in order");
    check(number < online.issued_ && batch.rows >= 1 && batch.rows <= online.issued_ - number,
          "a pending batch is invalid");
    for (std::size_t j = 0; j < online.levels_.size(); ++j) {
      const double q = words.get_number();
      const std::uint64_t empty = words.get();
      check(!std::isnan(q) && !is_negative_zero(q) && (adaptive() || std::isfinite(q)) &&
                (empty == 0 || (empty == 1 && adaptive() && q == -kInfinity)),
            "an issued quantile is invalid");
      batch.levels.push_back({.q = q, .empty = empty == 1});
    }
    online.pending_.emplace_hint(online.pending_.end(), number, std::move(batch));
  }

  /// Whether no sequence of rows can lead to this state.
  void check_whole() const {
    try {
      online.check_options();
    } catch (const Error& error) {
      words.refuse(error.what());
    }
    const std::uint64_t recent = std::min(online.rows_, online.window_rows_);
    check(adaptive() ? kept >= recent && kept <= online.window_capacity(online.delay_) : kept == 0,
          "the window has the wrong length");
    check(online.rows_pending() <= online.issued_ - online.rows_, "more rows are pending than were issued");
    for (std::size_t j = 0; j < online.states_.size(); ++j) {
      const LevelState& state = online.states_[j];
      check(state.recent_outside <= online.rows_ - state.covered && recent - state.recent_outside <= state.covered,
            "the recent misses do not match the total misses");
      if (!adaptive()) continue;
      // The bound of the class comment, up to rounding.
      const double alpha = online.levels_[j].complement().value();
      const auto delay = static_cast<double>(online.longest_delay_);
      const double min_step = state.step / std::max(1.0, delay / kBatchRows) * (1 - kRounding);
      const double owed = online.excess(j);
      check(owed >= -alpha / min_step - (1 - alpha) * delay - kRounding &&
                owed <= (1 - alpha) / min_step + alpha * delay + kRounding,
            "the number of misses is impossible for this number of rows");
    }
  }
};

OnlineCalibration OnlineCalibration::deserialise(std::span<const std::byte> bytes) {
  Reader reader{.words = WordReader(bytes, "OnlineCalibration::deserialise")};
  WordReader& words = reader.words;
  words.expect_header(kMagic, kFormat, "the state of an online calibration");
  words.verify_checksum();
  reader.read_header();
  for (LevelState& state : reader.online.states_) reader.read_level(state);
  reader.read_scores();
  reader.read_batches();
  reader.read_test();
  reader.read_rows();
  words.check(words.words_left() == 0, "unexpected bytes at the end");
  reader.check_whole();
  return std::move(reader.online);
}

}  // namespace widthwise
