#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/model.hpp>
#include <widthwise/model_file.hpp>

#include "support/model_examples.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

using examples::Answers;
using examples::answers;
using examples::Table;

const std::vector<Level> kLevels = {0.8, 0.9};

ModelParts parts_without_weights() {
  return {.features = {"a", "b", "c"},
          .prediction = "f",
          .localizer = examples::trees(4, 1, 5, 2, 41),
          .rule = ConformalRule(make_transform("exp"))};
}

Model model_with_column() {
  ModelParts parts = parts_without_weights();
  parts.columns[Role::kWeight] = "w";
  return Model(parts);
}

Model model_with_shift() {
  ModelParts parts = parts_without_weights();
  parts.shift = examples::trees(3, 1, 5, 2, 42);
  return Model(parts);
}

/// The rows of a table with weights.
Rows weighted_rows(const Model& model, const Table& table, const std::vector<double>& weights) {
  Rows rows = table.for_model(model);
  rows.weights = weights;
  return rows;
}

Model calibrated_with(const Model& model, const Table& table, const std::vector<double>& weights) {
  Calibration calibration;
  model.calibrate(calibration, weighted_rows(model, table, weights), table.y, 0);
  return model.with_calibration(std::move(calibration));
}

std::vector<double> some_weights(std::size_t n) {
  std::vector<double> weights;
  for (std::size_t i = 0; i < n; ++i) weights.push_back(0.25 + static_cast<double>(i % 5));
  return weights;
}

TEST(ModelWeights, EqualWeightsGiveTheIntervalsOfAModelWithoutWeights) {
  const Table table(300, 3, 1);
  const Table test(50, 3, 2);
  const Model plain = examples::calibrated(Model(parts_without_weights()), table);
  const Model weighted = calibrated_with(model_with_column(), table, std::vector<double>(300, 7.0));

  EXPECT_EQ(answers(weighted, weighted_rows(weighted, test, std::vector<double>(50, 7.0)), kLevels),
            answers(plain, test.for_model(plain), kLevels));
}

TEST(ModelWeights, RowsOfLargerWeightHaveWiderIntervals) {
  const Table table(300, 3, 1);
  const Model model = calibrated_with(model_with_column(), table, some_weights(300));
  const auto width = [&](double weight) {
    const Interval interval = model.interval(std::vector<double>{0, 0, 0}, 0.9, 0.0, std::nullopt, weight);
    return interval.upper - interval.lower;
  };

  EXPECT_LE(width(0.01), width(10));
  EXPECT_LT(width(0.01), width(60));
  EXPECT_EQ(width(1e6), kInfinity);
}

TEST(ModelWeights, OneRowAndABatchAgreeForBothKindsOfWeights) {
  const Table table(300, 3, 1);
  const Table test(20, 3, 2);
  const std::vector<double> weights = some_weights(20);
  const Model given = calibrated_with(model_with_column(), table, some_weights(300));
  const Model learnt = examples::calibrated(model_with_shift(), table);
  const Answers of_given = answers(given, weighted_rows(given, test, weights), kLevels);
  const Answers of_learnt = answers(learnt, test.for_model(learnt), kLevels);
  for (std::size_t i = 0; i < 20; ++i) {
    const auto x = test.matrix().row(i);
    EXPECT_EQ(given.interval(x, 0.9, test.predictions[i], std::nullopt, weights[i]).upper, of_given.upper[2 * i + 1]);
    EXPECT_EQ(learnt.interval(x, 0.9, test.predictions[i]).upper, of_learnt.upper[2 * i + 1]);
  }
}

TEST(ModelWeights, LearntWeightsAreThoseOfAColumnWithTheSameNumbers) {
  const Table table(300, 3, 1);
  const Table test(50, 3, 2);
  const Model learnt = examples::calibrated(model_with_shift(), table);
  std::vector<double> weights(300);
  std::vector<double> test_weights(50);
  learnt.weights(table.for_model(learnt), weights);
  learnt.weights(test.for_model(learnt), test_weights);
  const Model given = calibrated_with(model_with_column(), table, weights);

  EXPECT_TRUE(learnt.parts().calibration.has_weights());
  EXPECT_EQ(answers(given, weighted_rows(given, test, test_weights), kLevels),
            answers(learnt, test.for_model(learnt), kLevels));
}

TEST(ModelWeights, EachGroupIsWeightedSeparately) {
  const Table table(300, 3, 1);
  ModelParts parts = parts_without_weights();
  parts.columns[Role::kWeight] = "w";
  parts.columns[Role::kGroup] = "g";
  const Model model(parts);
  Calibration calibration;
  Rows rows = weighted_rows(model, table, some_weights(300));
  const std::vector<double> weights = some_weights(300);
  rows.weights = weights;
  rows.groups = table.groups;
  model.calibrate(calibration, rows, table.y, 0);
  const Model calibrated = model.with_calibration(calibration);

  const SortedScores sorted(calibration);
  const std::vector<double> x = {0, 0, 0};
  for (const std::int64_t group : {0, 1, 2}) {
    const Interval one = calibrated.interval(x, 0.9, 0.0, group, 2.0);
    EXPECT_GT(one.upper, 0);
    const ConformalPredictor alone(parts.rule, calibration);
    std::vector<double> g(1);
    calibrated.parameters({.x = {x.data(), 1, 3}, .predictions = std::vector<double>{0.0}}, {g.data(), 1, 1});
    EXPECT_EQ(one.upper, alone.interval(0.0, g, 0.9, {}, group, 2.0).upper);
  }
}

TEST(ModelWeights, ShardsOfAWeightedModelMerge) {
  const Table table(300, 3, 1);
  const std::vector<double> weights = some_weights(300);
  const Model model = model_with_column();
  CalibrationShard all = CalibrationShard::of(model);
  for (const std::size_t first : {0U, 150U}) {
    CalibrationShard shard = CalibrationShard::of(model);
    shard.add(model, weighted_rows(model, table, weights).slice(first, 150), std::span(table.y).subspan(first, 150),
              first);
    merge_shard(all, deserialise_shard(serialise_shard(shard)));
  }

  EXPECT_EQ(all.calibration, calibrated_with(model, table, weights).parts().calibration);
  const Model plain(parts_without_weights());
  CalibrationShard other = CalibrationShard::of(plain);
  EXPECT_THROW(merge_shard(other, all), Error);
}

TEST(ModelWeights, MissingAndInvalidWeightsAreErrors) {
  const Table table(300, 3, 1);
  const Model model = calibrated_with(model_with_column(), table, some_weights(300));
  const Model plain = examples::calibrated(Model(parts_without_weights()), table);
  EXPECT_THROW((void)answers(model, table.for_model(model), kLevels), Error);
  EXPECT_THROW((void)answers(plain, weighted_rows(plain, table, some_weights(300)), kLevels), Error);
  EXPECT_THROW((void)model.interval(std::vector<double>{0, 0, 0}, 0.9, 0.0), Error);
  EXPECT_THROW((void)plain.interval(std::vector<double>{0, 0, 0}, 0.9, 0.0, std::nullopt, 1.0), Error);
  for (const double bad : {kNaN, 0.0, -1.0}) {
    std::vector<double> weights = some_weights(300);
    weights[17] = bad;
    EXPECT_THROW((void)answers(model, weighted_rows(model, table, weights), kLevels), Error) << bad;
    EXPECT_THROW((void)calibrated_with(model_with_column(), table, weights), Error) << bad;
  }
}

TEST(ModelWeights, UnsupportedCombinationsAreErrors) {
  const Table table(300, 3, 1);
  const Model model = calibrated_with(model_with_column(), table, some_weights(300));
  EXPECT_THROW((void)model.with_guarantee(Guarantee(0.95)), Error);
  OnlineCalibration online(Calibration(), {0.9});
  EXPECT_THROW((void)model.with_online(online), Error);
  EXPECT_THROW(Tracker(model, online), Error);
  ModelParts pooled = parts_without_weights();
  pooled.columns[Role::kWeight] = "w";
  pooled.pool_groups = 5;
  EXPECT_THROW((void)Model(pooled), Error);
  ModelParts clustered = parts_without_weights();
  clustered.columns[Role::kWeight] = "w";
  clustered.calibration = Calibration();
  clustered.calibration.add(0, {.score = 1, .cluster = 7});
  EXPECT_THROW((void)Model(clustered), Error);
  ModelParts both = parts_without_weights();
  both.columns[Role::kWeight] = "w";
  both.shift = examples::trees(3, 1, 5, 2, 42);
  EXPECT_THROW((void)Model(both), Error);
  ModelParts narrow = parts_without_weights();
  narrow.shift = examples::trees(2, 1, 5, 2, 42);
  EXPECT_THROW((void)Model(narrow), Error);
}

TEST(Weights, LearntWeightsAreLimited) {
  EXPECT_EQ(learnt_weight(0), 1);
  EXPECT_EQ(learnt_weight(100), kMaxLearntWeight);
  EXPECT_EQ(learnt_weight(-100), 1 / kMaxLearntWeight);
  EXPECT_EQ(learnt_weight(kNaN), kInfinity);
}

TEST(Weights, TheEffectiveSampleSizeIsTheNumberOfEqualWeights) {
  EXPECT_EQ(effective_sample_size({}), 0);
  EXPECT_DOUBLE_EQ(effective_sample_size(std::vector<double>(40, 1e300)), 40);
  EXPECT_NEAR(effective_sample_size(std::vector<double>{1, 1, 1e-9, 1e-9}), 2, 1e-6);
  Calibration calibration;
  calibration.add(0, std::vector<double>{1, 2, 3}, {}, std::vector<double>{3, 3, 3});
  EXPECT_EQ(calibration.effective_rows(), 3U);
}

}  // namespace
}  // namespace widthwise
