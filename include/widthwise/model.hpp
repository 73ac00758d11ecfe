#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/conformal_predictor.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/online.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/row_sketch.hpp>

namespace widthwise {

/// The note of a model that tells which predictions trained it, and its value for cross-validated ones: these calibrate
/// nothing.
inline constexpr const char* kTrainedWith = "trained_with";
inline constexpr const char* kCrossValidated = "cross-validated predictions";

/// Everything a model file holds: how the numbers of a row become its interval.
struct ModelParts {
  std::vector<std::string> features = {};             ///< names of the columns of x, in order; unique, not empty
  std::string target = {};                            ///< name of the column of outcomes; may be empty
  std::string prediction = {};                        ///< name of the column of f(x); empty when `base` makes them
  std::shared_ptr<const RowFunction> base = {};       ///< x -> f(x), or null: the rows bring their predictions
  std::shared_ptr<const RowFunction> localizer = {};  ///< (x, f(x)) -> parameters, or null when the rule has none
  ConformalRule rule;
  double unit = 1;                    ///< the rule sees y and f(x) divided by this; a power of two, see Model
  OutcomeRange outcome_range = {};    ///< what is known of y; intervals are cut to it
  std::vector<Level> levels = {0.9};  ///< what to predict when nobody says; at least one, none twice
  Calibration calibration = {};       ///< of scores in units; without weights
  Guarantee guarantee = {};           ///< of intervals and quantiles; p-values and streams have their own
  std::optional<OnlineCalibration> online = {};   ///< where the model is in a stream it follows, of scores in units
  std::vector<double> fit_residuals = {};         ///< quantiles of |y - f(x)| over the rows that trained, ascending
  std::uint64_t fit_rows = 0;                     ///< rows that trained
  RowSketch fit_sketch = RowSketch();             ///< of the rows that trained; empty when they are not known
  RowSketch calibration_sketch = RowSketch();     ///< of the rows in `calibration`; empty when they are not known
  std::map<std::string, std::string> notes = {};  ///< how it was made: goal, seed, engines; nothing depends on them
};

/// n rows for a model.
struct ModelRows {
  MatrixView x;                               ///< n x features; NaN is a missing value
  std::span<const double> predictions = {};   ///< n when the model has no base model, else empty
  std::span<const std::int64_t> groups = {};  ///< n, or empty when the calibration has no groups

  /// Some consecutive ones of these rows.
  [[nodiscard]] ModelRows slice(std::size_t first, std::size_t count) const;
};

/// A whole model: base model, localizer, rule and calibration. Constant memory whatever n.
///
/// The unit is a power of two between 2^-500 and 2^500, so dividing by it rounds nothing; only numbers so small that
/// they are below 2^-1022 units are not told from 0. A prediction that is not finite, in units too, gets an infinite
/// interval.
///
/// Invariant: the parts fit each other. Thread safety: full; immutable.
class Model {
 public:
  /// Throws kShapeMismatch, kInvalidArgument or kNotFinite, saying which parts do not fit, and kDuplicateRows.
  explicit Model(ModelParts parts);

  [[nodiscard]] const ModelParts& parts() const { return parts_; }
  [[nodiscard]] bool needs_predictions() const { return parts_.base == nullptr; }

  /// Whether models of folds, fitted on fewer rows than the deployed one, made the predictions that trained: a base
  /// model that was cross-fitted, or cross-validated predictions. Errors of the deployed model are then smaller.
  [[nodiscard]] bool trained_by_folds() const;

  /// Why all intervals are infinite when the calibration has no rows, and what to do; empty when it has.
  [[nodiscard]] std::string uncalibrated() const;

  /// Throw kBadData, counting and naming rows, when outcomes y lie outside the range: no interval contains them, so
  /// coverage measured with them says nothing about the model. A missing outcome (NaN) is no error.
  void check_outcomes(std::span<const double> outcomes, RowNumbers numbers = 0) const;

  /// The same model with another calibration, and the sketch of its rows where it is known.
  [[nodiscard]] Model with_calibration(Calibration calibration, RowSketch rows = RowSketch()) const;

  /// The same model with another guarantee: nothing is fitted or calibrated again.
  [[nodiscard]] Model with_guarantee(const Guarantee& guarantee) const;

  /// The same model elsewhere in a stream, or in none.
  [[nodiscard]] Model with_online(std::optional<OnlineCalibration> online) const;

  /// Write f(x) of n rows: the base model's, or a copy of what the rows bring.
  void predictions(const ModelRows& rows, std::span<double> out) const;

  /// Write f(x) (n) and the intervals at k levels (n x k each).
  void intervals(const ModelRows& rows, std::span<const Level> levels, std::span<double> predictions,
                 MutableMatrixView lower, MutableMatrixView upper) const;

  /// The same from k quantiles of scores for each row (n x k) instead of levels; groups do not matter.
  void intervals_at(const ModelRows& rows, MatrixView scores, std::span<double> predictions, MutableMatrixView lower,
                    MutableMatrixView upper) const;

  /// Issue a batch of a stream: of n rows, write f(x) and the intervals at the k levels of `online` in force (n x k
  /// each). Returns the number of the batch, for observe.
  [[nodiscard]] std::uint64_t issue(OnlineCalibration& online, const ModelRows& rows, std::span<double> predictions,
                                    MutableMatrixView lower, MutableMatrixView upper) const;

  /// Observe the outcomes y (n) of a batch that was issued, all or some of its rows, as they were then. Rows without a
  /// score, for want of an outcome (NaN) or a prediction, stay pending. All rows are learnt or, when it throws, none.
  /// Rows to follow with outcomes at hand are Tracker's (track.hpp).
  void observe(OnlineCalibration& online, std::uint64_t batch, const ModelRows& rows,
               std::span<const double> outcomes) const;

  /// The interval of one row; `prediction` is for models without a base model, and for them only. No allocation up to
  /// 512 features.
  [[nodiscard]] Interval interval(std::span<const double> x, const Level& level,
                                  std::optional<double> prediction = std::nullopt) const;

  /// Write p-values of outcomes y (n) to out (n).
  void p_values(const ModelRows& rows, std::span<const double> outcomes, std::span<double> out) const;

  /// Write quantiles of the outcome at k probabilities (n x k), as ConformalPredictor::quantiles does.
  void quantiles(const ModelRows& rows, std::span<const Level> probabilities, MutableMatrixView out) const;

  /// Write the parameters g(x) of n rows (n x rule.parameter_count()).
  void parameters(const ModelRows& rows, MutableMatrixView out) const;

  /// Write the scores B of rows with outcomes y (n) to out (n), in units: what a calibration holds. NaN where an input
  /// is NaN.
  void scores(const ModelRows& rows, std::span<const double> outcomes, std::span<double> out) const;

  /// Add n rows that nothing was fitted on to a calibration: all of them or, when it throws, none. Throws kNotFinite,
  /// naming the row, where there is no score; kBadData for outcomes outside the range; kInvalidArgument for rows with
  /// groups when the calibration has none, or the other way round. A table in many parts is added by one call for each.
  /// Their numbers are counted up from a first one, each part on from where the one before ended; or they are keys that
  /// the rows have wherever they are, and then neither order nor partition changes the calibration.
  void calibrate(Calibration& calibration, const ModelRows& rows, std::span<const double> outcomes,
                 RowNumbers numbers) const;

  /// Add n rows with outcomes y (n) to a sketch, by the model's features and the outcome.
  void sketch(RowSketch& sketch, const ModelRows& rows, std::span<const double> outcomes) const;

 private:
  struct Block;

  void check(const ModelRows& rows) const;
  void check_bounds(const ModelRows& rows, std::size_t k, std::span<const double> predictions,
                    const MutableMatrixView& lower, const MutableMatrixView& upper) const;
  void from_units(MutableMatrixView lower, MutableMatrixView upper) const;
  template <class Use>
  void for_each_block(const ModelRows& rows, const Use& use) const;

  /// Write predictions and bounds; fill(block, lower, upper) makes the bounds of a block, in units.
  template <class Fill>
  void bounds_by_block(const ModelRows& rows, std::span<double> predictions, MutableMatrixView lower,
                       MutableMatrixView upper, const Fill& fill) const;

  /// Call use(rows, outcomes in units, out) for blocks of rows; `what` names `out` in errors.
  template <class Use>
  void for_each_outcome_block(const ModelRows& rows, std::span<const double> outcomes, std::span<double> out,
                              const char* what, const Use& use) const;

  ModelParts parts_;
  ConformalPredictor predictor_;
};

}  // namespace widthwise
