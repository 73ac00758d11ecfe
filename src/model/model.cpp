#include <widthwise/model.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_function.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "conformal/outcomes.hpp"
#include "model/counts.hpp"
#include "model/new_weights.hpp"
#include "model/one_model.hpp"
#include "model/row_predictor.hpp"
#include "stream/observed_rows.hpp"

namespace widthwise {
namespace {

using internal::expect_count;
using internal::expect_count_or_none;
using internal::has_base;

constexpr int kMaxUnitExponent = 500;

[[noreturn]] void refuse(ErrorCode code, const std::string& what) { internal::refuse_model(code, what); }

bool usable_unit(double unit) {
  int exponent = 0;
  return std::frexp(unit, &exponent) == 0.5 && std::abs(exponent - 1) <= kMaxUnitExponent;
}

template <class Values>
bool has_twice(Values values) {
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) != values.end();
}

void check_names(const ModelParts& parts) {
  if (std::ranges::any_of(parts.features, &std::string::empty)) {
    refuse(ErrorCode::kInvalidArgument, "a feature has no name");
  }
  if (has_twice(parts.features)) refuse(ErrorCode::kInvalidArgument, "two features have the same name");
  if (has_base(parts) != parts.prediction.empty()) {
    refuse(ErrorCode::kInvalidArgument,
           !has_base(parts)
               ? "the model has no base model; expected the name of a prediction column"
               : "the model has a base model, so it reads no prediction column; found the name " + parts.prediction);
  }
  if (parts.upper_prediction.empty()) return;
  if (parts.prediction.empty() || parts.upper_prediction == parts.prediction) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("the column of upper quantiles '{}' needs another column of lower quantiles",
                       internal::printable(parts.upper_prediction)));
  }
}

/// Check that trees compare categories with sets of them, and numbers with thresholds.
void check_sets(const char* name, const Trees& trees, std::span<const Labels> categories) {
  const TreeArrays& arrays = trees.arrays();
  std::size_t number = 0;
  for (std::size_t node = 0; node < arrays.feature.size(); ++node) {
    if (arrays.feature[node] < 0) continue;
    const auto feature = static_cast<std::size_t>(arrays.feature[node]);
    const std::size_t count = feature < categories.size() ? categories[feature].size() : 0;
    const bool has_set = number < trees.sets() && trees.set(number).node == node;
    if (has_set != (count > 0)) {
      refuse(ErrorCode::kInvalidArgument, fmt::format("{}: node {} has {}, but input {} has {} categories", name, node,
                                                      has_set ? "a set of categories" : "a threshold", feature, count));
    }
    if (!has_set) continue;
    if (const std::size_t end = trees.set(number++).end(); end > count) {
      refuse(ErrorCode::kInvalidArgument, fmt::format("{}: node {} has category {}; input {} has {} categories", name,
                                                      node, end - 1, feature, count));
    }
  }
}

void check_categories(const ModelParts& parts) {
  if (!parts.categories.empty()) {
    expect_count("categories, one list per feature", parts.categories.size(), parts.features.size());
  }
  bool any = false;
  for (std::size_t j = 0; j < parts.categories.size(); ++j) {
    const Labels& labels = parts.categories[j];
    any = any || labels.size() > 0;
    if (labels.size() > kMaxCategories) {
      refuse(ErrorCode::kInvalidArgument,
             fmt::format("the feature '{}' has {} categories; expected at most {}",
                         internal::printable(parts.features[j]), labels.size(), kMaxCategories));
    }
  }
  const auto check = [&](const char* name, const RowFunction* function) {
    if (function == nullptr) return;
    if (const auto* const trees = dynamic_cast<const Trees*>(function)) {
      check_sets(name, *trees, parts.categories);
    } else if (const std::string kind = function->describe().kind; any && !kind.empty()) {
      refuse(ErrorCode::kInvalidArgument, fmt::format("{}: {} does not take categories", name, kind));
    }
  };
  check("base", parts.base.get());
  check("localizer", parts.localizer.get());
  check("shift", parts.shift.get());
}

std::uint64_t count_fitted(const RowSketch& fitted, std::span<const std::int64_t> clusters) {
  if (fitted.empty()) return 0;
  const std::vector<RowSketch::Entry> known = fitted.entries();
  std::vector<std::uint64_t> hashes;
  hashes.reserve(clusters.size());
  for (const std::int64_t cluster : clusters) hashes.push_back(cluster_hash(cluster));
  std::ranges::sort(hashes);
  const auto repeated = std::ranges::unique(hashes);
  hashes.erase(repeated.begin(), repeated.end());
  return static_cast<std::uint64_t>(std::ranges::count_if(hashes, [&](std::uint64_t hash) {
    return std::ranges::binary_search(known, hash, {}, &RowSketch::Entry::hash);
  }));
}

void refuse_fitted(const ModelParts& parts, std::span<const std::int64_t> clusters) {
  const std::uint64_t found = count_fitted(parts.fit_clusters, clusters);
  if (found == 0) return;
  throw internal::make_error(ErrorCode::kBadData,
                             "{} of these rows{} {} used to fit the model; its errors there are smaller than in new "
                             "clusters, so intervals would "
                             "be too narrow. Drop the rows of these clusters, or fit again with all rows",
                             internal::count_of(found, "cluster"),
                             parts.columns.has(Role::kCluster)
                                 ? fmt::format(", in '{}',", internal::printable(parts.columns[Role::kCluster]))
                                 : "",
                             found == 1 ? "was" : "were");
}

void check_numbers(const ModelParts& parts) {
  if (!usable_unit(parts.unit)) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("expected a unit that is a power of two from 2^-500 to 2^500, found {}", parts.unit));
  }
  parts.outcome_space.check("Model");
  if (parts.levels.empty()) refuse(ErrorCode::kInvalidArgument, "expected at least one level, found none");
  if (parts.levels.size() > kMaxLevels) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("expected at most {} levels, found {}", kMaxLevels, parts.levels.size()));
  }
  if (has_twice(parts.levels)) refuse(ErrorCode::kInvalidArgument, "a level occurs twice");
  if (!std::ranges::all_of(parts.fit_residuals, [](double r) { return r >= 0 && std::isfinite(r); })) {
    refuse(ErrorCode::kNotFinite, "a quantile of the fitted residuals is negative or not finite");
  }
  if (!std::ranges::is_sorted(parts.fit_residuals)) {
    refuse(ErrorCode::kInvalidArgument, "the quantiles of the fitted residuals are not ascending");
  }
  refuse_fitted(parts, parts.calibration.cluster_numbers());
}

void check_shift(const ModelParts& parts) {
  if (parts.shift == nullptr) return;
  expect_count("inputs of the learnt weights, one per feature", parts.shift->inputs(), parts.features.size());
  expect_count("output of the learnt weights", parts.shift->outputs(), 1);
}

ModelParts checked(ModelParts parts) {
  check_names(parts);
  internal::check_functions(parts);
  check_categories(parts);
  check_numbers(parts);
  check_shift(parts);
  return parts;
}

void refuse_use(const CalibrationScheme& scheme, Choice use) {
  if (const std::string refusal = scheme.refusal(use); !refusal.empty()) {
    refuse(ErrorCode::kInvalidArgument, refusal);
  }
}

/// The scheme of checked parts.
std::shared_ptr<const CalibrationScheme> scheme_of(const ModelParts& parts) {
  SchemeOptions options{.guarantee = parts.guarantee,
                        .columns = parts.columns,
                        .learns_weights = parts.shift != nullptr,
                        .pool_groups = parts.pool_groups,
                        .cluster_coverage = parts.cluster_coverage,
                        .max_cluster_size = parts.max_cluster_size,
                        .fit_cluster_size = parts.fit_cluster_size};
  if (const auto time = parts.notes.find("time"); time != parts.notes.end())
    options.columns[Role::kTime] = time->second;
  for (const auto& fold : parts.folds) options.rows_by_fold.push_back(fold->parts().calibration.rows_kept());
  auto scheme = CalibrationScheme::of(std::move(options), parts.calibration);
  scheme->check(parts.calibration);
  if (parts.online) refuse_use(*scheme, Choice::kStream);
  return scheme;
}

}  // namespace

std::uint64_t cluster_hash(std::int64_t cluster) { return mix_bits(static_cast<std::uint64_t>(cluster)); }

std::string fold_prediction(const std::string& prediction, std::size_t fold) {
  return fmt::format("{}.{}", prediction, fold);
}

Model::Model(ModelParts parts)
    : parts_(checked(std::move(parts))),
      scheme_(scheme_of(parts_)),
      predictor_(internal::make_row_predictor(parts_, scheme_->cluster_rule())) {}

Model Model::of_folds(std::vector<Model> folds, const std::string& prediction, RowSketch fit_rows) {
  if (folds.empty()) refuse(ErrorCode::kInvalidArgument, "expected at least 2 folds, found 0");
  ModelParts parts = folds.front().parts();
  parts.base = nullptr;
  parts.localizer = nullptr;
  parts.calibration = Calibration();
  parts.unit = 1;
  parts.prediction = prediction;
  parts.fit_rows = 0;
  parts.fit_residuals.clear();
  parts.fit_sketch = std::move(fit_rows);
  parts.calibration_sketch = RowSketch();
  for (std::size_t j = 0; j < parts.categories.size(); ++j) {
    Labels labels;
    for (const Model& fold : folds) {
      for (const std::string& label : fold.categories_of(j).all()) labels.add(label);
    }
    parts.categories[j] = labels.sorted();
  }
  for (Model& fold : folds) {
    parts.fit_rows += fold.parts().calibration.rows_seen();
    parts.folds.push_back(std::make_shared<const Model>(std::move(fold)));
  }
  return Model(std::move(parts));
}

bool Model::needs_predictions() const { return prediction_count() > 0; }

void Model::check_new_clusters(std::span<const std::int64_t> clusters) const { refuse_fitted(parts_, clusters); }

std::uint64_t Model::fitted_clusters(std::span<const std::int64_t> clusters) const {
  return count_fitted(parts_.fit_clusters, clusters);
}

bool Model::predicts_quantiles() const { return predictor_->outputs() == 2; }

std::size_t Model::prediction_count() const { return predictor_->prediction_columns().size(); }

std::vector<std::string> Model::prediction_columns() const { return predictor_->prediction_columns(); }

std::int64_t Model::quantile_group(std::int64_t group) const { return predictor_->sorted().quantile_group(group); }

std::uint64_t Model::quantile_rows(std::int64_t group) const { return predictor_->sorted().rows(group); }

const Labels& Model::categories_of(std::size_t feature) const {
  static const Labels kNone;
  return parts_.categories.empty() ? kNone : parts_.categories[feature];
}

bool Model::trained_by_folds() const {
  const auto note = parts_.notes.find(kTrainedWith);
  return parts_.base != nullptr || (note != parts_.notes.end() && note->second == kCrossValidated);
}

std::string Model::uncalibrated() const {
  if (scheme_->rows(parts_.calibration) > 0) return {};
  return needs_predictions() && trained_by_folds()
             ? "the model is not calibrated, so its intervals are infinite: cross-validated predictions only train the "
               "localizer. Calibrate it with rows that no model was fitted on, predicted by the deployed model"
             : "the model is not calibrated, so its intervals are infinite. Calibrate it with rows that no model was "
               "fitted on";
}

void Model::check_outcomes(std::span<const double> outcomes, RowNumbers numbers,
                           std::span<const std::string> ids) const {
  numbers.check(outcomes.size(), "check_outcomes");
  internal::OutcomesOutside outside(parts_.outcome_space);
  outside.add(outcomes, numbers, ids);
  outside.require_none("Model");
}

Model Model::with_calibration(Calibration calibration, RowSketch rows) const {
  (void)predictor_->one("calibration that rows are added to");
  ModelParts parts = parts_;
  parts.calibration = std::move(calibration);
  parts.calibration_sketch = std::move(rows);
  return Model(std::move(parts));
}

Model Model::with_guarantee(const Guarantee& guarantee) const {
  ModelParts parts = parts_;
  parts.guarantee = guarantee;
  return Model(std::move(parts));
}

Model Model::with_online(std::optional<OnlineCalibration> online) const {
  ModelParts parts = parts_;
  parts.online = std::move(online);
  return Model(std::move(parts));
}

void Model::check(const Rows& rows) const {
  const std::size_t n = rows.x.rows();
  expect_count("columns of x, one per feature", rows.x.columns(), parts_.features.size());
  const std::size_t columns = prediction_count();
  expect_count(columns == 0                       ? "predictions, because the model has a base model"
               : columns == 1                     ? "predictions, one per row"
               : !parts_.upper_prediction.empty() ? "predictions, a lower and an upper one per row"
                                                  : "predictions, one per row and fold",
               rows.predictions.size(), columns * n);
  rows.check_shapes("Model");
  check_cluster_sizes(rows.cluster_sizes);
  check_weights(rows.weights);
}

void Model::check_weights(std::span<const double> weights) const {
  const bool reads = scheme_->reads(Role::kWeight, Step::kPredict);
  if (!reads) expect_count("weights, because the model has no column of weights", weights.size(), 0);
  // An infinite weight of a row to predict is valid: its interval is infinite.
  const auto bad = std::ranges::find_if_not(weights, [](double weight) { return weight > 0; });
  const auto place = static_cast<std::size_t>(bad - weights.begin());
  check_cells(Role::kWeight, weights.subspan(place, bad == weights.end() ? 0 : 1),
              {.where = "Model", .column = parts_.columns[Role::kWeight], .first_row = place});
}

void Model::check_cluster_sizes(std::span<const double> sizes) const {
  if (sizes.empty()) return;
  if (!scheme_->reads(Role::kClusterSize, Step::kPredict)) {
    scheme_->combination().add(Role::kClusterSize).check("Model");
  }
  check_cells(Role::kClusterSize, sizes, {.where = "Model", .column = {}});
}

void Model::predictions(const Rows& rows, std::span<double> out) const {
  check(rows);
  expect_count("output predictions, one per row", out.size(), rows.x.rows());
  predictor_->predictions(rows, out);
}

void Model::check_bounds(const Rows& rows, std::size_t k, std::span<const double> predictions,
                         const MutableMatrixView& lower, const MutableMatrixView& upper) const {
  const std::size_t n = rows.x.rows();
  expect_count("output predictions, one per row", predictions.size(), n);
  for (const MutableMatrixView& bounds : {lower, upper}) {
    expect_count("rows of bounds", bounds.rows(), n);
    expect_count("columns of bounds, one per level", bounds.columns(), k);
  }
}

void Model::intervals(const Rows& rows, std::span<const Level> levels, std::span<double> predictions,
                      MutableMatrixView lower, MutableMatrixView upper) const {
  check_bounds(rows, levels.size(), predictions, lower, upper);
  check(rows);
  scheme_->check_roles(rows, Step::kPredict);
  predictor_->intervals(rows, levels, predictions, lower, upper);
}

void Model::intervals_at(const Rows& rows, MatrixView scores, std::span<double> predictions, MutableMatrixView lower,
                         MutableMatrixView upper) const {
  const internal::OneModel& model = predictor_->one("score of a row");
  expect_count("rows of scores", scores.rows(), rows.x.rows());
  check_bounds(rows, scores.columns(), predictions, lower, upper);
  check(rows);
  model.intervals_at(rows, scores, predictions, lower, upper);
}

std::uint64_t Model::issue(OnlineCalibration& online, const Rows& rows, std::span<double> predictions,
                           MutableMatrixView lower, MutableMatrixView upper) const {
  refuse_use(*scheme_, Choice::kStream);
  std::vector<double> quantiles(online.levels().size());
  online.quantiles(quantiles);
  intervals_at(rows, {quantiles.data(), rows.x.rows(), quantiles.size(), 0}, predictions, lower, upper);
  std::vector<std::uint64_t> hashes(rows.x.rows());
  row_hashes(rows, hashes);
  RowSketch issued(OnlineCalibration::kBatchCapacity);
  issued.add(hashes);
  return online.issue(issued);
}

/// In single precision, because tables may store a double with fewer digits between issue and observe. Predictions of
/// estimators may depend on the batch in the last digits, so features identify rows where there are any.
void Model::row_hashes(const Rows& rows, std::span<std::uint64_t> out) const {
  check(rows);
  const std::size_t n = rows.x.rows();
  const std::size_t columns = rows.x.columns();
  expect_count("output hashes, one per row", out.size(), n);
  const auto rounded = [](double value) { return static_cast<double>(static_cast<float>(value)); };
  std::vector<double> x;
  x.reserve(n * columns);
  for (std::size_t i = 0; i < n; ++i) std::ranges::transform(rows.x.row(i), std::back_inserter(x), rounded);
  std::vector<double> predictions(n);
  if (columns == 0 && needs_predictions()) {
    const std::size_t each = predictor_->outputs();
    for (std::size_t i = 0; i < n; ++i) predictions[i] = rounded(rows.predictions[i * each]);
  }
  RowHasher(parts_.features).hash({x.data(), n, columns}, predictions, out);
}

void Model::observe(OnlineCalibration& online, std::uint64_t batch, const Rows& rows,
                    std::span<const double> outcomes) const {
  const internal::OneModel& model = predictor_->one("stream");
  const std::size_t n = rows.x.rows();
  const std::size_t k = online.levels().size();
  const std::size_t columns = parts_.rule.parameter_count();
  internal::require_no_infinite(outcomes, "Model::observe");
  check_outcomes(outcomes);
  expect_count("outcomes, one per row", outcomes.size(), n);
  // Scores and intervals use the same predictions and parameters, so the base model and the localizer run once.
  std::vector<double> predictions(n);
  std::vector<double> localized(n * columns);
  parameters(rows, predictions, {localized.data(), n, columns});
  std::vector<double> y(outcomes.begin(), outcomes.end());
  for (double& outcome : y) outcome /= parts_.unit;
  model.to_units(predictions);
  const PredictionRows predicted{.predictions = predictions, .parameters = {localized.data(), n, columns}};
  std::vector<double> found(n);
  parts_.rule.scores(predicted, y, found);
  if (std::ranges::all_of(found, [](double score) { return std::isnan(score); })) return;
  std::vector<double> quantiles(k);
  online.issued_quantiles(batch, quantiles);
  std::vector<double> lower(n * k);
  std::vector<double> upper(n * k);
  parts_.rule.intervals(predicted, {quantiles.data(), n, k, 0}, {lower.data(), n, k}, {upper.data(), n, k});
  model.from_units(lower, upper);
  internal::ObservedRows observed;
  observed.add(found, outcomes, {lower.data(), n, k}, {upper.data(), n, k});
  std::vector<std::uint64_t> issued(n);
  row_hashes(rows, issued);
  std::vector<std::uint64_t> contents(n);
  RowHasher(parts_.features).hash(rows.x, outcomes, contents);
  internal::keep_scored(found, issued);
  internal::keep_scored(found, contents);
  RowSketch seen(OnlineCalibration::kBatchCapacity);
  seen.add(contents);
  online.require_unobserved(seen);
  online.observe(batch, observed.scores, observed.covered, issued, contents);
}

Interval Model::interval(std::span<const double> x, const Level& level, const std::optional<RowPrediction>& prediction,
                         std::optional<std::int64_t> group, std::optional<double> weight,
                         std::optional<double> cluster_size) const {
  const PredictedInterval row = predict(x, level, prediction, group, weight, cluster_size);
  return {row.lower, row.upper};
}

PredictedInterval Model::predict(std::span<const double> x, const Level& level,
                                 const std::optional<RowPrediction>& prediction, std::optional<std::int64_t> group,
                                 std::optional<double> weight, std::optional<double> cluster_size) const {
  const std::size_t features = parts_.features.size();
  expect_count("numbers in x, one per feature", x.size(), features);
  if (prediction.has_value() != needs_predictions()) {
    refuse(ErrorCode::kInvalidArgument, needs_predictions()
                                            ? "the model has no base model; pass the prediction of the row"
                                            : "the model has a base model; do not pass a prediction");
  }
  if (prediction && prediction->upper.has_value() == parts_.upper_prediction.empty()) {
    refuse(ErrorCode::kInvalidArgument, prediction->upper ? "the model reads one prediction; pass one number"
                                                          : "the model reads a lower and an upper quantile; pass both");
  }
  const bool reads_weight = scheme_->reads(Role::kWeight, Step::kPredict);
  check_need(Role::kWeight, reads_weight, weight.has_value(), "Model", parts_.columns[Role::kWeight]);
  if (weight && !reads_weight) {
    refuse(ErrorCode::kInvalidArgument, "the model has no column of weights; do not pass a weight");
  }
  if (cluster_size) {
    check_cluster_sizes({&*cluster_size, 1});
    weight = cluster_size;
  }
  std::array<double, 2> numbers{};
  if (prediction) numbers = {prediction->lower, prediction->upper.value_or(0)};
  const std::size_t given = !prediction ? 0 : prediction->upper ? 2 : 1;
  expect_count("predictions of the row, one per fold", given, prediction_count());
  return predictor_->predict(x, level, {numbers.data(), given}, group, weight);
}

void Model::p_values(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const {
  expect_count("outcomes, one per row", outcomes.size(), rows.x.rows());
  expect_count("output p-values, one per row", out.size(), rows.x.rows());
  check(rows);
  scheme_->check_roles(rows, Step::kPredict);
  predictor_->p_values(rows, outcomes, out);
}

void Model::quantiles(const Rows& rows, std::span<const Level> probabilities, MutableMatrixView out) const {
  refuse_use(*scheme_, Choice::kOutcomeQuantiles);
  expect_count("rows of quantiles", out.rows(), rows.x.rows());
  expect_count("columns of quantiles, one per probability", out.columns(), probabilities.size());
  check(rows);
  scheme_->check_roles(rows, Step::kPredict);
  predictor_->one("quantiles").quantiles(rows, probabilities, out);
}

void Model::weights(const Rows& rows, std::span<double> out) const {
  check(rows);
  scheme_->check_roles(rows, Step::kPredict);
  expect_count("output weights, one per row", out.size(), rows.x.rows());
  internal::NewWeights(parts_.shift).write(rows, out);
}

void Model::parameters(const Rows& rows, MutableMatrixView out) const {
  std::vector<double> predictions(rows.x.rows());
  parameters(rows, predictions, out);
}

void Model::parameters(const Rows& rows, std::span<double> predictions, MutableMatrixView out) const {
  const internal::OneModel& model = predictor_->one("parameters of a row");
  expect_count("output predictions, one per row", predictions.size(), rows.x.rows());
  expect_count("rows of parameters", out.rows(), rows.x.rows());
  expect_count("columns of parameters", out.columns(), parts_.rule.parameter_count());
  check(rows);
  model.parameters(rows, predictions, out);
}

void Model::scores(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const {
  const internal::OneModel& model = predictor_->one("score of a row");
  expect_count("outcomes, one per row", outcomes.size(), rows.x.rows());
  expect_count("output scores, one per row", out.size(), rows.x.rows());
  check(rows);
  model.scores(rows, outcomes, out);
}

void Model::calibrate(Calibration& calibration, const Rows& rows, std::span<const double> outcomes, RowNumbers numbers,
                      std::span<double> predictions) const {
  const internal::OneModel& model = predictor_->one("calibration that rows are added to");
  const std::size_t n = rows.x.rows();
  expect_count("outcomes, one per row", outcomes.size(), n);
  expect_count_or_none("output predictions, one per row", predictions.size(), n);
  numbers.check(n, "calibrate");
  scheme_->check_roles(rows, Step::kCalibrate);
  check_new_clusters(rows.clusters);
  check_outcomes(outcomes);
  check(rows);
  std::vector<double> scores(n);
  const auto above = std::make_unique<bool[]>(n);
  model.score_rows(rows, outcomes, {.predictions = predictions, .scores = scores, .above = {above.get(), n}});
  std::vector<double> likelihood_ratios(scheme_->weighs_new_rows() ? n : 0);
  if (!likelihood_ratios.empty()) weights(rows, likelihood_ratios);
  Calibration added(calibration.options());
  added.add(numbers, scores, {above.get(), n}, likelihood_ratios, rows.groups, rows.clusters);
  if (rows.labels != nullptr) added.name_groups(*rows.labels);
  calibration.merge(std::move(added));
}

void Model::sketch(RowSketch& sketch, const Rows& rows, std::span<const double> outcomes) const {
  check(rows);
  sketch.add(RowHasher(parts_.features), rows.x, outcomes);
}

}  // namespace widthwise
