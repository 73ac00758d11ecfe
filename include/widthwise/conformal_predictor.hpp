#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>
#include <widthwise/calibration.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/outcome_space.hpp>
#include <widthwise/score.hpp>
#include <widthwise/transform.hpp>

namespace widthwise {

/// Whether the quantile of the outcome at this probability is an upper bound, else a lower one.
[[nodiscard]] inline bool is_upper_quantile(const Level& probability) { return probability >= Level(0.5); }

/// n rows to predict or to score.
struct PredictionRows {
  std::span<const double> predictions;        ///< f(x) (n)
  MatrixView parameters;                      ///< g(x) (n x P, or n x 2P for two sides, lower side first)
  std::span<const std::int64_t> groups = {};  ///< n, or empty if the calibration has no groups
  std::span<const double> test_weights = {};  ///< n likelihood ratios, or empty if the calibration has no weights
};

/// What the score quantiles of n rows depend on, besides levels.
struct NewRows {
  std::size_t count = 0;                      ///< n
  std::span<const std::int64_t> groups = {};  ///< n, or empty if the calibration has no groups
  std::span<const double> test_weights = {};  ///< n likelihood ratios, or empty if the calibration has no weights
};

/// Maps residuals and parameters to scores, and quantiles of scores to half-widths.
/// Invariant: the transform supports the score. Thread safety: full; immutable.
class ConformalRule {
 public:
  /// Throws kInvalidArgument if the transform needs positive scores and the score is the log.
  explicit ConformalRule(std::shared_ptr<const Transform> transform, Score score = Score::kAbsolute,
                         Sides sides = Sides::kOne);

  /// The score transform, shared with the caller of the constructor.
  [[nodiscard]] const Transform& transform() const { return *transform_; }
  [[nodiscard]] Score score() const { return score_; }  ///< of residuals, before the transform
  [[nodiscard]] Sides sides() const { return sides_; }  ///< kTwo: parameters have 2P columns

  /// Columns of PredictionRows::parameters.
  [[nodiscard]] std::size_t parameter_count() const;

  /// Whether conformal sets can be empty: the transform adds an offset per row, so all scores of a row may lie above
  /// the quantile. Both half-widths are then 0, and the interval is the prediction itself.
  [[nodiscard]] bool may_be_empty() const;

  /// Write the transformed scores B of rows with outcomes y (n) to out (n). NaN if an input is NaN.
  void scores(const PredictionRows& rows, std::span<const double> outcomes, std::span<double> out) const;

  /// Write the distances from f(x) to the bounds for m scores per row: scores, lower and upper (n x m), parameters
  /// (n x parameter_count()). Rounded up; infinite if an input is NaN.
  void half_widths(MatrixView scores, MatrixView parameters, MutableMatrixView lower, MutableMatrixView upper) const;

  /// Write the intervals for k scores per row: scores, lower and upper are n x k. A score of +infinity gives the whole
  /// range, -infinity the prediction itself. Groups and weights are ignored. No allocation per row.
  void intervals(const PredictionRows& rows, MatrixView scores, MutableMatrixView lower, MutableMatrixView upper,
                 const OutcomeSpace& space = {}) const;

  /// The lower or upper (`above`) bound of one row with these parameters for one score, as `intervals` computes it. It
  /// is the farther from the prediction, the larger the score. No allocation.
  [[nodiscard]] double bound(double prediction, std::span<const double> parameters, double score, bool above) const;

  /// Add n rows, which nothing was fitted on, to a calibration, with their numbers. PredictionRows::test_weights holds
  /// the likelihood ratios of the rows. Throws kNotFinite, with the row, if a score is NaN, and kInvalidArgument for
  /// rows with groups and a calibration without groups, or the reverse.
  void calibrate(Calibration& calibration, const PredictionRows& rows, std::span<const double> outcomes,
                 RowNumbers numbers) const;

 private:
  std::shared_ptr<const Transform> transform_;
  Score score_;
  Sides sides_;
};

/// Intervals f(x) - D_lower to f(x) + D_upper from a calibration, where D is the residual of phi^-1(q; g(x)).
/// Invariant: every y with B <= q lies inside, also after rounding. A row without a finite bound (NaN prediction or
/// parameters, unknown group, too few rows) gets an infinite interval.
/// Thread safety: full; immutable.
class ConformalPredictor {
 public:
  /// Groups with fewer than `pool_below` rows are pooled, and clusters are counted, see SortedScores. Throws like
  /// SortedScores.
  ConformalPredictor(ConformalRule rule, Calibration calibration, const Guarantee& guarantee = {},
                     std::uint64_t pool_below = 0, const ClusterRule& clusters = {});

  [[nodiscard]] const ConformalRule& rule() const { return rule_; }  ///< maps between scores and intervals
  /// The sample that `sorted` was made from.
  [[nodiscard]] const Calibration& calibration() const { return calibration_; }
  [[nodiscard]] const Guarantee& guarantee() const { return sorted_.guarantee(); }  ///< of intervals and quantiles
  [[nodiscard]] const SortedScores& sorted() const { return sorted_; }              ///< quantiles by level and group

  /// Write the intervals of n rows at k levels: lower and upper are n x k. No allocation per row.
  void intervals(const PredictionRows& rows, std::span<const Level> levels, MutableMatrixView lower,
                 MutableMatrixView upper, const OutcomeSpace& space = {},
                 WhenTooFew when_too_few = WhenTooFew::kInfinite) const;

  /// The score quantiles of n rows at k levels (n x k), for ConformalRule::intervals. Rows that share all quantiles are
  /// one row with a stride of 0. Valid as long as `memory`, which holds them.
  [[nodiscard]] MatrixView score_quantiles(const NewRows& rows, std::span<const Level> levels,
                                           std::vector<double>& memory,
                                           WhenTooFew when_too_few = WhenTooFew::kInfinite) const;

  /// The interval of one row at one level; no allocation. `test_weight` is the likelihood ratio of the row if the
  /// calibration has weights.
  [[nodiscard]] Interval interval(double prediction, std::span<const double> parameters, const Level& level,
                                  const OutcomeSpace& space = {}, std::optional<std::int64_t> group = std::nullopt,
                                  std::optional<double> test_weight = std::nullopt) const;

  /// Write p-values of outcomes y (n) to out (n). 1 if the score is NaN. p-values are always marginal.
  void p_values(const PredictionRows& rows, std::span<const double> outcomes, std::span<double> out) const;

  /// Write quantiles of the predictive distribution at k probabilities: out is n x k. They are ranks of the signed
  /// scores, on either side of the prediction, and ascend with the probability. They are conservative: y is at most the
  /// quantile of t >= 0.5 with probability >= t (rank ceil((n + 1) t)), and at least that of t < 0.5 with probability
  /// >= 1 - t (rank floor((n + 1) t)). Each is rounded separately to the step of the outcomes, if there is one: a
  /// quantile of t < 0.5 up and one of t >= 0.5 down, so that the former may then be the larger one.
  void quantiles(const PredictionRows& rows, std::span<const Level> probabilities, MutableMatrixView out,
                 const OutcomeSpace& space = {}) const;

 private:
  /// Throw unless the rows match the rule, have groups exactly if the calibration has them, and have weights if the
  /// calibration has them.
  void check(const PredictionRows& rows) const;
  /// The same of groups and weights.
  void check(const NewRows& rows) const;

  ConformalRule rule_;
  Calibration calibration_;
  SortedScores sorted_;
};

}  // namespace widthwise
