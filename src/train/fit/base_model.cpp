#include "train/fit/base_model.hpp"

#include <cmath>
#include <utility>

#include <widthwise/random.hpp>
#include <widthwise/row_checks.hpp>

#include "model/quantile_pairs.hpp"

namespace widthwise::internal {

std::size_t predicted_numbers(const FitTable& table, const BaseTrainer* base) {
  return given_predictions(table).empty() && base != nullptr ? base->outputs() : prediction_columns(table);
}

namespace {

/// Fit the base model to the fitting rows; return out-of-sample predictions of the learning rows.
std::vector<double> predict_out_of_sample(const FitTable& table, const Splits& splits, const BaseTrainer& base,
                                          FittingRows& rows, ProgressSteps& steps) {
  const std::vector<std::size_t>& positions = splits.fitting().rows;
  const WideRows x(table.rows.x, positions);
  const std::vector<double> y = taken(table.y, positions);
  std::vector<double> weights;
  if (!table.rows.sample_weights.empty()) weights = taken(table.rows.sample_weights, positions);
  const InputRows inputs(x.features(), rows.inputs().categorical, weights);
  std::vector<double> predictions(y.size() * base.outputs());
  CrossFitted fitted = cross_fit(base, inputs, y, splits.folds(), predictions, steps.next());
  rows.trainer = std::move(fitted.trainer);
  rows.base = splits.folds().count == kOneSplit
                  ? std::move(fitted.models.front())
                  : (rows.trainer != nullptr ? *rows.trainer : base).train(inputs, y, "base model", steps.next());
  return taken(predictions, splits.learning_positions(), base.outputs());
}

}  // namespace

FittingRows fit_base_model(const FitTable& table, const Splits& splits, const BaseTrainer* base, ProgressSteps& steps) {
  const std::vector<std::size_t>& positions = splits.learning().rows;
  const std::span<const double> given = given_predictions(table);
  const std::size_t outputs = predicted_numbers(table, base);
  FittingRows rows{.x = WideRows(table.rows.x, positions, outputs),
                   .y = taken(table.y, positions),
                   .residuals = {},
                   .base = nullptr,
                   .trainer = nullptr,
                   .categorical = std::vector<std::uint8_t>(table.rows.x.columns() + outputs),
                   .weights = {}};
  if (!table.rows.sample_weights.empty()) rows.weights = taken(table.rows.sample_weights, positions);
  for (std::size_t j = 0; j < table.categories.size(); ++j)
    rows.categorical[j] = table.categories[j].size() > 0 ? 1 : 0;
  std::vector<double> predictions =
      given.empty() ? predict_out_of_sample(table, splits, *base, rows, steps) : taken(given, positions, outputs);
  if (outputs == 2) {
    std::vector<double> centres(rows.y.size());
    std::vector<double> halves(rows.y.size());
    split_pairs(predictions, centres, halves);
    rows.x.set(0, halves);
    predictions = std::move(centres);
  }
  rows.x.set(outputs - 1, predictions);
  rows.residuals.reserve(rows.y.size());
  for (std::size_t i = 0; i < rows.y.size(); ++i) rows.residuals.push_back(rows.y[i] - predictions[i]);
  return rows;
}

double mean_error(const FittingRows& rows, const Splits& splits, const Workers& workers) {
  double own = 0;
  for (const double residual : rows.residuals) own += std::abs(residual) / static_cast<double>(splits.learning_rows());
  return workers.total(own);
}

RowSketch sketch_of(const FitTable& table, MatrixView x, std::span<const double> y, const Workers& workers) {
  RowSketch own;
  own.add(RowHasher(table.features), x, y);
  return workers.merged(std::move(own), RowSketch());
}

RowSketch sketch_of(const FitTable& table, std::span<const std::size_t> rows, const Workers& workers) {
  return sketch_of(table, WideRows(table.rows.x, rows).features(), taken(table.y, rows), workers);
}

namespace {

/// The sketch of hash_of(row) of these rows, over all workers; empty without clusters.
template <class HashOf>
RowSketch sketch_of_hashes(const FitTable& table, std::span<const std::size_t> rows, const Workers& workers,
                           const HashOf& hash_of) {
  if (!table.columns.has(Role::kCluster)) return RowSketch();
  std::vector<std::uint64_t> hashes;
  hashes.reserve(rows.size());
  for (const std::size_t row : rows) hashes.push_back(hash_of(row));
  RowSketch own;
  own.add(hashes);
  return workers.merged(std::move(own), RowSketch());
}

}  // namespace

RowSketch sketch_of_clusters(const FitTable& table, std::span<const std::size_t> rows, const Workers& workers) {
  return sketch_of_hashes(table, rows, workers,
                          [&](std::size_t row) { return cluster_hash(table.rows.clusters[row]); });
}

RowSketch sketch_of_parts(const FitTable& table, std::span<const std::size_t> rows, const Workers& workers) {
  return sketch_of_hashes(table, rows, workers, [&](std::size_t row) {
    const auto group = static_cast<std::uint64_t>(table.rows.groups[row]);
    return mix_bits(cluster_hash(table.rows.clusters[row]) ^ group);
  });
}

std::vector<double> fit_residuals(const FittingRows& rows, const Splits& splits, const Workers& workers) {
  constexpr std::size_t kMaxRows = 100'000;  // of several workers
  return residual_quantiles(workers.sample(rows.residuals, 1, splits.learning().splitter.numbers(), kMaxRows));
}

}  // namespace widthwise::internal
