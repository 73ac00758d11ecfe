#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <widthwise/conformal_predictor.hpp>
#include <widthwise/diagnostics.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/model.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/train/communicator.hpp>
#include <widthwise/train/fit_options.hpp>
#include <widthwise/train/split_plan.hpp>
#include <widthwise/train/trainer.hpp>

namespace widthwise {

/// A goal with its conformal rule and training objective.
struct ResolvedGoal {
  Goal goal;                                     ///< the given goal, or the default of the transform
  ConformalRule rule;                            ///< with the transform and sides to train
  std::shared_ptr<const Objective> objective;    ///< null if the transform has no parameters
  std::optional<LevelWindow> level_window = {};  ///< levels that training focuses on; empty: all
};

/// The conformity score and the constants of its transform.
struct ScoreOptions {
  Score score = Score::kAbsolute;   ///< of a residual, before the transform
  TransformOptions transform = {};  ///< constants of erc and mixture
};

/// Without a goal: Goal::by_default(), or narrow for a transform without evenness. The transform auto is exp, or affine
/// for the goal narrow; for even, fit may choose spline instead. Throws kInvalidArgument for a goal that the transform
/// does not support.
[[nodiscard]] ResolvedGoal resolve_goal(const std::optional<Goal>& goal, const std::string& transform,
                                        Sides sides = Sides::kOne,
                                        const std::optional<LevelWindow>& window = std::nullopt,
                                        const ScoreOptions& score = {});

/// The unit for residuals of this typical size, the mean |y - f(x)|: the nearest power of two, so that division by it
/// is exact.
[[nodiscard]] double unit_near(double typical_residual);

/// A table to fit. A base model is trained unless one of the two kinds of predictions is given.
///
/// The intervals are valid if the model that predicts new rows also predicted the calibration rows and was not trained
/// on them. Cross-validated predictions are made by the models of the folds instead of the deployed model. Residuals of
/// two models are not exchangeable, so these predictions train the localizer but do not calibrate.
struct FitTable {
  Rows rows;  ///< with predictions of the model that will be deployed and was not trained on them, if any
  std::span<const double> y;          ///< n, finite
  std::vector<std::string> features;  ///< their names
  std::string target;                 ///< name of the column of outcomes; may be empty
  std::string prediction = {};        ///< of the column of predictions; new tables have the deployed model's there
  /// Name of the column of upper quantiles, or empty. If not, predictions of either kind are n x 2, row by row: a lower
  /// and an upper quantile, such as those for 5% and 95%. f(x) is the centre of both.
  std::string upper_prediction = {};
  RoleNames columns = {};                           ///< names of the columns by role
  std::vector<Labels> categories = {};              ///< of the features, as in ModelParts; x holds their numbers
  std::uint64_t first_row = 0;                      ///< number of the first row, for the calibration
  std::span<const std::uint64_t> row_numbers = {};  ///< n, unique over all workers; empty: consecutive from first_row
  std::span<const double> cv_predictions = {};      ///< n; all rows train, so call Model::calibrate afterwards
  /// m x features: rows of the population to predict, without outcomes, to learn likelihood ratios from; none: m = 0
  MatrixView shift_to = {};
  /// n numbers, equal for copies of one row, or empty: fit compares the rows by FitOptions::duplicates. No split
  /// separates copies, and the calibration counts one of them. One process only.
  std::span<const std::int64_t> copies = {};
};

/// Width and coverage of one goal on the hold-out at the first of FitOptions::levels. Each half is measured after
/// calibrating with the other half.
struct GoalReport {
  std::string goal;                           ///< "even", "narrow", the evenness as a number, or "fixed" for one width
  std::string score_transform;                ///< name for make_transform, never "auto"
  double mean_width = 0;                      ///< in the unit of y; +infinity if any interval is infinite
  double finite_mean_width = 0;               ///< mean width of the finite intervals; NaN if there are none
  double coverage = 0;                        ///< share of outcomes in their interval
  std::optional<Proportion> worst_slab = {};  ///< coverage in the worst slab; empty if there are too few rows
  double infinite = 0;                        ///< share of infinite intervals
  double empty = 0;                           ///< share of empty conformal sets, returned as the prediction alone
  std::size_t iterations = 0;                 ///< rounds or epochs chosen on the hold-out; 0 if nothing was trained
};

/// How well a classifier tells the rows of FitTable::shift_to from the fitting rows.
struct ShiftReport {
  std::uint64_t rows = 0;  ///< of shift_to
  double auc = 0.5;        ///< area under the ROC curve of the hold-out; 0.5: no shift, 1: no overlap
};

/// The fit report. Numbers of rows are over all workers.
struct FitReport {
  /// Rows for base model and localizer, including the hold-out; all rows with cross-calibration.
  std::uint64_t fit_rows = 0;
  std::uint64_t holdout_rows = 0;      ///< rows of fit_rows for early stopping and for the figures below
  std::uint64_t calibration_rows = 0;  ///< rows of the calibration set; all rows with cross-calibration
  GoalReport chosen;                   ///< the goal of the model, on the hold-out
  std::optional<GoalReport> other;     ///< the opposite goal
  GoalReport fixed;                    ///< one width for all rows
  double base_error = 0;               ///< mean |y - f(x)|, out of sample or of the predictions as given
  std::uint64_t effective_rows = 0;    ///< effective sample size of the calibration rows; their number without weights
  std::optional<ShiftReport> shift = {};  ///< if weights are learnt
  std::vector<std::string> warnings;      ///< sentences for the user; empty if there is nothing to report
  std::string few_rows = {};              ///< recommends cross-calibration for few rows; else empty
  std::string outcome_hints = {};         ///< recommends a range and a step that the outcomes suggest; else empty

  /// Set few_rows if split calibration of few rows was chosen and cross-calibration is `possible`.
  void advise_cross(const FitOptions& options, bool possible);

  /// Whether the hold-out has enough rows for finite intervals: half of them calibrate the other half.
  [[nodiscard]] bool widths_measured() const { return chosen.infinite < 1 || fixed.infinite < 1; }

  /// Width and coverage of the chosen goal, compared with one width for all rows and with the opposite goal.
  [[nodiscard]] std::string summary() const;
};

/// A fitted model and its fit report.
struct FitResult {
  Model model;       ///< calibrated, unless FitOptions::calibration_size is 0 or predictions are cross-validated
  FitReport report;  ///< measured on the hold-out
};

/// Fewer rows are better cross-calibrated (docs/few-rows.md).
inline constexpr std::uint64_t kFewRows = 300;

/// Fit a model: set calibration rows aside, cross-fit the base model (if there are no predictions), train the localizer
/// on out-of-sample residuals, calibrate. No model is trained on a calibration row. With cross-calibration, this is
/// done once per fold, with the rows outside the fold to fit and those of the fold to calibrate. `base` is needed if
/// the table has no predictions, `localizer` if the transform has parameters, `shift` if the table has rows of
/// shift_to: it trains a classifier with an objective for one parameter. One process only.
///
/// With several workers, the table contains the rows of this worker, row numbers are unique over all workers, and the
/// trainers use the same communicator (TrainingContext). All workers return the same model, to the last bit. The split
/// of a row follows from its number, or from that of its cluster, and does not depend on which worker has the row.
[[nodiscard]] FitResult fit(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
                            const FitOptions& options, const ProgressCallback& progress = {},
                            const Communicator* communicator = nullptr, const LocalizerTrainer* shift = nullptr);

/// Plan the fit of an estimator that is trained elsewhere: the rows are split as `fit` splits them, and copies and few
/// rows are treated as there. Throws what `fit` throws for columns that cannot be split or calibrated.
[[nodiscard]] SplitPlan plan_splits(const FitTable& table, const FitOptions& options);

/// Plan with these folds of the rows: those of cross-fitting, of the fitting rows; with cross-calibration, those that
/// calibrate. Without folds, the plan names the rows to split. Throws kInvalidArgument for a fold that predicts a row
/// it trains on, separates rows of one cluster or, with cross-calibration, copies; for folds of cross-calibration that
/// are no partition, or train on fewer than all other rows. Copies of test rows of cross-fitting do not train.
[[nodiscard]] SplitPlan plan_splits(const FitTable& table, const FitOptions& options, std::vector<Fold> folds);

/// Fit the intervals of an estimator that was fitted by a plan of the same table and options, and calibrate. The
/// table has no predictions.
[[nodiscard]] FitResult fit(const FitTable& table, const PlannedPredictions& predictions,
                            const LocalizerTrainer* localizer, const FitOptions& options,
                            const ProgressCallback& progress = {}, const LocalizerTrainer* shift = nullptr);

/// A warning if the weights of a model leave so small an effective sample size that coverage varies widely from
/// calibration set to calibration set; else empty.
[[nodiscard]] std::string weights_warning(const Model& model);

}  // namespace widthwise
