#include <widthwise/track.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/row_checks.hpp>

#include "base/message.hpp"
#include "stream/observed_rows.hpp"

namespace widthwise {
namespace {

std::string batches_text(std::uint64_t count) { return fmt::format("{} {}", count, count == 1 ? "batch" : "batches"); }

/// The warning of rows of `count` batches whose outcomes all arrived too late.
std::string not_updated(std::uint64_t delay, std::uint64_t count) {
  const std::string late =
      delay == 0 ? "; use a smaller batch size"
                 : fmt::format(", and outcomes arrive {} later; use a shorter delay, which counts batches, not rows",
                               batches_text(delay));
  return fmt::format("no outcome was observed before the last batch, so no interval was updated: these rows are {}{}",
                     batches_text(count), late);
}

}  // namespace

struct Tracker::Batches {
  struct Issued {
    std::uint64_t number;
    internal::ObservedRows rows;
  };

  std::uint64_t open_rows = 0;  // including rows that are not recorded
  internal::ObservedRows open = {};
  std::deque<Issued> issued = {};

  // Since the last finish:
  std::uint64_t count = 0;  // batches
  bool observed = false;    // whether an outcome was observed before the last batch was issued
  RowSketch rows = RowSketch();

  /// Discard all rows, without allocating memory.
  void clear() {
    open_rows = 0;
    open = {};
    issued.clear();
    count = 0;
    observed = false;
    rows = RowSketch();
  }
};

Tracker::Tracker(const Model& model, OnlineCalibration& online, const TrackOptions& options)
    : model_(model), online_(online), options_(options), batches_(std::make_unique<Batches>()), before_(online) {
  if (const std::string refusal = model.scheme().refusal(Choice::kStream); !refusal.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "Tracker: " + refusal);
  }
  if (options.batch_size >= 1) return;
  throw Error(ErrorCode::kInvalidArgument, "Tracker: expected a batch_size of at least 1, found 0");
}

Tracker::~Tracker() = default;

/// Run `change`; if it throws, discard the rows since the last finish.
template <class Change>
void Tracker::all_or_nothing(const Change& change) {
  if (!before_) before_ = online_;
  try {
    change();
  } catch (...) {
    online_ = *std::move(before_);
    before_.reset();
    batches_->clear();
    throw;
  }
}

void Tracker::track(const Rows& rows, std::span<const double> outcomes, std::span<double> predictions,
                    MutableMatrixView lower, MutableMatrixView upper) {
  const std::size_t n = rows.x.rows();
  const std::size_t k = online_.levels().size();
  if (predictions.size() != n || lower.rows() != n || upper.rows() != n) {
    throw internal::make_error(ErrorCode::kShapeMismatch,
                               "Tracker: expected predictions and bounds for {} rows, found {}, {} and {}", n,
                               predictions.size(), lower.rows(), upper.rows());
  }
  internal::require_no_infinite(outcomes, "Tracker");
  model_.check_outcomes(outcomes);
  std::vector<double> scores(n);
  model_.scores(rows, outcomes, scores);
  std::vector<std::uint64_t> hashes(n);
  RowHasher(model_.parts().features).hash(rows.x, outcomes, hashes);
  internal::keep_scored(scores, hashes);
  std::vector<double> quantiles(k);
  all_or_nothing([&] {
    batches_->rows.add(hashes);
    for (std::size_t first = 0; first < n;) {
      const std::size_t count = std::min<std::uint64_t>(options_.batch_size - batches_->open_rows, n - first);
      const MutableMatrixView low = lower.slice(first, count);
      const MutableMatrixView high = upper.slice(first, count);
      // No outcome is observed while a batch is open, so all of its rows get the same quantiles.
      online_.quantiles(quantiles);
      model_.intervals_at(rows.slice(first, count), {quantiles.data(), count, k, 0}, predictions.subspan(first, count),
                          low, high);
      batches_->open.add(std::span(scores).subspan(first, count), outcomes.subspan(first, count), low, high);
      first += count;
      batches_->open_rows += count;
      if (batches_->open_rows == options_.batch_size) close_batch();
    }
  });
}

void Tracker::end_batch() {
  all_or_nothing([&] { close_batch(); });
}

void Tracker::close_batch() {
  batches_->open_rows = 0;
  internal::ObservedRows rows = std::exchange(batches_->open, {});
  if (rows.scores.empty()) return;
  const std::uint64_t number = online_.issue(rows.scores.size());
  batches_->observed = before_ && online_.rows() > before_->rows();
  ++batches_->count;
  batches_->issued.push_back({number, std::move(rows)});
  observe_until(options_.delay);
}

void Tracker::finish() {
  all_or_nothing([&] {
    close_batch();
    observe_until(0);
    const RowSketch rows = std::exchange(batches_->rows, RowSketch());
    const std::uint64_t count = std::exchange(batches_->count, 0);
    require_new_rows(model_, rows, RowSketch(), "");
    before_->require_unobserved(rows);
    online_.add_observed(rows);
    // A stream that is resumed with one batch per call is updated between the calls.
    const bool first = options_.delay > 0 || (before_->rows() == 0 && rows.rows() > 1);
    std::string warning = first && count > 0 && !batches_->observed ? not_updated(options_.delay, count) : "";
    OnlineCalibration after = online_;
    *before_ = std::move(after);
    warning_ = std::move(warning);
  });
}

void Tracker::observe_until(std::uint64_t left) {
  for (auto& issued = batches_->issued; issued.size() > left; issued.pop_front()) {
    const Batches::Issued& batch = issued.front();
    online_.observe(batch.number, batch.rows.scores, batch.rows.covered);
  }
}

ExchangeabilityMonitor monitor_of(const Model& model, const ExchangeabilityOptions& options) {
  if (const std::string refusal = model.scheme().refusal(Choice::kOrderTest); !refusal.empty()) {
    throw Error(ErrorCode::kInvalidArgument, refusal);
  }
  const Calibration& calibration = model.parts().calibration;
  if (calibration.rows_kept() == 0) {
    throw Error(ErrorCode::kTooFewRows,
                "the model has no calibration rows to compare rows in time order with; calibrate it first");
  }
  return ExchangeabilityMonitor(calibration, options);
}

void observe(ExchangeabilityMonitor& monitor, const Model& model, const Rows& rows, std::span<const double> outcomes) {
  std::vector<double> scores(rows.x.rows());
  model.scores(rows, outcomes, scores);
  const auto group_of = [&](std::size_t i) { return rows.groups.empty() ? std::int64_t{0} : rows.groups[i]; };
  std::map<std::int64_t, std::size_t> rows_of;
  for (std::size_t i = 0; i < scores.size(); ++i) rows_of[group_of(i)] += std::isnan(scores[i]) ? 0U : 1U;
  for (const auto& [group, count] : rows_of) monitor.make_room(count, group);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isnan(scores[i])) monitor.observe(scores[i], group_of(i));
  }
}

}  // namespace widthwise
