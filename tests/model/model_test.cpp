#include <widthwise/model.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>
#include <utility>

#include <widthwise/error.hpp>

#include "support/allocation_counter.hpp"
#include "support/errors.hpp"
#include "support/model_examples.hpp"
#include "support/numbers.hpp"
#include "support/rule_cases.hpp"

namespace widthwise {
namespace {

/// Parameters that depend on x alone, smoothly.
class Waves final : public RowFunction {
 public:
  Waves(std::size_t inputs, std::size_t outputs) : inputs_(inputs), outputs_(outputs) {}

  [[nodiscard]] std::size_t inputs() const override { return inputs_; }
  [[nodiscard]] std::size_t outputs() const override { return outputs_; }
  void evaluate(MatrixView x, MutableMatrixView out) const override {
    for (std::size_t i = 0; i < x.rows(); ++i) {
      for (std::size_t j = 0; j < outputs_; ++j) {
        const double first = std::isnan(x(i, 0)) ? 0 : x(i, 0);
        out(i, j) = 0.3 * std::sin(first + static_cast<double>(j));
      }
    }
  }

 private:
  std::size_t inputs_;
  std::size_t outputs_;
};

/// Another function, with a count of the rows that it evaluated.
class Counted final : public RowFunction {
 public:
  explicit Counted(std::shared_ptr<const RowFunction> function) : function_(std::move(function)) {}

  [[nodiscard]] std::size_t inputs() const override { return function_->inputs(); }
  [[nodiscard]] std::size_t outputs() const override { return function_->outputs(); }
  void evaluate(MatrixView x, MutableMatrixView out) const override {
    rows_ += x.rows();
    function_->evaluate(x, out);
  }

  /// The rows since the last call.
  [[nodiscard]] std::size_t take_rows() const { return std::exchange(rows_, 0); }

 private:
  std::shared_ptr<const RowFunction> function_;
  mutable std::size_t rows_ = 0;
};

/// A model of 3 features that needs predictions.
ModelParts parts_of(const ConformalRule& rule) {
  ModelParts parts{.features = examples::names(3), .target = "y", .prediction = "f", .rule = rule};
  if (rule.parameter_count() > 0) parts.localizer = std::make_shared<Waves>(4, rule.parameter_count());
  return parts;
}

ModelParts tree_parts(std::size_t features) {
  const auto d = static_cast<std::uint32_t>(features);
  return {.features = examples::names(features),
          .base = examples::trees(d, 1, 6, 3, 1),
          .localizer = examples::trees(d + 1, 2, 8, 3, 2),
          .rule = ConformalRule(make_transform("affine")),
          .unit = 0.5};
}

class EveryModel : public testing::TestWithParam<RuleCase> {};

TEST_P(EveryModel, GivesWhatItsPartsGive) {
  const ConformalRule rule = GetParam().rule();
  ModelParts parts = parts_of(rule);
  parts.unit = 8;
  const examples::Table table(1300, 3, 1);
  const Model model = examples::calibrated(Model(parts), table);

  // By hand, all rows at once.
  std::vector<double> wide;
  std::vector<double> f;
  std::vector<double> y;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    for (const double x : table.matrix().row(i)) wide.push_back(x);
    wide.push_back(table.predictions[i]);
    f.push_back(table.predictions[i] / 8);
    y.push_back(table.y[i] / 8);
  }
  const std::size_t columns = rule.parameter_count();
  std::vector<double> parameters(table.rows() * columns);
  if (columns > 0) {
    parts.localizer->evaluate({wide.data(), table.rows(), 4}, {parameters.data(), table.rows(), columns});
  }
  const PredictionRows rows{f, {parameters.data(), table.rows(), columns}};
  Calibration calibration;
  rule.calibrate(calibration, rows, y, 0);
  ASSERT_EQ(model.parts().calibration, calibration);
  const std::vector<Level> levels{0.5, 0.9};
  std::vector<double> lower(2 * table.rows());
  std::vector<double> upper(2 * table.rows());
  const ConformalPredictor predictor(rule, calibration);
  predictor.intervals(rows, levels, {lower.data(), table.rows(), 2}, {upper.data(), table.rows(), 2});
  const examples::Answers found = examples::answers(model, table.for_model(model), levels);
  EXPECT_EQ(found.predictions, table.predictions);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    ASSERT_EQ(found.lower[i], 8 * lower[i]);
    ASSERT_EQ(found.upper[i], 8 * upper[i]);
  }
  std::vector<double> p_values(table.rows());
  std::vector<double> expected_p_values(table.rows());
  model.p_values(table.for_model(model), table.y, p_values);
  predictor.p_values(rows, y, expected_p_values);
  EXPECT_EQ(p_values, expected_p_values);

  std::vector<double> found_parameters(parameters.size());
  model.parameters(table.for_model(model), {found_parameters.data(), table.rows(), columns});
  EXPECT_EQ(found_parameters, parameters);
  std::vector<double> quantiles(2 * table.rows());
  std::vector<double> expected_quantiles(2 * table.rows());
  model.quantiles(table.for_model(model), levels, {quantiles.data(), table.rows(), 2});
  predictor.quantiles(rows, levels, {expected_quantiles.data(), table.rows(), 2});
  for (double& quantile : expected_quantiles) quantile *= 8;
  EXPECT_EQ(quantiles, expected_quantiles);
}

TEST_P(EveryModel, TheUnitOfTheOutcomesDoesNotMatterToTheLastBit) {
  const ModelParts parts = parts_of(GetParam().rule());
  const examples::Table table(200, 3, 2);
  const Model model = examples::calibrated(Model(parts), table);
  const std::vector<Level> levels{0.8};
  const examples::Answers expected = examples::answers(model, table.for_model(model), levels);
  for (const double unit : {0x1p-500, 0x1p-3, 0x1p40, 0x1p500}) {
    examples::Table scaled = table;
    for (double& y : scaled.y) y *= unit;
    for (double& f : scaled.predictions) f *= unit;
    ModelParts scaled_parts = parts;
    scaled_parts.unit = unit;
    const Model scaled_model = examples::calibrated(Model(scaled_parts), scaled);
    ASSERT_EQ(scaled_model.parts().calibration, model.parts().calibration);
    const examples::Answers found = examples::answers(scaled_model, scaled.for_model(scaled_model), levels);
    for (std::size_t i = 0; i < table.rows(); ++i) {
      ASSERT_EQ(found.lower[i], expected.lower[i] * unit);
      ASSERT_EQ(found.upper[i], expected.upper[i] * unit);
    }
  }
}

TEST_P(EveryModel, OutcomesThatDoNotSurpriseLieInside) {
  ModelParts parts = parts_of(GetParam().rule());
  parts.unit = 2;
  const Model model = examples::calibrated(Model(parts), examples::Table(99, 3, 3));
  const examples::Table table(500, 3, 4);
  std::vector<double> p_values(table.rows());
  model.p_values(table.for_model(model), table.y, p_values);
  const examples::Answers found = examples::answers(model, table.for_model(model), {0.9});
  for (std::size_t i = 0; i < table.rows(); ++i) {
    if (p_values[i] <= 0.1) continue;
    ASSERT_LE(found.lower[i], table.y[i]);
    ASSERT_GE(found.upper[i], table.y[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryModel, testing::ValuesIn(all_rules()), rule_name);

TEST(Model, RowsAreTheSameAloneTogetherAndInAnySplit) {
  // Few and many features: blocks of different sizes.
  for (const std::size_t features : {3U, 700U}) {
    const examples::Table table(1100, features, 5);
    const Model model = examples::calibrated(Model(tree_parts(features)), table);
    const std::vector<Level> levels{0.5, 0.9, 0.99};
    const Rows all = table.for_model(model);
    const examples::Answers together = examples::answers(model, all, levels);
    std::vector<double> predictions(table.rows());
    model.predictions(all, predictions);
    EXPECT_EQ(predictions, together.predictions);
    for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1}, {0, 511}, {511, 513}, {1099, 1}}) {
      const examples::Answers part = examples::answers(model, {.x = all.x.slice(first, count)}, levels);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(part.predictions[i], together.predictions[first + i]);
        for (std::size_t j = 0; j < 3; ++j) {
          ASSERT_EQ(part.lower[3 * i + j], together.lower[3 * (first + i) + j]);
          ASSERT_EQ(part.upper[3 * i + j], together.upper[3 * (first + i) + j]);
        }
      }
    }
    for (std::size_t i = 0; i < table.rows(); i += 7) {
      for (std::size_t j = 0; j < 3; ++j) {
        const Interval alone = model.interval(all.x.row(i), levels[j]);
        ASSERT_EQ(alone.lower, together.lower[3 * i + j]);
        ASSERT_EQ(alone.upper, together.upper[3 * i + j]);
      }
    }
  }
}

TEST(Model, ColumnsOfAWiderMatrixCanBeUsedInPlace) {
  const examples::Table wide(100, 5, 6);
  const Model model = examples::calibrated(Model(tree_parts(3)), examples::Table(50, 3, 7));
  std::vector<double> copy;
  for (std::size_t i = 0; i < wide.rows(); ++i) {
    const auto row = wide.matrix().row(i);
    copy.insert(copy.end(), row.begin() + 1, row.begin() + 4);
  }
  const examples::Answers in_place = examples::answers(model, {.x = {wide.x.data() + 1, 100, 3, 5}}, {0.9});
  EXPECT_EQ(in_place, examples::answers(model, {.x = {copy.data(), 100, 3}}, {0.9}));
}

TEST(Model, CalibratingInPartsIsCalibratingAtOnce) {
  const examples::Table table(1500, 3, 8);
  const Model model(tree_parts(3));
  const Rows all = table.for_model(model);
  Calibration at_once({.capacity = 400, .seed = 3});
  model.calibrate(at_once, {.x = all.x, .groups = table.groups}, table.y, 10);
  Calibration in_parts({.capacity = 400, .seed = 3});
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{700, 800}, {0, 1}, {1, 699}}) {
    model.calibrate(in_parts, {.x = all.x.slice(first, count), .groups = std::span(table.groups).subspan(first, count)},
                    std::span(table.y).subspan(first, count), 10 + first);
  }
  EXPECT_EQ(in_parts, at_once);
}

TEST(Model, CalibratingUnderKeysNeedsNoOrder) {
  const examples::Table table(1500, 3, 8);
  const Model model(tree_parts(3));
  const Rows all = table.for_model(model);
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < table.rows(); ++i) keys.push_back(10 + i);
  Calibration counted({.capacity = 400, .seed = 3});
  model.calibrate(counted, all, table.y, 10);
  Calibration keyed({.capacity = 400, .seed = 3});
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{700, 800}, {0, 1}, {1, 699}}) {
    model.calibrate(keyed, {.x = all.x.slice(first, count)}, std::span(table.y).subspan(first, count),
                    std::span<const std::uint64_t>(keys).subspan(first, count));
  }
  EXPECT_EQ(keyed, counted);
  EXPECT_THROW(model.calibrate(keyed, all, table.y, std::span<const std::uint64_t>(keys).first(3)), Error);
  EXPECT_EQ(keyed, counted);
}

TEST(Model, ARowWithoutAScoreIsNamedAndNoneIsAdded) {
  const Model model(parts_of(ConformalRule(make_transform("exp"))));
  examples::Table table(1000, 3, 9);
  Calibration calibration;
  const Calibration before = calibration;
  const auto refusal = [&] {
    try {
      model.calibrate(calibration, table.for_model(model), table.y, 100);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNotFinite);
      return std::string(error.what());
    }
    return std::string();
  };
  table.y[900] = kNaN;
  EXPECT_NE(refusal().find("row 901 "), std::string::npos);
  table.y[900] = 0;
  table.predictions[800] = kInfinity;
  EXPECT_NE(refusal().find("row 801 "), std::string::npos);
  EXPECT_EQ(calibration, before);
  table.predictions[800] = 0;
  EXPECT_THROW(model.calibrate(calibration, table.for_model(model), table.y, 0xffffffffffffff00U), Error);
  EXPECT_EQ(calibration, before);
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(calibration.rows_seen(), 1000U);
}

TEST(Model, APredictionThatIsNotFiniteIsNotBounded) {
  for (const double unit : {0x1p-400, 1.0, 0x1p400}) {
    ModelParts parts = parts_of(ConformalRule(make_transform("exp")));
    parts.unit = unit;
    examples::Table table(200, 3, 10);
    for (double& y : table.y) y *= unit;
    for (double& f : table.predictions) f *= unit;
    const Model model = examples::calibrated(Model(parts), table);
    for (const double f : {kNaN, kInfinity, -kInfinity, unit < 1 ? 1e300 : kNaN}) {
      const std::vector<double> x{0, 0, 0};
      const Interval interval = model.interval(x, 0.5, f);
      EXPECT_EQ(interval.lower, -kInfinity);
      EXPECT_EQ(interval.upper, kInfinity);
      double p_value = 0;
      model.p_values({.x = {x.data(), 1, 3}, .predictions = {&f, 1}}, std::vector<double>{0.0}, {&p_value, 1});
      EXPECT_EQ(p_value, 1);
    }
  }
}

TEST(Model, BoundsBeyondTheGreatestNumberAreInfinite) {
  ModelParts parts{.prediction = "f", .rule = ConformalRule(make_transform("identity")), .unit = 0x1p500};
  Calibration calibration;
  for (std::uint64_t row = 0; row < 9; ++row) calibration.add(row, {.score = 0x1p600});
  parts.calibration = calibration;
  const Interval interval = Model(parts).interval({}, 0.5, 1.0);
  EXPECT_EQ(interval.lower, -kInfinity);
  EXPECT_EQ(interval.upper, kInfinity);
}

TEST(Model, TheRangeIsOfOutcomesAndNotOfUnits) {
  ModelParts parts = parts_of(ConformalRule(make_transform("exp")));
  const examples::Table table(300, 3, 11);
  parts.unit = 16;
  const Model free = examples::calibrated(Model(parts), table);
  parts.outcome_space = {.low = -0.3, .high = 0.7};
  const Model model = Model(parts).with_calibration(free.parts().calibration);
  const examples::Answers cut = examples::answers(model, table.for_model(model), {0.5});
  const examples::Answers whole = examples::answers(free, table.for_model(free), {0.5});
  for (std::size_t i = 0; i < table.rows(); ++i) {
    ASSERT_EQ(cut.lower[i], std::clamp(whole.lower[i], -0.3, 0.7));
    ASSERT_EQ(cut.upper[i], std::clamp(whole.upper[i], -0.3, 0.7));
    const Interval alone = model.interval(table.matrix().row(i), 0.5, table.predictions[i]);
    ASSERT_EQ(alone.lower, cut.lower[i]);
    ASSERT_EQ(alone.upper, cut.upper[i]);
  }
  EXPECT_EQ(model.interval(table.matrix().row(0), 0.5, kNaN).lower, -0.3);
  EXPECT_EQ(model.interval(table.matrix().row(0), 0.5, kNaN).upper, 0.7);
}

TEST(Model, GroupsAreNeededWhereTheCalibrationHasThem) {
  const Model bare(tree_parts(3));
  const examples::Table table(600, 3, 12);
  Calibration calibration;
  bare.calibrate(calibration, {.x = table.matrix(), .groups = table.groups}, table.y, 0);
  const Model model = bare.with_calibration(calibration);
  EXPECT_THROW((void)examples::answers(model, {.x = table.matrix()}, {0.9}), Error);
  EXPECT_THROW((void)model.interval(table.matrix().row(0), 0.9), Error);
  const examples::Answers all = examples::answers(model, {.x = table.matrix(), .groups = table.groups}, {0.9});
  // Each group is as if it were alone.
  for (std::size_t i = 0; i < table.rows(); i += 97) {
    Calibration own;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (table.groups[row] == table.groups[i]) {
        bare.calibrate(own, {.x = table.matrix().slice(row, 1)}, {&table.y[row], 1}, row);
      }
    }
    const Interval alone = bare.with_calibration(own).interval(table.matrix().row(i), 0.9);
    EXPECT_EQ(alone.lower, all.lower[i]);
    EXPECT_EQ(alone.upper, all.upper[i]);
  }
}

TEST(Model, AcceptsNoRows) {
  const Model model(tree_parts(3));
  const examples::Answers none = examples::answers(model, {.x = {nullptr, 0, 3}}, {0.9});
  EXPECT_TRUE(none.predictions.empty());
  Calibration calibration;
  model.calibrate(calibration, {.x = {nullptr, 0, 3}}, {}, 0);
  EXPECT_EQ(calibration.rows_seen(), 0U);
}

TEST(Model, AModelOfPredictionsAloneNeedsNoFeatures) {
  const ModelParts parts{
      .prediction = "f", .localizer = examples::trees(1, 1, 4, 2, 3), .rule = ConformalRule(make_transform("exp"))};
  const examples::Table table(200, 0, 13);
  const Model model = examples::calibrated(Model(parts), table);
  const examples::Answers found = examples::answers(model, table.for_model(model), {0.9});
  EXPECT_EQ(model.interval({}, 0.9, table.predictions[7]).lower, found.lower[7]);
  EXPECT_LT(found.upper[7], kInfinity);
}

TEST(Model, RowsOfAnotherShapeAreRefused) {
  const Model with_base(tree_parts(3));
  const Model without(parts_of(ConformalRule(make_transform("exp"))));
  const examples::Table table(10, 3, 14);
  const std::vector<double> nine(9);
  std::vector<double> out(10);
  const MutableMatrixView bounds{out.data(), 10, 1};
  const std::vector<Level> levels{0.9};
  const auto expect_refusal = [](ErrorCode code, const std::function<void()>& work) { expect_error(code, "", work); };
  const auto mismatch = [&](const std::function<void()>& work) { expect_refusal(ErrorCode::kShapeMismatch, work); };
  mismatch([&] { with_base.predictions({.x = {table.x.data(), 10, 2}}, out); });
  mismatch([&] { with_base.predictions({.x = table.matrix(), .predictions = table.predictions}, out); });
  mismatch([&] { with_base.predictions({.x = table.matrix()}, std::span(out).first(9)); });
  mismatch([&] { without.predictions({.x = table.matrix()}, out); });
  mismatch([&] { without.predictions({.x = table.matrix(), .predictions = nine}, out); });
  mismatch([&] { with_base.intervals({.x = table.matrix()}, levels, out, bounds, bounds.slice(0, 9)); });
  mismatch([&] { with_base.intervals({.x = table.matrix()}, levels, out, {out.data(), 5, 2}, bounds); });
  mismatch([&] { with_base.p_values({.x = table.matrix()}, nine, out); });
  mismatch([&] { with_base.p_values({.x = table.matrix()}, table.y, std::span(out).first(9)); });
  mismatch([&] { (void)with_base.interval(nine, 0.9); });
  Calibration calibration;
  mismatch([&] { with_base.calibrate(calibration, {.x = table.matrix()}, nine, 0); });
  mismatch([&] {
    with_base.calibrate(calibration, {.x = table.matrix(), .groups = std::span(table.groups).first(9)}, table.y, 0);
  });
  expect_refusal(ErrorCode::kInvalidArgument, [&] { (void)with_base.interval(table.matrix().row(0), 0.9, 1.0); });
  expect_refusal(ErrorCode::kInvalidArgument, [&] { (void)without.interval(table.matrix().row(0), 0.9); });
}

TEST(Model, PartsThatDoNotFitAreRefused) {
  const auto expect_refusal = [](const char* why, ErrorCode code, const std::function<void(ModelParts&)>& spoil) {
    ModelParts parts = tree_parts(3);
    EXPECT_NO_THROW((void)Model(parts));
    spoil(parts);
    SCOPED_TRACE(why);
    expect_error(code, "", [&] { (void)Model(parts); });
  };
  using P = ModelParts;
  const ErrorCode shape = ErrorCode::kShapeMismatch;
  const ErrorCode invalid = ErrorCode::kInvalidArgument;
  expect_refusal("base inputs", shape, [](P& p) { p.base = examples::trees(2, 1, 1, 1, 1); });
  expect_refusal("base outputs", shape, [](P& p) { p.base = examples::trees(3, 3, 1, 1, 1); });
  expect_refusal("quantiles that the localizer does not read", shape,
                 [](P& p) { p.base = examples::trees(3, 2, 1, 1, 1); });
  expect_refusal("upper quantiles beside a base model", invalid, [](P& p) { p.upper_prediction = "f"; });
  expect_refusal("one column of two quantiles", invalid, [](P& p) {
    p.base = nullptr;
    p.localizer = examples::trees(5, 2, 1, 1, 1);
    p.prediction = "f";
    p.upper_prediction = "f";
  });
  expect_refusal("localizer inputs", shape, [](P& p) { p.localizer = examples::trees(3, 2, 1, 1, 1); });
  expect_refusal("localizer outputs", shape, [](P& p) { p.localizer = examples::trees(4, 1, 1, 1, 1); });
  expect_refusal("two sides", shape,
                 [](P& p) { p.rule = ConformalRule(make_transform("affine"), Score::kAbsolute, Sides::kTwo); });
  expect_refusal("expected a localizer", invalid, [](P& p) { p.localizer = nullptr; });
  expect_refusal("a localizer for nothing", invalid, [](P& p) { p.rule = ConformalRule(make_transform("identity")); });
  expect_refusal("a prediction nobody reads", invalid, [](P& p) { p.prediction = "f"; });
  expect_refusal("no prediction", invalid, [](P& p) { p.base = nullptr; });
  expect_refusal("nameless feature", invalid, [](P& p) { p.features[1] = ""; });
  expect_refusal("same name", invalid, [](P& p) { p.features[2] = p.features[0]; });
  expect_refusal("too many names", shape, [](P& p) { p.features.emplace_back("more"); });
  for (const double unit : {0.0, -1.0, 3.0, 1 + 0x1p-52, kInfinity, kNaN, 0x1p501, 0x1p-501, 0x1p-1074}) {
    expect_refusal("unit", invalid, [&](P& p) { p.unit = unit; });
  }
  expect_refusal("empty range", invalid, [](P& p) { p.outcome_space = {.low = 1, .high = 0}; });
  expect_refusal("range above all", invalid, [](P& p) { p.outcome_space.low = kInfinity; });
  expect_refusal("range below all", invalid, [](P& p) { p.outcome_space.high = -kInfinity; });
  expect_refusal("no range", invalid, [](P& p) { p.outcome_space.low = kNaN; });
  expect_refusal("no level", invalid, [](P& p) { p.levels.clear(); });
  expect_refusal("level twice", invalid, [](P& p) { p.levels = {0.9, 0.8, Level::parse("0.90")}; });
  expect_refusal("50,000 levels", invalid, [](P& p) {
    p.levels.clear();
    for (int i = 1; i <= 50'000; ++i) p.levels.push_back(Level::parse("0." + std::to_string(100'000 + i)));
  });
  expect_refusal("residuals fall", invalid, [](P& p) { p.fit_residuals = {1, 2, 1.5}; });
  for (const double residual : {-1.0, kNaN, kInfinity}) {
    expect_refusal("residual", ErrorCode::kNotFinite, [&](P& p) { p.fit_residuals = {residual}; });
  }
  expect_refusal("weights", invalid, [](P& p) { p.calibration.add(0, {.score = 1, .weight = 2}); });
}

/// A model that reads two quantiles, and one that predicts them.
TEST(Model, PredictsFromTheCentreOfTwoQuantiles) {
  const examples::Table table(70, 3, 21);
  ModelParts parts = tree_parts(3);
  parts.base = examples::trees(3, 2, 6, 3, 1);
  parts.localizer = examples::trees(5, 2, 8, 3, 2);
  const Model own = examples::calibrated(Model(parts), table);
  const std::size_t n = table.rows();
  std::vector<double> pairs(2 * n);
  parts.base->evaluate(table.matrix(), {pairs.data(), n, 2});
  parts.base = nullptr;
  parts.prediction = "q05";
  parts.upper_prediction = "q95";
  parts.calibration = own.parts().calibration;
  const Model reading(parts);

  EXPECT_TRUE(own.predicts_quantiles());
  EXPECT_TRUE(reading.predicts_quantiles());
  EXPECT_EQ(reading.prediction_columns(), (std::vector<std::string>{"q05", "q95"}));
  const Rows rows{.x = table.matrix(), .predictions = pairs};
  const examples::Answers expected = examples::answers(own, {.x = table.matrix()}, {0.8, 0.9});
  EXPECT_EQ(examples::answers(reading, rows, {0.8, 0.9}), expected);
  std::vector<double> centres(n);
  reading.predictions(rows, centres);
  EXPECT_EQ(centres, expected.predictions);
  for (std::size_t i = 0; i < n; ++i) {
    const double lower = pairs[2 * i];
    const double upper = pairs[2 * i + 1];
    EXPECT_DOUBLE_EQ(centres[i], (lower + upper) / 2);
    // As a row with one prediction, half the distance of the quantiles and the centre as the last inputs.
    const double wide[] = {table.x[3 * i], table.x[3 * i + 1], table.x[3 * i + 2], std::abs(upper - lower) / 2,
                           centres[i]};
    double parameters[2];
    parts.localizer->evaluate({wide, 1, 5}, {parameters, 1, 2});
    double found[2];
    reading.parameters(rows.slice(i, 1), {found, 1, 2});
    EXPECT_EQ(found[0], parameters[0]);
    EXPECT_EQ(found[1], parameters[1]);
    const Interval one = reading.interval(table.matrix().row(i), 0.9, RowPrediction(lower, upper));
    EXPECT_EQ(one.lower, own.interval(table.matrix().row(i), 0.9).lower);
    EXPECT_EQ(one.lower, expected.lower[2 * i + 1]);
    EXPECT_EQ(one.upper, expected.upper[2 * i + 1]);
  }
  expect_error(ErrorCode::kInvalidArgument, "a lower and an upper quantile; pass both",
               [&] { (void)reading.interval(table.matrix().row(0), 0.9, 1.5); });
  expect_error(ErrorCode::kShapeMismatch, "a lower and an upper one per row",
               [&] { reading.predictions({.x = table.matrix(), .predictions = centres}, centres); });
}

TEST(Model, PredictsARowWithOneEvaluation) {
  const examples::Table table(100, 3, 22);
  ModelParts parts = tree_parts(3);
  const auto base = std::make_shared<Counted>(parts.base);
  const auto localizer = std::make_shared<Counted>(parts.localizer);
  parts.base = base;
  parts.localizer = localizer;
  const Model model = examples::calibrated(Model(parts), table);
  const examples::Answers expected = examples::answers(model, {.x = table.matrix()}, {0.9});
  (void)base->take_rows();
  (void)localizer->take_rows();
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto [prediction, lower, upper] = model.predict(table.matrix().row(i), 0.9);
    EXPECT_EQ(prediction, expected.predictions[i]);
    EXPECT_EQ(lower, expected.lower[i]);
    EXPECT_EQ(upper, expected.upper[i]);
  }
  EXPECT_EQ(base->take_rows(), table.rows());
  EXPECT_EQ(localizer->take_rows(), table.rows());
}

TEST(Model, ObservesABatchWithOneEvaluation) {
  const examples::Table table(1300, 3, 23);
  ModelParts parts = tree_parts(3);
  const auto base = std::make_shared<Counted>(parts.base);
  parts.base = base;
  const Model model = examples::calibrated(Model(parts), table);
  OnlineCalibration online(model.parts().calibration, {0.8, 0.9});
  const std::size_t n = table.rows();
  const Rows rows{.x = table.matrix()};
  examples::Answers issued{std::vector<double>(n), std::vector<double>(2 * n), std::vector<double>(2 * n)};
  const std::uint64_t batch =
      model.issue(online, rows, issued.predictions, {issued.lower.data(), n, 2}, {issued.upper.data(), n, 2});
  std::vector<double> outcomes = table.y;
  outcomes[7] = kNaN;  // not known yet
  (void)base->take_rows();
  model.observe(online, batch, rows, outcomes);
  EXPECT_EQ(base->take_rows(), n);
  EXPECT_EQ(online.rows_pending(), 1U);
  for (std::size_t j = 0; j < 2; ++j) {
    std::uint64_t covered = 0;
    for (std::size_t i = 0; i < n; ++i) {
      covered += issued.lower[2 * i + j] <= outcomes[i] && outcomes[i] <= issued.upper[2 * i + j] ? 1U : 0U;
    }
    EXPECT_EQ(online.coverage(j).covered, covered);
    EXPECT_EQ(online.coverage(j).rows, n - 1);
  }
}

TEST(Model, OneRowTakesNoAllocation) {
  if (!counts_allocations()) GTEST_SKIP() << "the sanitizer has its own allocator";
  for (const std::size_t features : {1U, 512U}) {
    const examples::Table table(200, features, 15);
    ModelParts parts = parts_of(ConformalRule(make_transform("mixture"), Score::kAbsolute, Sides::kTwo));
    parts.features = examples::names(features);
    parts.localizer = std::make_shared<Waves>(features + 1, 16);
    const Model without_base = examples::calibrated(Model(parts), table);
    parts.base = std::make_shared<Waves>(features, 1);
    parts.prediction.clear();
    const Model with_base = examples::calibrated(Model(parts), table);
    const Level level = 0.9;
    double sum = 0;
    const std::size_t before = allocation_count();
    for (std::size_t i = 0; i < table.rows(); ++i) {
      sum += with_base.interval(table.matrix().row(i), level).upper;
      sum += without_base.interval(table.matrix().row(i), level, table.predictions[i]).upper;
    }
    EXPECT_EQ(allocation_count(), before);
    EXPECT_TRUE(std::isfinite(sum));
  }
}

TEST(ModelThreads, GetTheAnswersThatOneGets) {
  const examples::Table table(300, 3, 21);
  for (const bool trees : {true, false}) {
    const Model model = examples::calibrated(
        Model(ModelParts{.features = examples::names(3),
                         .base = trees ? examples::trees(3, 1, 20, 3, 1) : examples::net(3, 1, 1),
                         .localizer = trees ? examples::trees(4, 1, 20, 3, 2) : examples::net(4, 1, 2),
                         .rule = ConformalRule(make_transform("density"))}),
        table);
    const std::vector<Level> levels{0.8, 0.9};
    const examples::Answers alone = examples::answers(model, table.for_model(model), levels);
    std::vector<examples::Answers> together(4);
    {
      std::vector<std::jthread> threads;
      for (examples::Answers& mine : together) {
        threads.emplace_back([&] { mine = examples::answers(model, table.for_model(model), levels); });
      }
    }
    for (const examples::Answers& one : together) EXPECT_TRUE(one == alone);
  }
}

}  // namespace
}  // namespace widthwise
