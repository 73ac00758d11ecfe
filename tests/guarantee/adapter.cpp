// The C++ program of the guarantee suite: calibrates and predicts with widthwise::core over many repetitions.
// adapters.py calls it and checks its output.
//
//   widthwise_guarantee PATH TRANSFORM SCORE SIDES LEVELS CALIBRATION_ROWS TEST_ROWS CAPACITY GUARANTEE SETTING [FAULT]
//
// stdin: for each repetition the calibration rows and then the test rows, each as doubles: prediction, outcome, weight
// (0: no weights), group (-1: no groups), cluster (-1: no clusters), then the parameters. stdout: doubles, the results
// of PATH for each test row of each repetition:
// - intervals, row, merge: lower and upper bound of each level; row predicts single rows, merge calibrates in 3 shards
// - pooled: the same with groups of fewer than SETTING rows pooled
// - folds: the same of a cross-calibrated model with SETTING folds; rows have x in place of the prediction, and the
//   prediction of each fold in place of the parameters
// - clusters: the same of a model with clusters of calibration rows, of which each counts once, or of which each row
//   counts and new ones have at most SETTING rows if that is above 0; the transform is identity
// - quantiles: the quantile of the predictive distribution at each level
// - p_values, fold_p_values: the p-value of the outcome, the latter of a cross-calibrated model
// or once for each repetition:
// - verdict: the verdict of `evaluate` on the test rows at each level
// - alarm: 1 if a stream of the test rows raises an alarm at the false-alarm rate SETTING, else 0
// - stream: the misses at each level, the observed rows and the largest delay of a stream in batches of SETTING rows
// whose scores are
//   above the issued quantile whenever possible

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/widthwise.hpp>

#ifdef WIDTHWISE_PLANTED_FAULTS
#include "planted.hpp"
#endif

namespace {

using namespace widthwise;

struct Options {
  std::string path;
  ConformalRule rule;
  std::vector<Level> levels;
  std::size_t calibration_rows;
  std::size_t test_rows;
  std::uint64_t capacity;
  Guarantee guarantee;
  double setting;

  [[nodiscard]] std::size_t whole_setting() const { return static_cast<std::size_t>(setting); }
  [[nodiscard]] bool has_folds() const { return path == "folds" || path == "fold_p_values"; }
  /// Numbers of a row after those that every row has.
  [[nodiscard]] std::size_t width() const { return has_folds() ? whole_setting() : rule.parameter_count(); }
};

/// Rows by columns, and views of some of them.
struct Columns {
  std::vector<double> predictions, outcomes, weights, parameters;
  std::vector<std::int64_t> groups, clusters;

  [[nodiscard]] PredictionRows view(const ConformalRule& rule, std::size_t first, std::size_t count) const {
    const std::size_t width = rule.parameter_count();
    const std::span<const double> part = std::span(parameters).subspan(first * width, count * width);
    PredictionRows rows{std::span(predictions).subspan(first, count), {part.data(), count, width}};
    if (groups[0] >= 0) rows.groups = std::span(groups).subspan(first, count);
    if (weights[0] > 0) rows.test_weights = std::span(weights).subspan(first, count);
    return rows;
  }

  [[nodiscard]] std::span<const double> outcomes_of(std::size_t first, std::size_t count) const {
    return std::span(outcomes).subspan(first, count);
  }
};

bool read_rows(std::size_t count, std::size_t width, Columns& columns) {
  constexpr std::size_t kBefore = 5;
  std::vector<double> numbers(count * (kBefore + width));
  const std::size_t found = std::fread(numbers.data(), sizeof(double), numbers.size(), stdin);
  if (found == 0) return false;
  if (found != numbers.size()) throw Error(ErrorCode::kBadData, "the rows on stdin end within a repetition");
  columns = {};
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const double> row = std::span(numbers).subspan(i * (kBefore + width), kBefore + width);
    columns.predictions.push_back(row[0]);
    columns.outcomes.push_back(row[1]);
    columns.weights.push_back(row[2]);
    columns.groups.push_back(static_cast<std::int64_t>(row[3]));
    columns.clusters.push_back(static_cast<std::int64_t>(row[4]));
    columns.parameters.insert(columns.parameters.end(), row.begin() + kBefore, row.end());
  }
  return true;
}

Calibration calibrate(const Options& options, const Columns& columns) {
  const std::size_t shards = options.path == "merge" ? 3 : 1;
  const std::size_t n = options.calibration_rows;
  Calibration whole({.capacity = options.capacity});
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const std::size_t first = shard * n / shards;
    const std::size_t count = (shard + 1) * n / shards - first;
    Calibration part({.capacity = options.capacity});
    options.rule.calibrate(part, columns.view(options.rule, first, count), columns.outcomes_of(first, count), first);
    whole.merge(Calibration::deserialise(part.serialise()));
  }
  return whole;
}

/// Lower and upper bound of each row and level, next to each other.
std::vector<double> pairs_of(std::span<const double> lower, std::span<const double> upper) {
  std::vector<double> bounds;
  for (std::size_t i = 0; i < lower.size(); ++i) bounds.insert(bounds.end(), {lower[i], upper[i]});
  return bounds;
}

std::vector<double> intervals(const Options& options, const ConformalPredictor& predictor, const PredictionRows& rows) {
  const std::size_t m = options.test_rows;
  const std::size_t k = options.levels.size();
  std::vector<double> lower(m * k);
  std::vector<double> upper(m * k);
  if (options.path == "row") {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < k; ++j) {
        const Interval found = predictor.interval(rows.predictions[i], rows.parameters.row(i), options.levels[j]);
        lower[i * k + j] = found.lower;
        upper[i * k + j] = found.upper;
      }
    }
  } else {
    predictor.intervals(rows, options.levels, {lower.data(), m, k}, {upper.data(), m, k});
  }
  return pairs_of(lower, upper);
}

/// Parameters of the localizer of a fold: a function of x, which folds move by different amounts.
class FoldWaves final : public RowFunction {
 public:
  FoldWaves(std::size_t outputs, std::size_t fold) : outputs_(outputs), fold_(fold) {}

  [[nodiscard]] std::size_t inputs() const override { return 2; }  // x and the prediction
  [[nodiscard]] std::size_t outputs() const override { return outputs_; }
  void evaluate(MatrixView x, MutableMatrixView out) const override {
    for (std::size_t i = 0; i < x.rows(); ++i) {
      for (std::size_t j = 0; j < outputs_; ++j) out(i, j) = 0.4 * x(i, 0) + 0.1 * static_cast<double>(fold_ + j);
    }
  }

 private:
  std::size_t outputs_;
  std::size_t fold_;
};

/// Rows for a model of folds, with x (n) and their predictions: n, or n x folds.
struct FoldRows {
  std::vector<double> x;
  std::vector<double> predictions;

  [[nodiscard]] Rows rows() const { return {.x = {x.data(), x.size(), 1}, .predictions = predictions}; }
};

/// The model of a fold, calibrated with every K-th row. Rows have x in place of the prediction, and then the prediction
/// of each fold.
Model fold_model(const Options& options, const Columns& columns, std::size_t fold) {
  const std::size_t folds = options.whole_setting();
  const std::size_t parameters = options.rule.parameter_count();
  FoldRows rows;
  std::vector<double> outcomes;
  for (std::size_t i = fold; i < options.calibration_rows; i += folds) {
    rows.x.push_back(columns.predictions[i]);
    rows.predictions.push_back(columns.parameters[i * folds + fold]);
    outcomes.push_back(columns.outcomes[i]);
  }
  ModelParts parts{.features = {"x"}, .target = "y", .prediction = fold_prediction("f", fold), .rule = options.rule};
  if (parameters > 0) parts.localizer = std::make_shared<FoldWaves>(parameters, fold);
  const Model model(std::move(parts));
  Calibration calibration;
  model.calibrate(calibration, rows.rows(), outcomes, 0);
  return model.with_calibration(std::move(calibration));
}

std::vector<double> fold_results(const Options& options, const Columns& columns) {
  const std::size_t folds = options.whole_setting();
  const std::size_t m = options.test_rows;
  const std::size_t k = options.levels.size();
  std::vector<Model> models;
  for (std::size_t fold = 0; fold < folds; ++fold) models.push_back(fold_model(options, columns, fold));
  const Model model = Model::of_folds(std::move(models), "f", RowSketch());
  const std::size_t n = options.calibration_rows;
  const std::span<const double> x = std::span(columns.predictions).subspan(n, m);
  const std::span<const double> predictions = std::span(columns.parameters).subspan(n * folds, m * folds);
  const FoldRows rows{{x.begin(), x.end()}, {predictions.begin(), predictions.end()}};
  std::vector<double> centres(m);
  if (options.path == "fold_p_values") {
    model.p_values(rows.rows(), columns.outcomes_of(n, m), centres);
    return centres;
  }
  std::vector<double> lower(m * k);
  std::vector<double> upper(m * k);
  model.intervals(rows.rows(), options.levels, centres, {lower.data(), m, k}, {upper.data(), m, k});
  return pairs_of(lower, upper);
}

std::vector<double> cluster_results(const Options& options, const Columns& columns) {
  // Rows without a cluster come last and fill the table, because clusters differ in size.
  const auto known = std::span(columns.clusters).first(options.calibration_rows);
  const auto n = static_cast<std::size_t>(std::ranges::count_if(known, [](auto cluster) { return cluster >= 0; }));
  const std::size_t m = options.test_rows;
  const std::size_t k = options.levels.size();
  const std::vector<double> x(columns.predictions.size());
  const auto rows = [&](std::size_t first, std::size_t count) {
    const std::span<const double> predictions = std::span(columns.predictions).subspan(first, count);
    return Rows{.x = {x.data(), count, 1}, .predictions = predictions};
  };
  ModelParts parts{.features = {"x"},
                   .target = "y",
                   .prediction = "f",
                   .columns = {{Role::kCluster, "patient"}},
                   .rule = options.rule};
  parts.cluster_coverage = options.setting > 0 ? ClusterForm::kRows : ClusterForm::kClusters;
  parts.max_cluster_size = options.whole_setting();
  const Model model(std::move(parts));
  Calibration calibration;
  Rows calibrating = rows(0, n);
  calibrating.clusters = known.first(n);
  model.calibrate(calibration, calibrating, columns.outcomes_of(0, n), 0);
  std::vector<double> centres(m);
  std::vector<double> lower(m * k);
  std::vector<double> upper(m * k);
  model.with_calibration(std::move(calibration))
      .intervals(rows(options.calibration_rows, m), options.levels, centres, {lower.data(), m, k},
                 {upper.data(), m, k});
  return pairs_of(lower, upper);
}

/// The number of the verdict of each level, evaluated on its own.
std::vector<double> verdicts(const Options& options, const ConformalPredictor& predictor, const Columns& columns) {
  const std::size_t n = options.calibration_rows;
  const std::size_t m = options.test_rows;
  std::vector<double> found;
  for (const Level& level : options.levels) {
    std::vector<double> lower(m);
    std::vector<double> upper(m);
    predictor.intervals(columns.view(options.rule, n, m), {&level, 1}, {lower.data(), m, 1}, {upper.data(), m, 1});
    const LevelEvaluation evaluation = evaluate({lower, upper, columns.outcomes_of(n, m)}, level,
                                                CalibrationRanks::of(predictor.calibration(), level), {}, {});
    found.push_back(static_cast<double>(evaluation.verdict));
  }
  return found;
}

double raises_alarm(const Options& options, const Calibration& calibration, const Columns& columns) {
  const std::size_t n = options.calibration_rows;
  const std::size_t m = options.test_rows;
  std::vector<double> scores(m);
  options.rule.scores(columns.view(options.rule, n, m), columns.outcomes_of(n, m), scores);
  ExchangeabilityMonitor monitor(calibration, {.false_alarm_rate = options.setting});
  for (const double score : scores) monitor.observe(score);
  return monitor.alarm() ? 1 : 0;
}

/// The scores of a batch: above the quantile with which it was issued, unless that is infinite.
std::vector<double> adversarial_scores(const OnlineCalibration& online, std::uint64_t batch, std::size_t rows) {
  std::vector<double> quantiles(online.levels().size());
  online.issued_quantiles(batch, quantiles);
  const double highest = *std::ranges::max_element(quantiles);
  return std::vector<double>(rows, std::isfinite(highest) ? highest + 1 : 0);
}

/// The first outcomes come at once and all others two batches late, so delays differ.
std::vector<double> stream_misses(const Options& options, const Calibration& calibration) {
  constexpr std::size_t kAtOnce = 20;
  const std::size_t size = options.whole_setting();
  OnlineCalibration online(calibration, options.levels, {.false_alarm_rate = 0});
  const auto observe = [&](std::uint64_t batch, std::size_t rows) {
    online.observe(batch, adversarial_scores(online, batch, rows));
  };
  for (std::size_t i = 0; i < kAtOnce; ++i) observe(online.issue(1), 1);
  std::vector<std::uint64_t> late;
  for (std::size_t i = 0; i < options.test_rows / size; ++i) {
    late.push_back(online.issue(size));
    if (late.size() > 2) observe(late[late.size() - 3], size);
  }
  std::vector<double> found;
  for (std::size_t j = 0; j < options.levels.size(); ++j) {
    const OnlineCoverage coverage = online.coverage(j);
    found.push_back(static_cast<double>(coverage.rows - coverage.covered));
  }
  found.push_back(static_cast<double>(online.rows()));
  found.push_back(static_cast<double>(online.longest_delay()));
  return found;
}

std::vector<double> repetition(const Options& options, const Columns& columns) {
  if (options.has_folds()) return fold_results(options, columns);
  if (options.path == "clusters") return cluster_results(options, columns);
  const Calibration calibration = calibrate(options, columns);
  if (options.path == "alarm") return {raises_alarm(options, calibration, columns)};
  if (options.path == "stream") return stream_misses(options, calibration);
  const std::uint64_t pool_below = options.path == "pooled" ? options.whole_setting() : 0;
  const ConformalPredictor predictor(options.rule, calibration, options.guarantee, pool_below);
  if (options.path == "verdict") return verdicts(options, predictor, columns);
  const std::size_t n = options.calibration_rows;
  const std::size_t m = options.test_rows;
  const PredictionRows rows = columns.view(options.rule, n, m);
  if (options.path == "p_values") {
    std::vector<double> values(m);
    predictor.p_values(rows, columns.outcomes_of(n, m), values);
    return values;
  }
  if (options.path == "quantiles") {
    std::vector<double> values(m * options.levels.size());
    predictor.quantiles(rows, options.levels, {values.data(), m, options.levels.size()});
    return values;
  }
  return intervals(options, predictor, rows);
}

std::vector<Level> levels_of(std::string_view text) {
  std::vector<Level> levels;
  while (!text.empty()) {
    const std::string_view first = text.substr(0, text.find(','));
    levels.push_back(Level::parse(first));
    text.remove_prefix(std::min(text.size(), first.size() + 1));
  }
  return levels;
}

void run(std::span<char*> arguments) {
  const auto number = [&](std::size_t i) { return std::strtoull(arguments[i], nullptr, 10); };
  const Sides sides = std::string_view(arguments[4]) == "two" ? Sides::kTwo : Sides::kOne;
  const Options options{arguments[1],
                        ConformalRule(make_transform(arguments[2]), score_of(arguments[3]), sides),
                        levels_of(arguments[5]),
                        number(6),
                        number(7),
                        number(8),
                        Guarantee::parse(arguments[9]),
                        std::strtod(arguments[10], nullptr)};
  Columns columns;
  while (read_rows(options.calibration_rows + options.test_rows, options.width(), columns)) {
    const std::vector<double> found = repetition(options, columns);
    std::fwrite(found.data(), sizeof(double), found.size(), stdout);
  }
}

}  // namespace

int main(int count, char** arguments) {
  constexpr int kArguments = 11;
  if (count < kArguments) {
    std::fputs("widthwise_guarantee: expected at least 10 arguments, see adapter.cpp\n", stderr);
    return 2;
  }
#ifdef WIDTHWISE_PLANTED_FAULTS
  if (count > kArguments) planted::switch_on(arguments[kArguments]);
#endif
  try {
    run({arguments, static_cast<std::size_t>(count)});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "widthwise_guarantee: %s\n", error.what());
    return 1;
  }
  return 0;
}
