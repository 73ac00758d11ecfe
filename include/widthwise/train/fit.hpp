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
#include <widthwise/train/progress.hpp>
#include <widthwise/train/trainer.hpp>

namespace widthwise {

/// A goal with the rule and the objective that serve it.
struct ResolvedGoal {
  Goal goal;
  ConformalRule rule;
  std::shared_ptr<const Objective> objective;    ///< null when the transform has no parameters to train
  std::optional<LevelWindow> level_window = {};  ///< levels that training focuses on; empty: all alike
};

/// The conformity score and the constants of its transform.
struct ScoreOptions {
  Score score = Score::kAbsolute;
  TransformOptions transform = {};
};

/// No goal: Goal::by_default(), or narrow with a transform that has no evenness. The transform auto is exp, or affine
/// for the goal narrow. Throws kInvalidArgument for a goal that the transform cannot serve.
[[nodiscard]] ResolvedGoal resolve_goal(const std::optional<Goal>& goal, const std::string& transform,
                                        Sides sides = Sides::kOne,
                                        const std::optional<LevelWindow>& window = std::nullopt,
                                        const ScoreOptions& score = {});

/// The unit for residuals of this typical size, the mean |y - f(x)|: the power of two nearest to it, so that dividing
/// by it rounds nothing.
[[nodiscard]] double unit_near(double typical_residual);

/// A table to fit. Without predictions a base model is trained; of the two kinds one may be given.
///
/// The intervals are valid when the model that predicts new rows also predicted the calibration rows, without having
/// seen them. A cross-validated prediction is by a fold's model, which is not the one that is deployed: residuals of
/// the two are not exchangeable, so these predictions train the localizer and calibrate nothing.
struct FitTable {
  MatrixView x;                         ///< n x features; NaN is a missing value
  std::span<const double> y;            ///< n, finite
  std::span<const double> predictions;  ///< n, by the very model that will be deployed, which has not seen the rows
  std::vector<std::string> features;    ///< their names
  std::string target;
  std::string prediction;       ///< name of the column of predictions; in later tables, of the deployed model's
  std::uint64_t first_row = 0;  ///< number of the first row, for the calibration
  std::span<const std::uint64_t> row_numbers = {};  ///< n, each once in the world; or empty: on from first_row
  std::span<const double> cv_predictions = {};  ///< n, cross-validated: all rows train, Model::calibrate has to follow
};

/// What one goal gives on the hold-out at the first of FitOptions::levels: calibrated on one half, measured on the
/// other, both ways.
struct GoalReport {
  std::string goal;
  std::string score_transform;
  double mean_width = 0;
  double coverage = 0;
  std::optional<Proportion> worst_slab = {};  ///< coverage in the worst slab; empty when too few rows measure it
  double infinite = 0;                        ///< share of infinite intervals
  double empty = 0;                           ///< share of empty conformal sets, returned as the prediction alone
  std::size_t iterations = 0;
};

struct FitReport {
  std::uint64_t fit_rows = 0;
  std::uint64_t holdout_rows = 0;
  std::uint64_t calibration_rows = 0;
  GoalReport chosen;
  std::optional<GoalReport> other;  ///< the other end of the dial
  GoalReport fixed;                 ///< one width for all rows
  double base_error = 0;            ///< mean |y - f(x)| out of sample
  std::vector<std::string> warnings;

  /// What the goal chosen costs and gives beside one width for all rows and the other end of the dial.
  [[nodiscard]] std::string summary() const;
};

struct FitResult {
  Model model;
  FitReport report;
};

/// Fit a model: set calibration rows aside, cross-fit the base model (when there are no predictions), train the
/// localizer on out-of-sample residuals, calibrate. No fit ever sees a calibration row.
/// `base` is needed when the table has no predictions, `localizer` when the transform has parameters.
///
/// With several workers, the table holds the rows of this worker, row numbers are unique over all of them, and the
/// trainers are of the same communicator (TrainingContext). All workers get the same model, to the last bit. Which rows
/// calibrate, which are held out and which fold a row is in follow from its number, whoever holds it.
[[nodiscard]] FitResult fit(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
                            const FitOptions& options, const ProgressCallback& progress = {},
                            const Communicator* communicator = nullptr);

/// Compare the residuals that trained with those of rows that are to calibrate: the one-sided Smirnov distances in both
/// directions, with the bound that chance exceeds with a probability of at most `failure`.
struct InSampleCheck {
  double distance = 0;  ///< by which the residuals that trained are smaller: were they in-sample?
  /// By which the calibration residuals are smaller: are they in-sample? 0 for models trained by folds, whose residuals
  /// are larger than those of the deployed model anyway.
  double distance_below = 0;
  double bound = 0;
  [[nodiscard]] bool suspicious() const { return distance > bound; }
  [[nodiscard]] bool calibration_suspicious() const { return distance_below > bound; }

  /// What to tell people; empty when neither is suspicious.
  [[nodiscard]] std::string warning() const;
};
[[nodiscard]] InSampleCheck check_in_sample(const Model& model, std::span<const double> fresh_residuals,
                                            double failure = 1e-6);

}  // namespace widthwise
