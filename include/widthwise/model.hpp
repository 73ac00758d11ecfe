#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/conformal_predictor.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/online.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/row_sketch.hpp>
#include <widthwise/rows.hpp>
#include <widthwise/schemes.hpp>

namespace widthwise {

/// The note of a model that states which predictions trained it, and its value for cross-validated predictions, which
/// do not calibrate.
inline constexpr const char* kTrainedWith = "trained_with";
inline constexpr const char* kCrossValidated = "cross-validated predictions";  ///< see kTrainedWith

class Model;

/// The hash of a cluster in ModelParts::fit_clusters: a bijection, so that clusters are confused only if their labels
/// have the same number.
[[nodiscard]] std::uint64_t cluster_hash(std::int64_t cluster);

namespace internal {
class RowPredictor;
}  // namespace internal

/// Maximum number of folds of a cross-calibrated model. A prediction evaluates all of their models.
inline constexpr std::size_t kMaxFolds = 1000;

/// The column of the predictions of one fold model, if every fold has its own: "y_pred.3".
[[nodiscard]] std::string fold_prediction(const std::string& prediction, std::size_t fold);

/// The contents of a model file.
///
/// A cross-calibrated model (CV+, and jackknife+ with one row per fold) has `folds`. Each fold is a complete model that
/// was fitted without the rows of its fold and is calibrated with these rows. The model itself then has no base model,
/// localizer or calibration; its rule is that of the first fold, for information.
struct ModelParts {
  std::vector<std::string> features = {};  ///< names of the columns of x, in order; unique, not empty
  std::vector<Labels> categories = {};     ///< of each feature, none of a number; or empty: all are numbers
  std::string target = {};                 ///< name of the column of outcomes; may be empty
  std::string prediction = {};             ///< name of the column of f(x); empty if `base` predicts
  /// Name of the column of upper quantiles, if `prediction` is that of lower quantiles; else empty. f(x) is then the
  /// centre of both, as it is for a base model with two outputs.
  std::string upper_prediction = {};
  RoleNames columns = {};                             ///< names of the columns by role that later rows have as well
  ClusterForm cluster_coverage = ClusterForm::kRows;  ///< what counts once, if there are clusters
  std::uint64_t max_cluster_size = 0;  ///< number of rows that a new cluster has at most, as declared; 0: unknown
  /// Number of rows of the largest cluster of the training rows, in one group if there are groups; 0: unknown.
  std::uint64_t fit_cluster_size = 0;
  /// Of the clusters that the base model, the localizer or the given predictions were fitted on, each as often as it
  /// has rows (cluster_hash); empty if unknown. These clusters do not calibrate.
  RowSketch fit_clusters = RowSketch();
  std::uint64_t pool_groups = 0;                  ///< groups with fewer calibration rows are pooled; 0: none
  std::shared_ptr<const RowFunction> shift = {};  ///< x -> log of the likelihood ratio; null if it is not learnt
  std::shared_ptr<const RowFunction> base = {};   ///< x -> f(x) or two quantiles, or null if predictions are given
  /// (x, f(x)) -> parameters; with two quantiles, (x, half their distance, f(x)); null if the rule has none.
  std::shared_ptr<const RowFunction> localizer = {};
  ConformalRule rule;                 ///< maps scores to intervals and back, in units
  double unit = 1;                    ///< divisor of y and f(x) before the rule is applied; a power of two
  OutcomeSpace outcome_space = {};    ///< what y can be; intervals are clipped to its range and rounded to its step
  std::vector<Level> levels = {0.9};  ///< default levels of predictions; at least one, distinct
  Calibration calibration = {};       ///< scores in units; with weights if there is a column of them or `shift`
  Guarantee guarantee = {};           ///< guarantee of intervals and quantiles; p-values and streams have their own
  std::optional<OnlineCalibration> online = {};          ///< state of the tracked stream, scores in units
  std::vector<double> fit_residuals = {};                ///< quantiles of |y - f(x)| over the training rows, ascending
  std::uint64_t fit_rows = 0;                            ///< number of training rows
  RowSketch fit_sketch = RowSketch();                    ///< of the training rows; empty if unknown
  RowSketch calibration_sketch = RowSketch();            ///< of the rows in `calibration`; empty if unknown
  std::map<std::string, std::string> notes = {};         ///< how it was made: goal, seed, engines; for information only
  std::vector<std::shared_ptr<const Model>> folds = {};  ///< 2 to kMaxFolds, of a cross-calibrated model; else empty
};

/// The prediction of one row: f(x), or a lower and an upper quantile.
struct RowPrediction {
  /// The one prediction f(x), for models without quantiles.
  RowPrediction(double f) : lower(f) {}  // NOLINT(google-explicit-constructor): most predictions are one number
  /// Both quantiles, for models that read two prediction columns.
  RowPrediction(double lower_quantile, double upper_quantile) : lower(lower_quantile), upper(upper_quantile) {}

  double lower;                      ///< f(x), or the lower quantile if there is an upper one
  std::optional<double> upper = {};  ///< upper quantile; empty if `lower` is f(x)
};

/// The prediction f(x) of one row and its interval.
struct PredictedInterval {
  double prediction = 0;                                    ///< f(x); the centre of two quantiles
  double lower = -std::numeric_limits<double>::infinity();  ///< lower bound; -infinity if none is valid
  double upper = std::numeric_limits<double>::infinity();   ///< upper bound; infinity if none is valid
};

/// A complete model: base model, localizer, rule and calibration. Predicts any number of rows in constant memory.
///
/// The unit is a power of two between 2^-500 and 2^500, so dividing by it is exact, except that values below 2^-1022
/// units become 0. A prediction that is not finite, also after dividing, gets an infinite interval.
///
/// Invariant: the parts are consistent. Thread safety: full; immutable.
class Model {
 public:
  /// Throws kShapeMismatch, kInvalidArgument or kNotFinite for inconsistent parts.
  explicit Model(ModelParts parts);

  /// Combine calibrated models of folds to a cross-calibrated model; `fit_rows` is the sketch of all rows. Fold k reads
  /// its predictions, if it needs any, from the column `prediction`, or from fold_prediction(prediction, k). Throws
  /// like the constructor.
  [[nodiscard]] static Model of_folds(std::vector<Model> folds, const std::string& prediction, RowSketch fit_rows);

  [[nodiscard]] const ModelParts& parts() const { return parts_; }  ///< as given; valid as long as the model
  [[nodiscard]] bool needs_predictions() const;  ///< whether rows need predictions: there is no base model

  /// How calibration rows count for a new row; valid as long as the model.
  [[nodiscard]] const CalibrationScheme& scheme() const { return *scheme_; }

  /// What the width of intervals depends on: CalibrationScheme::units.
  [[nodiscard]] std::uint64_t calibration_rows() const { return scheme_->units(parts_.calibration); }

  /// The guarantee of intervals with its conditions. Streams (ModelParts::online) have their own.
  [[nodiscard]] GuaranteeStatement guarantee_statement() const { return scheme_->guarantee(parts_.levels.front()); }

  /// The law of the covered count of rows of these groups (n, or empty; those of quantile_group).
  [[nodiscard]] CalibrationRanks law(const Level& level, std::span<const std::int64_t> row_groups = {}) const {
    return scheme_->law(parts_.calibration, level, row_groups);
  }

  /// Whether f(x) is the centre of a lower and an upper quantile.
  [[nodiscard]] bool predicts_quantiles() const;

  /// The columns of predictions that rows need: none with a base model, else one, two of quantiles, or one per fold.
  [[nodiscard]] std::vector<std::string> prediction_columns() const;
  /// Number of prediction_columns.
  [[nodiscard]] std::size_t prediction_count() const;

  /// The categories of a feature; none if it is a number.
  [[nodiscard]] const Labels& categories_of(std::size_t feature) const;

  /// Whether the training predictions come from models of folds (a cross-fitted base model, or cross-validated
  /// predictions). These are fitted on fewer rows than the deployed model, whose errors are therefore smaller.
  [[nodiscard]] bool trained_by_folds() const;

  /// If the calibration has no rows: why all intervals are infinite, and how to fix it. Empty otherwise.
  [[nodiscard]] std::string uncalibrated() const;

  /// What finite intervals of a level need. With groups, every group needs it.
  [[nodiscard]] LevelNeeds needs(const Level& level) const { return scheme_->needs(parts_.calibration, level); }

  /// Throw kBadData, with their number and a remedy, if clusters are among those that the model was fitted on: errors
  /// are smaller there than in new clusters, so they must not calibrate.
  void check_new_clusters(std::span<const std::int64_t> clusters) const;

  /// Number of these clusters, each counted once, that the model was fitted on.
  [[nodiscard]] std::uint64_t fitted_clusters(std::span<const std::int64_t> clusters) const;

  /// The group whose quantile the rows of a group take, see SortedScores.
  [[nodiscard]] std::int64_t quantile_group(std::int64_t group) const;

  /// Number of scores of the quantile of a group.
  [[nodiscard]] std::uint64_t quantile_rows(std::int64_t group) const;

  /// Throw kBadData, with the number of rows and examples, if outcomes y are not in the outcome space: intervals may
  /// exclude them, so coverage measured with them is meaningless. A missing outcome (NaN) is not an error.
  void check_outcomes(std::span<const double> outcomes, RowNumbers numbers = 1,
                      std::span<const std::string> ids = {}) const;

  /// The same model with another calibration, and the sketch of its rows if known.
  [[nodiscard]] Model with_calibration(Calibration calibration, RowSketch rows = RowSketch()) const;

  /// The same model with another guarantee, without fitting or calibrating again.
  [[nodiscard]] Model with_guarantee(const Guarantee& guarantee) const;

  /// The same model with another stream state, or none.
  [[nodiscard]] Model with_online(std::optional<OnlineCalibration> online) const;

  /// Write f(x) of n rows: predictions of the base model, or a copy of the given ones. That of a cross-calibrated model
  /// is the median over its folds, weighted by their calibration rows; intervals of level 0.5 and above contain it.
  void predictions(const Rows& rows, std::span<double> out) const;

  /// Write f(x) (n) and the intervals at k levels (n x k each). With folds, a lower bound is the
  /// floor(alpha (n + 1))-th smallest lower bound of all n calibration scores, each with its fold model, and an upper
  /// bound the ceil((1 - alpha) (n + 1))-th smallest upper bound; infinite if n is too small. For guarantees see
  /// cross_coverage. Below level 0.5 the two may cross, and the interval is the prediction.
  void intervals(const Rows& rows, std::span<const Level> levels, std::span<double> predictions,
                 MutableMatrixView lower, MutableMatrixView upper) const;

  /// Write the intervals for k score quantiles per row (n x k) instead of levels; groups are ignored.
  void intervals_at(const Rows& rows, MatrixView scores, std::span<double> predictions, MutableMatrixView lower,
                    MutableMatrixView upper) const;

  /// Issue a batch of a stream: write f(x) and the current intervals of n rows at the k levels of `online` (n x k
  /// each). Returns the number of the batch, for observe.
  [[nodiscard]] std::uint64_t issue(OnlineCalibration& online, const Rows& rows, std::span<double> predictions,
                                    MutableMatrixView lower, MutableMatrixView upper) const;

  /// Write the hashes of n rows without outcomes to out (n), with which OnlineCalibration recognises issued rows: those
  /// of the features in single precision, or of the predictions if the model has no features.
  void row_hashes(const Rows& rows, std::span<std::uint64_t> out) const;

  /// Observe the outcomes y (n) of all or some rows of an issued batch; the rows must be the same as when issued. Rows
  /// without a score, because the outcome (NaN) or the prediction is missing, stay pending. If it throws, no row is
  /// recorded. For tables that already have outcomes, use Tracker (track.hpp).
  void observe(OnlineCalibration& online, std::uint64_t batch, const Rows& rows,
               std::span<const double> outcomes) const;

  /// The interval of one row; `prediction` is required for models without a base model and not allowed otherwise, and
  /// so are the number of its group for models with groups, and its weight for models that need weights. The size of
  /// its cluster is that of Rows::cluster_sizes. No allocation up to 512 features.
  [[nodiscard]] Interval interval(std::span<const double> x, const Level& level,
                                  const std::optional<RowPrediction>& prediction = std::nullopt,
                                  std::optional<std::int64_t> group = std::nullopt,
                                  std::optional<double> weight = std::nullopt,
                                  std::optional<double> cluster_size = std::nullopt) const;

  /// The same, and f(x). The base model is evaluated once.
  [[nodiscard]] PredictedInterval predict(std::span<const double> x, const Level& level,
                                          const std::optional<RowPrediction>& prediction = std::nullopt,
                                          std::optional<std::int64_t> group = std::nullopt,
                                          std::optional<double> weight = std::nullopt,
                                          std::optional<double> cluster_size = std::nullopt) const;

  /// Write p-values of outcomes y (n) to out (n). Those of a cross-calibrated model are cross-conformal: at most alpha
  /// with a probability of at most 1 - cross_coverage.
  void p_values(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const;

  /// Write quantiles of the outcome at k probabilities (n x k), see ConformalPredictor::quantiles.
  void quantiles(const Rows& rows, std::span<const Level> probabilities, MutableMatrixView out) const;

  /// Write the weights of n rows (n): the given ones, those learnt, or 1 for models without weights.
  void weights(const Rows& rows, std::span<double> out) const;

  /// Write the parameters g(x) of n rows (n x rule.parameter_count()).
  void parameters(const Rows& rows, MutableMatrixView out) const;

  /// The same, and f(x) (n).
  void parameters(const Rows& rows, std::span<double> predictions, MutableMatrixView out) const;

  /// Write the scores B of rows with outcomes y (n) to out (n), in units, as stored in a calibration. NaN if an input
  /// is NaN.
  void scores(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const;

  /// Add n rows, which nothing was fitted on, to a calibration: all of them or, if it throws, none. Throws kNotFinite,
  /// with the row, if there is no score; kBadData for outcomes outside the range; kInvalidArgument for rows with groups
  /// and a calibration or a model without groups, or the reverse, and likewise for clusters; like check_new_clusters
  /// for clusters that fitted the model. A table can be added in several calls. Row numbers are either consecutive over
  /// these calls, or keys of the rows; with keys, neither order nor partition changes the calibration. f(x) is written
  /// to `predictions` (n), unless it is empty.
  void calibrate(Calibration& calibration, const Rows& rows, std::span<const double> outcomes, RowNumbers numbers,
                 std::span<double> predictions = {}) const;

  /// Add n rows with outcomes y (n) to a sketch, by the model's features and the outcome.
  void sketch(RowSketch& sketch, const Rows& rows, std::span<const double> outcomes) const;

 private:
  void check(const Rows& rows) const;
  void check_cluster_sizes(std::span<const double> sizes) const;
  void check_weights(std::span<const double> weights) const;
  void check_bounds(const Rows& rows, std::size_t k, std::span<const double> predictions,
                    const MutableMatrixView& lower, const MutableMatrixView& upper) const;

  ModelParts parts_;
  std::shared_ptr<const CalibrationScheme> scheme_;
  std::shared_ptr<const internal::RowPredictor> predictor_;
};

}  // namespace widthwise
