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
#include <widthwise/train/progress.hpp>
#include <widthwise/train/trainer.hpp>

namespace widthwise {

/// What intervals are to be: even in coverage over x, narrow on average, or between.
/// - even: the same coverage everywhere (evenness 1 of the scale family)
/// - narrow: the smallest mean width; spends its misses where intervals are expensive (transform `affine`)
/// - a number in [0, 1]: the evenness of the scale family (docs/mathematics.md)
class Goal {
 public:
  [[nodiscard]] static Goal even() { return Goal(1, "even"); }
  /// Nearly even: on the fitting parts of real data most of the width that evenness costs came back, and the worst
  /// slabs were covered as well (experiments/NOTES.md).
  [[nodiscard]] static Goal by_default() { return evenness(0.85); }
  [[nodiscard]] static Goal narrow() { return Goal(0, "narrow"); }
  /// Throws kInvalidArgument outside [0, 1].
  [[nodiscard]] static Goal evenness(double value);
  /// Read "even", "narrow" or a number.
  [[nodiscard]] static Goal parse(std::string_view text);

  [[nodiscard]] const std::string& to_string() const { return text_; }
  [[nodiscard]] double evenness() const { return evenness_; }
  [[nodiscard]] bool is_narrow() const { return text_ == "narrow"; }

 private:
  Goal(double evenness, std::string text) : evenness_(evenness), text_(std::move(text)) {}

  double evenness_;
  std::string text_;
};

/// A goal with the rule and the objective that serve it.
struct ResolvedGoal {
  Goal goal;
  ConformalRule rule;
  std::shared_ptr<const Objective> objective;    ///< null when the transform has no parameters to train
  std::optional<LevelWindow> level_window = {};  ///< levels that training focuses on; empty: all alike
};

/// No goal: Goal::by_default(), or narrow with a transform that has no evenness. The transform auto is exp, or affine
/// for the goal narrow. Throws kInvalidArgument for a goal that the transform cannot serve.
[[nodiscard]] ResolvedGoal resolve_goal(const std::optional<Goal>& goal, const std::string& transform,
                                        Sides sides = Sides::kOne,
                                        const std::optional<LevelWindow>& window = std::nullopt);

/// The unit for residuals of this typical size, the mean |y - f(x)|: the power of two nearest to it, so that dividing
/// by it rounds nothing.
[[nodiscard]] double unit_near(double typical_residual);

struct FitOptions {
  std::optional<Goal> goal = std::nullopt;  ///< empty: Goal::by_default(), or narrow with a transform without evenness
  std::string score_transform = "auto";     ///< auto: exp, or affine for the goal narrow; else a name of make_transform
  /// Empty: one, or for the goal narrow two if that is narrower on the hold-out by more than chance.
  std::optional<Sides> sides = std::nullopt;
  /// Levels to train for; empty: for the goal narrow LevelWindow::around(levels), else all alike.
  std::optional<LevelWindow> level_window = std::nullopt;
  std::vector<Level> levels = {0.9};  ///< what the model predicts when nobody says
  Guarantee guarantee = {};           ///< of the model's intervals
  /// Of the rows, set aside at random for the calibration; 0 for none. Rows with cv_predictions never calibrate.
  double calibration_size = 0.25;
  std::size_t folds = 5;            ///< of cross-fitting the base model
  double holdout_fraction = 0.2;    ///< of the fitting rows, for early stopping and the report
  OutcomeRange outcome_range = {};  ///< what is known of y; an outcome outside is an error
  bool may_be_exact = false;        ///< the predictions are known to be out of sample, even if all equal their outcome
  bool compare = true;              ///< also train the other end of the dial, for the report
  std::uint64_t seed = 0;

  /// All of it in words: equal for equal options.
  [[nodiscard]] std::string to_string() const;
};

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
