#pragma once

#include <memory>
#include <vector>

#include <widthwise/train/fit.hpp>

#include "train/fit/rows.hpp"
#include "train/fit/splits.hpp"
#include "train/progress_steps.hpp"

namespace widthwise::internal {

/// The fitting rows with out-of-sample predictions, and the base model that made them.
struct FittingRows {
  WideRows x;                                  ///< features, half the distance of two quantiles if there are, f(x)
  std::vector<double> y;                       ///< n
  std::vector<double> residuals;               ///< y - f(x) (n)
  std::shared_ptr<const RowFunction> base;     ///< trained on all fitting rows; null if the table has predictions
  std::unique_ptr<const BaseTrainer> trainer;  ///< of the base model, if it is not the given one
  std::vector<std::uint8_t> categorical;       ///< of the columns of x: 1 if it holds categories
  std::vector<double> weights;                 ///< sample weights (n), or none

  /// Of the features alone.
  [[nodiscard]] InputRows inputs() const {
    return {x.features(), std::span(categorical).first(x.features().columns()), weights};
  }
};

/// Numbers that predict one row: 1, f(x), or 2 quantiles.
[[nodiscard]] std::size_t predicted_numbers(const FitTable& table, const BaseTrainer* base);

/// Cross-fit the base model, or use the predictions of the table.
[[nodiscard]] FittingRows fit_base_model(const FitTable& table, const Splits& splits, const BaseTrainer* base,
                                         ProgressSteps& steps);

/// The mean |y - f(x)| over all workers.
[[nodiscard]] double mean_error(const FittingRows& rows, const Splits& splits, const Workers& workers);

/// The sketch of these rows, over all workers.
[[nodiscard]] RowSketch sketch_of(const FitTable& table, std::span<const std::size_t> rows, const Workers& workers);

/// The sketch of rows x with outcomes y, over all workers.
[[nodiscard]] RowSketch sketch_of(const FitTable& table, MatrixView x, std::span<const double> y,
                                  const Workers& workers);

/// The sketch of the clusters of these rows (cluster_hash), each as often as it has rows, over all workers; empty
/// without clusters.
[[nodiscard]] RowSketch sketch_of_clusters(const FitTable& table, std::span<const std::size_t> rows,
                                           const Workers& workers);

/// The same of the parts of clusters in each group.
[[nodiscard]] RowSketch sketch_of_parts(const FitTable& table, std::span<const std::size_t> rows,
                                        const Workers& workers);

/// ModelParts::fit_residuals of the fitting rows of all workers, or of a sample of them.
[[nodiscard]] std::vector<double> fit_residuals(const FittingRows& rows, const Splits& splits, const Workers& workers);

}  // namespace widthwise::internal
