#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <widthwise/matrix_view.hpp>
#include <widthwise/model.hpp>
#include <widthwise/online.hpp>

namespace widthwise {

/// When the outcomes of a table's rows are known.
struct TrackOptions {
  /// Rows that are issued together, at least 1; their outcomes are observed after the last of them is issued.
  std::uint64_t batch_size = 1;

  /// Batches that are issued in between before the outcomes of a batch are observed.
  std::uint64_t delay = 0;
};

/// Follows a stream whose outcomes are at hand, as a service would have that learnt of them only when the options say:
/// each row gets its interval from the outcomes known when its batch was issued.
///
/// A row without a score, for want of an outcome (NaN) or a prediction, gets its interval and is not recorded.
/// The model and the online calibration must outlive the tracker. Thread safety: none.
class Tracker {
 public:
  /// Throws kInvalidArgument for a batch_size of 0.
  Tracker(const Model& model, OnlineCalibration& online, const TrackOptions& options = {});
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  /// Of the next n rows in the order of time, with outcomes y (n), write f(x) and the intervals issued at the k levels
  /// of the online calibration (n x k each). A batch goes on from one call to the next.
  void track(const ModelRows& rows, std::span<const double> outcomes, std::span<double> predictions,
             MutableMatrixView lower, MutableMatrixView upper);

  /// End the batch, whatever its size: the rows after this are another.
  void end_batch();

  /// End the batch and observe all outcomes that are still to come.
  void finish();

 private:
  struct Batches;

  void observe_until(std::uint64_t left);

  const Model& model_;
  OnlineCalibration& online_;
  TrackOptions options_;
  std::unique_ptr<Batches> batches_;
};

}  // namespace widthwise
