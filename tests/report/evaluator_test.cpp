#include <widthwise/evaluator.hpp>

#include <algorithm>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/model_examples.hpp"

namespace widthwise {
namespace {

using examples::Table;

constexpr std::size_t kEvaluatedRows = 3000;
const std::vector<Level> kLevels = {0.9, 0.5};

/// A model of trees, calibrated on 500 rows.
Model calibrated_model() {
  ModelParts parts{.features = examples::names(3),
                   .base = examples::trees(3, 1, 6, 3, 1),
                   .localizer = examples::trees(4, 2, 8, 3, 2),
                   .rule = ConformalRule(make_transform("affine"))};
  return examples::calibrated(Model(std::move(parts)), Table(500, 3, 2));
}

EvaluationReport in_batches(const Model& model, const Table& table, std::size_t batch, EvaluatorOptions options) {
  Evaluator evaluator(model, std::move(options));
  const Rows rows = table.for_model(model);
  for (std::size_t first = 0; first < table.rows(); first += batch) {
    const std::size_t count = std::min(batch, table.rows() - first);
    evaluator.add(rows.slice(first, count), std::span(table.y).subspan(first, count));
  }
  return evaluator.report();
}

TEST(Evaluator, BatchesOfAnySizeGiveOneReport) {
  const Model model = calibrated_model();
  const Table table(kEvaluatedRows, 3, 3);
  const EvaluatorOptions options{.levels = kLevels, .in_order = ExchangeabilityOptions()};
  const std::string whole = to_json(in_batches(model, table, kEvaluatedRows, options));
  for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{1000}})
    EXPECT_EQ(to_json(in_batches(model, table, batch, options)), whole);
}

TEST(Evaluator, GivenIntervalsOfAModelHaveItsLevels) {
  const Model model = calibrated_model();
  const Table table(kEvaluatedRows, 3, 3);
  const EvaluationReport of_model = in_batches(model, table, kEvaluatedRows, {.levels = kLevels});
  const examples::Answers bounds = examples::answers(model, table.for_model(model), kLevels);
  Evaluator evaluator(IntervalOrigin{.calibration_rows = 500, .features = model.parts().features}, {.levels = kLevels});
  evaluator.add_intervals({bounds.lower.data(), kEvaluatedRows, 2}, {bounds.upper.data(), kEvaluatedRows, 2}, table.y,
                          table.matrix(), bounds.predictions);
  const EvaluationReport given = evaluator.report();
  ASSERT_EQ(given.levels.size(), of_model.levels.size());
  for (std::size_t j = 0; j < given.levels.size(); ++j) {
    EXPECT_EQ(given.levels[j].intervals.coverage.successes, of_model.levels[j].intervals.coverage.successes);
    EXPECT_EQ(given.levels[j].summary, of_model.levels[j].summary);
    EXPECT_EQ(given.levels[j].gaps.size(), of_model.levels[j].gaps.size());
  }
}

TEST(Evaluator, CountsTheCoveredRowsOfFurtherLevels) {
  const Model model = calibrated_model();
  const Table table(kEvaluatedRows, 3, 3);
  Evaluator evaluator(model, {.levels = kLevels, .counted_levels = kLevels});
  evaluator.add(table.for_model(model), table.y);
  const EvaluationReport report = evaluator.report();
  for (std::size_t j = 0; j < kLevels.size(); ++j) {
    EXPECT_EQ(evaluator.covered()[j], report.levels[j].intervals.coverage.successes);
    EXPECT_LE(evaluator.expected()[j].low, evaluator.expected()[j].high);
  }
  EXPECT_EQ(evaluator.page(report).rows.size(), kLevels.size());
}

TEST(Evaluator, ThrowsForNoRowsAndForBoundsOfOtherShapes) {
  const Model model = calibrated_model();
  expect_error(ErrorCode::kBadData, "no rows", [&] { (void)Evaluator(model).report(); });
  Evaluator evaluator(IntervalOrigin(), {.levels = kLevels});
  const std::vector<double> bounds(4, 0);
  const MatrixView one_level(bounds.data(), 4, 1);
  expect_error(ErrorCode::kShapeMismatch, "2 levels",
               [&] { evaluator.add_intervals(one_level, one_level, bounds, {}); });
}

}  // namespace
}  // namespace widthwise
