#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/diagnostics.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/exchangeability.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/model.hpp>
#include <widthwise/report.hpp>
#include <widthwise/row_sketch.hpp>
#include <widthwise/train/trainer.hpp>

namespace widthwise {

namespace internal {
class RowSample;
}  // namespace internal

/// What an Evaluator measures.
struct EvaluatorOptions {
  std::vector<Level> levels = {};  ///< of the evaluation; by default those of the model

  /// Levels at which only the covered rows are counted, such as page_levels for a report.
  std::vector<Level> counted_levels = {};

  /// The rows are in time order: test that they are exchangeable with the calibration rows.
  std::optional<ExchangeabilityOptions> in_order = {};

  /// Trains classifiers of covered rows, which estimate how far coverage given the features is from the level
  /// (estimate_ert); none if not requested.
  std::shared_ptr<const LocalizerTrainer> classifier = {};

  bool by_column = false;  ///< coverage is also tested by the values of a column, given to `report`
};

/// Intervals of any origin, as far as they are known.
struct IntervalOrigin {
  std::optional<std::uint64_t> calibration_rows = {};  ///< empty: coverage is compared with the level itself
  Guarantee guarantee = {};                            ///< of the intervals
  std::vector<std::string> features = {};              ///< names of the features to search; none: no search
  std::vector<Labels> categories = {};                 ///< of each feature, none of a number; or empty
};

/// Evaluates the intervals of a model, or given intervals, on rows with outcomes that arrive in batches. It keeps the
/// bounds, the outcomes and a sample of the features; other features are not kept.
///
/// The model must outlive it. Thread safety: none.
class Evaluator {
 public:
  /// Throws kInvalidArgument for what the calibration of the model has no answer to, and kTooFewRows for rows in time
  /// order and a model without calibration rows.
  explicit Evaluator(const Model& model, EvaluatorOptions options = {});

  /// Evaluate given intervals; `options` has their levels, at least one, and neither counted levels nor an order.
  Evaluator(IntervalOrigin origin, EvaluatorOptions options);

  ~Evaluator();
  Evaluator(Evaluator&& other) noexcept;  ///< with all recorded rows
  Evaluator& operator=(Evaluator&& other) = delete;
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Compute the intervals of the next n rows with outcomes y (n), and record them. Throws as Model::intervals does.
  void add(const Rows& rows, std::span<const double> outcomes);

  /// Record the next n given intervals: bounds (n x k), outcomes (n), features (n x d; d may be 0) and, if known,
  /// predictions (n).
  void add_intervals(MatrixView lower, MatrixView upper, std::span<const double> outcomes, MatrixView x,
                     std::span<const double> predictions = {});

  /// The evaluation of all rows; the name of the table and unknown categories are left to the caller. With `by`,
  /// coverage is also tested by the values of this column, one per row. Throws kBadData without rows.
  [[nodiscard]] EvaluationReport report(const std::optional<EvaluatedColumn>& by = {},
                                        const ProgressCallback& progress = {}) const;

  [[nodiscard]] std::size_t rows() const { return outcomes_.size(); }                 ///< recorded so far
  [[nodiscard]] const std::vector<Level>& levels() const { return options_.levels; }  ///< of the evaluation

  /// Number of covered rows at each of the counted levels.
  [[nodiscard]] const std::vector<std::uint64_t>& covered() const { return covered_; }
  /// The expected coverage at each of the counted levels, of all together with a probability of kVerdictConfidence.
  [[nodiscard]] std::vector<CoverageSpread> expected() const;

  /// The contents of an HTML report on this evaluation, to which the caller may add a title, advice and results of
  /// `fit`. It borrows the evaluation and the rows of this object. Throws kInvalidArgument for given intervals.
  [[nodiscard]] EvaluationPage page(const EvaluationReport& report) const;

 private:
  /// Bounds of all rows at one level.
  struct Bounds {
    std::vector<double> lower;
    std::vector<double> upper;
  };

  void add_block(const Rows& rows, std::span<const double> outcomes);
  void add_crps(Crps& crps, const Rows& rows, std::span<const double> outcomes) const;
  void add_bounds(MatrixView lower, MatrixView upper, std::span<const double> outcomes);
  void sample_rows(MatrixView x, std::span<const double> predictions);
  [[nodiscard]] EvaluationReport begin_report() const;
  void check_calibration_rows(const LevelEvaluation& found) const;
  void estimate_erts(EvaluationReport& report, const ProgressCallback& progress) const;
  [[nodiscard]] IntervalRows rows_at(std::size_t level) const;
  [[nodiscard]] SearchRows search() const;
  [[nodiscard]] CalibrationRanks ranks(const Level& level) const;

  const Model* model_;  // null for given intervals
  IntervalOrigin origin_;
  EvaluatorOptions options_;
  std::vector<Bounds> bounds_;  // per level
  std::vector<double> outcomes_;
  std::vector<double> predictions_;     // empty if they are not known
  std::vector<std::uint64_t> covered_;  // per counted level
  std::vector<std::int64_t> groups_;    // whose quantiles the rows take; empty without groups
  std::vector<std::int64_t> clusters_;  // empty without clusters
  std::vector<std::string> ids_;        // of the first rows, or of none
  std::optional<ExchangeabilityMonitor> exchangeability_;
  std::optional<Crps> crps_;  // if the model has quantiles
  RowSketch sketch_;
  // A sample of the rows to search for weak places, with their features and predictions.
  std::unique_ptr<internal::RowSample> sample_;
  std::vector<std::size_t> sampled_;
  std::vector<double> sampled_features_;
  std::vector<double> sampled_predictions_;  // empty if they are not known
};

}  // namespace widthwise
