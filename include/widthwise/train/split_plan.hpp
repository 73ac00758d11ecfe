#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace widthwise {

/// Rows of a table: an estimator is fitted to `train` and predicts `test`.
struct Fold {
  std::vector<std::size_t> train;  ///< numbers of rows
  std::vector<std::size_t> test;   ///< likewise
};

/// The rows of one calibrated model: those of the whole fit or, with cross-calibration, of one of its folds. Each row
/// is predicted at most once.
struct SplitPart {
  /// Rows that the deployed estimator is fitted to: ascending, or in the order of time; with cross-calibration in
  /// random order, because the guarantee allows no other dependence on the order of the table.
  std::vector<std::size_t> fitting;
  std::vector<std::size_t> calibration;  ///< rows that the deployed estimator predicts, and nothing is fitted to
  /// Of one split: rows that the deployed estimator predicts, and whose errors train the localizer; no folds then.
  std::vector<std::size_t> learning = {};
  /// Of the fitting rows, for out-of-sample predictions. Rows in no test fold train no localizer. With neither folds
  /// nor learning rows nothing is learnt from the errors, and the deployed estimator predicts the rows it is fitted to.
  std::vector<Fold> folds;

  /// The rows that are predicted for the localizer: the learning rows, or the fitting rows in test folds, in their
  /// order.
  [[nodiscard]] std::vector<std::size_t> predicted(std::size_t rows) const;

  /// The fitting and the learning rows.
  [[nodiscard]] std::vector<std::size_t> seen() const;
};

/// Which rows of a table fit, are predicted out of sample and calibrate, for an estimator that is fitted elsewhere: the
/// same rows as for a base model that is trained here.
struct SplitPlan {
  std::vector<SplitPart> parts;  ///< one, or one per fold of cross-calibration
  /// n numbers, equal for copies of one row; empty if rows are separate observations, or if copies have no part.
  std::vector<std::int64_t> copies = {};
  std::string warning = {};  ///< about the copies; else empty
};

/// Predictions of an estimator that was fitted by a plan.
struct PlannedPredictions {
  const SplitPlan& plan;  ///< borrowed
  /// For each part n predictions, or n x 2 of quantiles; rows that are not predicted may have any value.
  std::vector<std::span<const double>> values;
};

}  // namespace widthwise
