// The C++ program of the guarantee suite: calibrates and predicts with widthwise::core over many repetitions. faces.py
// calls it and checks its output.
//
//   widthwise_guarantee PATH TRANSFORM SCORE SIDES LEVELS CALIBRATION_ROWS TEST_ROWS CAPACITY GUARANTEE [FAULT]
//
// stdin: for each repetition the calibration rows and then the test rows, each as doubles: prediction, outcome, weight
// (0: no weights), group (-1: no groups), then the parameters. stdout: doubles, the results of PATH for each test row
// of each repetition:
// - intervals, row, merge: lower and upper bound of each level; row predicts single rows, merge calibrates in 3 shards
// - quantiles: the quantile of the predictive distribution at each level
// - p_values: the p-value of the outcome

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
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
};

/// Rows by columns, and views of some of them.
struct Columns {
  std::vector<double> predictions, outcomes, weights, parameters;
  std::vector<std::int64_t> groups;

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
  constexpr std::size_t kBefore = 4;
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
  std::vector<double> bounds;
  for (std::size_t i = 0; i < m * k; ++i) bounds.insert(bounds.end(), {lower[i], upper[i]});
  return bounds;
}

std::vector<double> repetition(const Options& options, const Columns& columns) {
  const ConformalPredictor predictor(options.rule, calibrate(options, columns), options.guarantee);
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
                        Guarantee::parse(arguments[9])};
  Columns columns;
  while (read_rows(options.calibration_rows + options.test_rows, options.rule.parameter_count(), columns)) {
    const std::vector<double> found = repetition(options, columns);
    std::fwrite(found.data(), sizeof(double), found.size(), stdout);
  }
}

}  // namespace

int main(int count, char** arguments) {
  constexpr int kArguments = 10;
  if (count < kArguments) {
    std::fputs("widthwise_guarantee: expected at least 9 arguments, see face.cpp\n", stderr);
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
