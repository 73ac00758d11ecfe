#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/row_predictor.hpp"

namespace widthwise::internal {

/// Throw kInvalidArgument or kShapeMismatch unless the folds of a cross-calibrated model are consistent with it.
void check_folds(const ModelParts& parts);

/// The fold models of a cross-calibrated model, with their scores sorted: CV+ (docs/mathematics.md).
/// Invariant: immutable. Thread safety: full.
class FoldModels final : public RowPredictor {
 public:
  /// The parts are consistent (check_folds).
  explicit FoldModels(const ModelParts& parts);

  [[nodiscard]] std::size_t outputs() const override { return models_.front()->predicts_quantiles() ? 2 : 1; }
  [[nodiscard]] const SortedScores& sorted() const override { return sorted_; }

  /// Write the median of the predictions of the fold models, weighted by their calibration rows; NaN if one is not
  /// finite.
  void predictions(const Rows& rows, std::span<double> out) const override;

  void intervals(const Rows& rows, std::span<const Level> levels, std::span<double> predictions,
                 MutableMatrixView lower, MutableMatrixView upper) const override;

  [[nodiscard]] PredictedInterval predict(std::span<const double> x, const Level& level, std::span<const double> given,
                                          std::optional<std::int64_t> group,
                                          std::optional<double> weight) const override;

  /// Write cross-conformal p-values.
  void p_values(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const override;

  [[nodiscard]] const OneModel& one(std::string_view what) const override;

 private:
  struct Block;
  class Search;

  [[nodiscard]] std::size_t block_rows() const;
  /// These rows as fold k takes them. `x` holds them if they are copied.
  [[nodiscard]] Rows rows_for(std::size_t k, const Rows& rows, std::vector<double>& x,
                              std::vector<double>& predictions) const;
  void evaluate(const Rows& rows, Block& block) const;
  [[nodiscard]] double median_prediction(const Block& block, std::size_t row,
                                         std::vector<std::pair<double, std::uint64_t>>& sorted) const;

  std::vector<std::shared_ptr<const Model>> models_;
  std::vector<Labels> categories_;           // of the rows; empty if all features are numbers
  std::vector<std::vector<double>> scores_;  // per fold, ascending
  std::vector<std::uint64_t> rows_;
  std::uint64_t all_rows_ = 0;
  bool own_predictions_ = false;  // whether every fold has a prediction column of its own
  OutcomeSpace space_;
  SortedScores sorted_;  // none
};

}  // namespace widthwise::internal
