#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/new_weights.hpp"
#include "model/row_predictor.hpp"

namespace widthwise::internal {

/// Throw kShapeMismatch or kInvalidArgument unless the functions of a model without folds fit together.
void check_one_model(const ModelParts& parts);

/// The base model, the localizer, the rule and the sorted scores of a model without folds. Rows are checked, and spans
/// have the sizes that Model states.
/// Invariant: immutable. Thread safety: full.
class OneModel final : public RowPredictor {
 public:
  /// The parts are consistent (check_one_model).
  OneModel(const ModelParts& parts, const ClusterRule& clusters);

  [[nodiscard]] std::size_t outputs() const override { return outputs_; }
  [[nodiscard]] const SortedScores& sorted() const override { return predictor_.sorted(); }
  void predictions(const Rows& rows, std::span<double> out) const override;
  void intervals(const Rows& rows, std::span<const Level> levels, std::span<double> predictions,
                 MutableMatrixView lower, MutableMatrixView upper) const override;
  [[nodiscard]] PredictedInterval predict(std::span<const double> x, const Level& level, std::span<const double> given,
                                          std::optional<std::int64_t> group,
                                          std::optional<double> weight) const override;
  void p_values(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const override;
  [[nodiscard]] const OneModel& one(std::string_view /*what*/) const override { return *this; }

  /// Write the intervals of Model::intervals_at.
  void intervals_at(const Rows& rows, MatrixView scores, std::span<double> predictions, MutableMatrixView lower,
                    MutableMatrixView upper) const;

  /// Write the quantiles of Model::quantiles.
  void quantiles(const Rows& rows, std::span<const Level> probabilities, MutableMatrixView out) const;

  /// Write f(x) (n) and the parameters of Model::parameters.
  void parameters(const Rows& rows, std::span<double> predictions, MutableMatrixView out) const;

  /// Write the scores of Model::scores.
  void scores(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const;

  /// What score_rows writes, for n rows.
  struct ScoredRows {
    std::span<double> predictions;  ///< f(x); empty if not requested
    std::span<double> scores;       ///< B, in units
    std::span<bool> above;          ///< whether the outcome is above the prediction
  };

  /// Score the rows of Model::calibrate.
  void score_rows(const Rows& rows, std::span<const double> outcomes, const ScoredRows& out) const;

  /// Convert predictions to units; NaN, which gives an infinite interval, if they are not finite.
  void to_units(std::span<double> predictions) const;

  /// Convert bounds in units to bounds in the outcome space.
  void from_units(std::span<double> lower, std::span<double> upper) const;

 private:
  struct Block;

  template <class Use>
  void for_each_block(const Rows& rows, const Use& use) const;

  /// Call use(block, outcomes in units) for blocks of rows.
  template <class Use>
  void for_each_outcome_block(const Rows& rows, std::span<const double> outcomes, const Use& use) const;

  std::size_t features_;
  std::size_t outputs_;
  std::shared_ptr<const RowFunction> base_;
  std::shared_ptr<const RowFunction> localizer_;
  NewWeights weights_;
  double unit_;
  OutcomeSpace space_;
  ConformalPredictor predictor_;
};

}  // namespace widthwise::internal
