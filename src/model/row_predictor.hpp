#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <widthwise/interface.hpp>
#include <widthwise/model.hpp>

namespace widthwise::internal {

class OneModel;

/// What predicts the rows of a model: its own functions and scores, or the models of its folds. Made once for each
/// model, so that nothing else asks whether there are folds. A model checks rows before it passes them on.
/// Invariant: immutable. Thread safety: full.
class RowPredictor : public Interface {
 public:
  /// Numbers that predict one row: f(x), or two quantiles.
  [[nodiscard]] virtual std::size_t outputs() const = 0;

  /// The columns of predictions that rows need; none if base models predict.
  [[nodiscard]] const std::vector<std::string>& prediction_columns() const { return prediction_columns_; }

  /// The sorted scores of all rows; none with folds.
  [[nodiscard]] virtual const SortedScores& sorted() const = 0;

  /// Write the predictions of Model::predictions.
  virtual void predictions(const Rows& rows, std::span<double> out) const = 0;

  /// Write the predictions and intervals of Model::intervals.
  virtual void intervals(const Rows& rows, std::span<const Level> levels, std::span<double> predictions,
                         MutableMatrixView lower, MutableMatrixView upper) const = 0;

  /// The prediction and the interval of one row. `given` are its predictions, if the model needs them; `weight` is its
  /// likelihood ratio or the size of its cluster.
  [[nodiscard]] virtual PredictedInterval predict(std::span<const double> x, const Level& level,
                                                  std::span<const double> given, std::optional<std::int64_t> group,
                                                  std::optional<double> weight) const = 0;

  /// Write the p-values of Model::p_values.
  virtual void p_values(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const = 0;

  /// The one model that predicts rows. Throws kInvalidArgument if there are several, so that rows have no `what`.
  [[nodiscard]] virtual const OneModel& one(std::string_view what) const = 0;

 protected:
  explicit RowPredictor(std::vector<std::string> prediction_columns)
      : prediction_columns_(std::move(prediction_columns)) {}

 private:
  std::vector<std::string> prediction_columns_;
};

/// Whether base models predict, of the model or of its folds.
[[nodiscard]] bool has_base(const ModelParts& parts);

/// Throw kInvalidArgument or kShapeMismatch unless functions and folds of the parts fit together.
void check_functions(const ModelParts& parts);

/// The row predictor of checked parts, whose clusters count by this rule.
[[nodiscard]] std::shared_ptr<const RowPredictor> make_row_predictor(const ModelParts& parts,
                                                                     const ClusterRule& clusters);

}  // namespace widthwise::internal
