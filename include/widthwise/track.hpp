#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <widthwise/exchangeability.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/model.hpp>
#include <widthwise/online.hpp>

namespace widthwise {

/// When the outcomes of the rows of a table become known. The delay is counted in batches on every interface.
struct TrackOptions {
  /// Number of rows issued together, at least 1; their outcomes are observed after the last of them is issued.
  std::uint64_t batch_size = 1;

  /// Number of further batches (not rows) issued before the outcomes of a batch are observed. With at least as many as
  /// there are batches, no interval is updated; see Tracker::warning.
  std::uint64_t delay = 0;
};

/// Simulates a service on a stream whose outcomes are already known: outcomes become available as the options specify,
/// and each row gets its interval from the outcomes available when its batch is issued.
///
/// A row without a score, because the outcome (NaN) or the prediction is missing, gets an interval and is not recorded.
/// If a call throws after it has changed something, also because memory ran out, the rows since the last `finish` are
/// discarded: tracker and online calibration are as before the first of them.
/// The model and the online calibration must outlive the tracker. Thread safety: none.
class Tracker {
 public:
  /// Throws kInvalidArgument for a batch_size of 0.
  Tracker(const Model& model, OnlineCalibration& online, const TrackOptions& options = {});
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  /// Write f(x) and the issued intervals of the next n rows in time order, with outcomes y (n), at the k levels of the
  /// online calibration (n x k each). Batches continue across calls.
  void track(const Rows& rows, std::span<const double> outcomes, std::span<double> predictions, MutableMatrixView lower,
             MutableMatrixView upper);

  /// End the current batch; the following rows start a new one.
  void end_batch();

  /// End the current batch and observe all remaining outcomes. Throws kBadData if some of the rows since the last call
  /// fitted the model, and kDuplicateRows if the stream observed some of them before.
  void finish();

  /// A warning if no outcome of the rows of the last `finish` was observed before their last batch was issued, so that
  /// none of their intervals is updated; else empty.
  [[nodiscard]] const std::string& warning() const { return warning_; }

 private:
  struct Batches;

  void close_batch();
  void observe_until(std::uint64_t left);
  template <class Change>
  void all_or_nothing(const Change& change);

  const Model& model_;
  OnlineCalibration& online_;
  TrackOptions options_;
  std::unique_ptr<Batches> batches_;
  std::optional<OnlineCalibration> before_;  // as after the last finish; empty after an exception
  std::string warning_;
};

/// Start a test that rows are exchangeable with the calibration rows of a model, within groups if it has groups. Throws
/// kTooFewRows for a model without calibration rows, and as the constructor of ExchangeabilityMonitor.
[[nodiscard]] ExchangeabilityMonitor monitor_of(const Model& model, const ExchangeabilityOptions& options = {});

/// Record the next n rows in time order, with outcomes y (n), or none of them after an exception. Rows without a score
/// are skipped.
void observe(ExchangeabilityMonitor& monitor, const Model& model, const Rows& rows, std::span<const double> outcomes);

}  // namespace widthwise
