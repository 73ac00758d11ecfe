#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <widthwise/calibration.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/score.hpp>
#include <widthwise/transform.hpp>

namespace widthwise {

/// What is known of y beforehand; intervals are cut to it. A y inside the range that the uncut interval contains, the
/// cut one contains too. A y outside is in no interval: Model::calibrate, Model::check_outcomes and fit refuse it.
struct OutcomeRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

struct Interval {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

/// n rows to predict or to score.
struct PredictionRows {
  std::span<const double> predictions;        ///< f(x) (n)
  MatrixView parameters;                      ///< g(x) (n x P, or n x 2P when two-sided, lower side first)
  std::span<const std::int64_t> groups = {};  ///< n, or empty when the calibration has no groups
  std::span<const double> test_weights = {};  ///< n likelihood ratios, or empty when the calibration has no weights
};

/// How residuals and parameters become scores, and quantiles of scores become half-widths.
/// Invariant: the transform can take the score. Thread safety: full; immutable.
class ConformalRule {
 public:
  /// Throws kInvalidArgument when the transform needs positive scores and the score is the log.
  explicit ConformalRule(std::shared_ptr<const Transform> transform, Score score = Score::kAbsolute,
                         Sides sides = Sides::kOne);

  [[nodiscard]] const Transform& transform() const { return *transform_; }
  [[nodiscard]] Score score() const { return score_; }
  [[nodiscard]] Sides sides() const { return sides_; }

  /// Columns of PredictionRows::parameters.
  [[nodiscard]] std::size_t parameter_count() const;

  /// True when the scores of a row may all lie above a quantile, because the transform adds an offset that depends on
  /// the row. Then its conformal set is empty, both half-widths are 0, and the prediction alone is returned.
  [[nodiscard]] bool may_be_empty() const;

  /// Write the transformed scores B of rows with outcomes y (n) to out (n). NaN where an input is NaN.
  void scores(const PredictionRows& rows, std::span<const double> outcomes, std::span<double> out) const;

  /// Write the distances from f(x) to the bounds that m scores of each of n rows give: scores, lower and upper (n x m),
  /// parameters (n x parameter_count()). Rounded up, and infinite where an input is NaN.
  void half_widths(MatrixView scores, MatrixView parameters, MutableMatrixView lower, MutableMatrixView upper) const;

  /// Write the intervals that k scores of each of n rows give: scores, lower and upper are n x k. A score of +infinity
  /// is the whole range, one of -infinity the prediction alone. Groups and weights do not matter. No allocation per
  /// row.
  void intervals(const PredictionRows& rows, MatrixView scores, MutableMatrixView lower, MutableMatrixView upper,
                 const OutcomeRange& range = {}) const;

  /// Add n rows that nothing was fitted on to a calibration, with their numbers. PredictionRows::test_weights holds the
  /// rows' likelihood ratios here. Throws kNotFinite, naming the row, when a score is NaN, and kInvalidArgument for
  /// rows with groups when the calibration has none, or the other way round.
  void calibrate(Calibration& calibration, const PredictionRows& rows, std::span<const double> outcomes,
                 RowNumbers numbers) const;

 private:
  std::shared_ptr<const Transform> transform_;
  Score score_;
  Sides sides_;
};

/// Intervals f(x) - D_lower, f(x) + D_upper with D = the residual of phi^-1(q; g(x)), from a calibration.
/// Invariant: y with B <= q lies inside, rounding included; a row that cannot be bounded (NaN prediction or parameters,
/// group not seen, too few rows) gets an infinite interval.
/// Thread safety: full; immutable.
class ConformalPredictor {
 public:
  /// Throws kInvalidArgument for a training-conditional guarantee with weights.
  ConformalPredictor(ConformalRule rule, Calibration calibration, const Guarantee& guarantee = {});

  [[nodiscard]] const ConformalRule& rule() const { return rule_; }
  [[nodiscard]] const Calibration& calibration() const { return calibration_; }
  [[nodiscard]] const Guarantee& guarantee() const { return sorted_.guarantee(); }

  /// Write the intervals of n rows at k levels: lower and upper are n x k. No allocation per row.
  void intervals(const PredictionRows& rows, std::span<const Level> levels, MutableMatrixView lower,
                 MutableMatrixView upper, const OutcomeRange& range = {},
                 WhenTooFew when_too_few = WhenTooFew::kInfinite) const;

  /// The interval of one row at one level, without groups and weights; no allocation.
  [[nodiscard]] Interval interval(double prediction, std::span<const double> parameters, const Level& level,
                                  const OutcomeRange& range = {}) const;

  /// Write p-values of outcomes y (n) to out (n): small where y would surprise. 1 where the score is NaN.
  /// Marginal, whatever the guarantee.
  void p_values(const PredictionRows& rows, std::span<const double> outcomes, std::span<double> out) const;

  /// Write quantiles of the predictive distribution at k probabilities: out is n x k. Conservative away from the
  /// middle: y lies below a quantile of t >= 0.5 with probability >= t, above one of t < 0.5 with probability >= 1 - t.
  void quantiles(const PredictionRows& rows, std::span<const Level> probabilities, MutableMatrixView out,
                 const OutcomeRange& range = {}) const;

 private:
  /// Throw unless the rows fit the rule, and have groups where the calibration has them and only there, and weights
  /// where it has them.
  void check(const PredictionRows& rows) const;

  ConformalRule rule_;
  Calibration calibration_;
  SortedScores sorted_;
};

}  // namespace widthwise
