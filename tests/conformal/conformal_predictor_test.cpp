#include <widthwise/conformal_predictor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "support/allocation_counter.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"
#include "support/rule_cases.hpp"
#include "support/statistics.hpp"

namespace widthwise {
namespace {

/// n rows with their outcomes.
struct RuleRows {
  std::vector<double> predictions;
  std::vector<double> outcomes;
  std::vector<double> parameters;
  std::size_t columns = 0;

  [[nodiscard]] PredictionRows view() const { return {predictions, {parameters.data(), predictions.size(), columns}}; }
};

enum class Errors { kNormal, kTied, kHeavy };

RuleRows draw_rows(const ConformalRule& rule, std::size_t n, Errors errors, Random& random) {
  RuleRows rows;
  rows.columns = rule.parameter_count();
  for (std::size_t i = 0; i < n; ++i) {
    const double x = random.normal();
    double f = 3 * x;
    double y = f + std::exp(0.5 * x) * random.normal();
    if (errors == Errors::kTied) {
      f = std::round(f) / 10;
      y = f + std::round(2 * random.normal()) / 10;
    }
    if (errors == Errors::kHeavy) y = f + std::exp(0.5 * x) * random.normal() / (0.01 + std::abs(random.normal()));
    rows.predictions.push_back(f);
    rows.outcomes.push_back(y);
    for (std::size_t j = 0; j < rows.columns; ++j) {
      rows.parameters.push_back(errors == Errors::kTied ? std::round(x) / 3 : 0.4 * x + 0.1 * static_cast<double>(j));
    }
  }
  return rows;
}

Calibration calibration_of(const ConformalRule& rule, const RuleRows& rows) {
  Calibration calibration;
  rule.calibrate(calibration, rows.view(), rows.outcomes, 0);
  return calibration;
}

class EveryRule : public testing::TestWithParam<RuleCase> {};

TEST_P(EveryRule, TheIntervalAtARowsOwnScoreContainsTheRow) {
  const ConformalRule rule = GetParam().rule();
  Random random(5);
  for (const Errors errors : {Errors::kNormal, Errors::kTied, Errors::kHeavy}) {
    for (int trial = 0; trial < 500; ++trial) {
      const RuleRows row = draw_rows(rule, 1, errors, random);
      Calibration calibration;
      rule.calibrate(calibration, row.view(), row.outcomes, 0);
      const Interval interval = ConformalPredictor(rule, calibration).interval(row.predictions[0], row.parameters, 0.5);
      ASSERT_LE(interval.lower, row.outcomes[0]);
      ASSERT_GE(interval.upper, row.outcomes[0]);
    }
  }
}

/// Repeatedly draw a calibration set and a test row, and compare the coverage with the level.
void check_coverage(const RuleCase& rule_case, std::uint64_t trials) {
  const ConformalRule rule = rule_case.rule();
  const std::vector<Level> levels{0.5, 0.8, 0.9, 0.95, 0.99};
  const std::size_t n = 119;  // 0.99 needs 99
  for (const Errors errors : {Errors::kNormal, Errors::kTied, Errors::kHeavy}) {
    Random random(7 + static_cast<std::uint64_t>(errors));
    std::vector<std::uint64_t> covered(levels.size());
    std::vector<double> lower(levels.size());
    std::vector<double> upper(levels.size());
    for (std::uint64_t trial = 0; trial < trials; ++trial) {
      Calibration calibration;
      const RuleRows rows = draw_rows(rule, n, errors, random);
      rule.calibrate(calibration, rows.view(), rows.outcomes, 0);
      const RuleRows test = draw_rows(rule, 1, errors, random);
      ConformalPredictor(rule, calibration)
          .intervals(test.view(), levels, {lower.data(), 1, levels.size()}, {upper.data(), 1, levels.size()});
      for (std::size_t j = 0; j < levels.size(); ++j) {
        if (lower[j] <= test.outcomes[0] && test.outcomes[0] <= upper[j]) ++covered[j];
      }
    }
    for (std::size_t j = 0; j < levels.size(); ++j) {
      const double probability = static_cast<double>(levels[j].rank(n)) / static_cast<double>(n + 1);
      EXPECT_GE(covered[j], binomial_lower_bound(trials, probability, 1e-6)) << levels[j].to_string();
      // Without ties, and where no set is empty, the coverage is exactly k / (n + 1).
      if (errors == Errors::kTied || rule_case.transform == "density" || rule_case.transform == "affine") continue;
      EXPECT_LE(covered[j], binomial_upper_bound(trials, probability, 1e-6)) << levels[j].to_string();
    }
  }
}

TEST_P(EveryRule, CoverageIsWhatTheLevelSays) { check_coverage(GetParam(), 300); }

class SlowCoverage : public testing::TestWithParam<RuleCase> {};

TEST_P(SlowCoverage, OverTenThousandCalibrationsIsWhatTheLevelSays) {
  check_coverage(GetParam(), slow_repeats(10'000));
}

INSTANTIATE_TEST_SUITE_P(AllRules, SlowCoverage, testing::ValuesIn(all_rules()), rule_name);

TEST_P(EveryRule, HalfWidthsOfAScoreReachTheRowsOfThatScore) {
  const ConformalRule rule = GetParam().rule();
  Random random(6);
  for (const Errors errors : {Errors::kNormal, Errors::kTied, Errors::kHeavy}) {
    RuleRows rows = draw_rows(rule, 300, errors, random);
    std::vector<double> scores(300);
    rule.scores(rows.view(), rows.outcomes, scores);
    std::vector<double> lower(300);
    std::vector<double> upper(300);
    rule.half_widths(MatrixView::column(scores), rows.view().parameters, MutableMatrixView::column(lower),
                     MutableMatrixView::column(upper));
    for (std::size_t i = 0; i < 300; ++i) {
      const double residual = rows.outcomes[i] - rows.predictions[i];
      ASSERT_LE(std::abs(residual), residual > 0 ? upper[i] : lower[i]);
    }
  }
  const double nan = std::nan("");
  const std::vector<double> parameters(rule.parameter_count());
  double lower = 0;
  double upper = 0;
  rule.half_widths({&nan, 1, 1}, {parameters.data(), 1, parameters.size()}, {&lower, 1, 1}, {&upper, 1, 1});
  EXPECT_TRUE(std::isinf(lower) && std::isinf(upper));
}

TEST_P(EveryRule, BatchesAreTheirRows) {
  const ConformalRule rule = GetParam().rule();
  Random random(9);
  const ConformalPredictor predictor(rule, calibration_of(rule, draw_rows(rule, 400, Errors::kNormal, random)));
  const std::size_t n = 1500;
  const RuleRows rows = draw_rows(rule, n, Errors::kNormal, random);
  for (const std::size_t k : {std::size_t{1}, std::size_t{3}}) {
    std::vector<Level> levels{0.9, 0.5, 0.99};
    levels.resize(k, Level(0.5));
    std::vector<double> both(n * 2 * k);  // rows x {lower, upper} x levels, as Python has it
    predictor.intervals(rows.view(), levels, {both.data(), n, k, 2 * k}, {both.data() + k, n, k, 2 * k});
    for (std::size_t i = 0; i < n; i += 7) {
      for (std::size_t j = 0; j < k; ++j) {
        const Interval single = predictor.interval(rows.predictions[i], rows.view().parameters.row(i), levels[j]);
        ASSERT_EQ(both[i * 2 * k + j], single.lower);
        ASSERT_EQ(both[i * 2 * k + k + j], single.upper);
      }
    }
  }
}

TEST_P(EveryRule, AnOutcomeIsOutsideExactlyWhenItsPValueIsSmall) {
  const ConformalRule rule = GetParam().rule();
  Random random(11);
  const ConformalPredictor predictor(rule, calibration_of(rule, draw_rows(rule, 99, Errors::kNormal, random)));
  const RuleRows rows = draw_rows(rule, 300, Errors::kNormal, random);
  std::vector<double> p_values(300);
  predictor.p_values(rows.view(), rows.outcomes, p_values);
  for (std::size_t i = 0; i < 300; ++i) {
    for (const double level : {0.5, 0.9}) {
      const Interval interval = predictor.interval(rows.predictions[i], rows.view().parameters.row(i), level);
      const bool inside = interval.lower <= rows.outcomes[i] && rows.outcomes[i] <= interval.upper;
      ASSERT_EQ(inside, p_values[i] > 1 - level + 1e-12) << "p-value " << p_values[i] << " at level " << level;
    }
  }
}

/// Every row of a set is the test row once, with the others as calibration rows: the number of these rows inside the
/// bound of a probability is the rank without ties, and at least the rank with ties.
TEST_P(EveryRule, QuantilesAscendAndHaveExactRanks) {
  const ConformalRule rule = GetParam().rule();
  const std::vector<Level> probabilities{0.02, 0.1, 0.3, 0.45, 0.499, 0.5, 0.501, 0.55, 0.7, 0.9, 0.97};
  const std::size_t k = probabilities.size();
  const std::size_t n = 29;
  for (const Errors errors : {Errors::kNormal, Errors::kTied, Errors::kHeavy}) {
    // Predictions that are too low, right and too high, so that bounds lie on either side.
    for (const double shift : {-1.5, 0.0, 0.8}) {
      Random random(13);
      RuleRows rows = draw_rows(rule, n + 1, errors, random);
      for (double& f : rows.predictions) f += errors == Errors::kTied ? std::round(10 * shift) / 10 : shift;
      std::vector<double> scores(n + 1);
      rule.scores(rows.view(), rows.outcomes, scores);
      std::vector<std::uint64_t> inside(k);
      for (std::size_t test = 0; test <= n; ++test) {
        Calibration calibration;
        for (std::size_t i = 0; i <= n; ++i) {
          if (i == test) continue;
          calibration.add(i, {.score = scores[i], .above = rows.outcomes[i] > rows.predictions[i]});
        }
        std::vector<double> out(k);
        const PredictionRows row{{&rows.predictions[test], 1}, rows.view().parameters.slice(test, 1)};
        ConformalPredictor(rule, calibration).quantiles(row, probabilities, {out.data(), 1, k});
        for (std::size_t j = 0; j < k; ++j) {
          if (j > 0) {
            ASSERT_GE(out[j], out[j - 1]) << probabilities[j].to_string();
          }
          const double y = rows.outcomes[test];
          inside[j] += (probabilities[j] >= Level(0.5) ? y <= out[j] : y >= out[j]) ? 1U : 0U;
        }
      }
      for (std::size_t j = 0; j < k; ++j) {
        const Level level = std::max(probabilities[j], probabilities[j].complement());
        EXPECT_GE(inside[j], level.rank(n)) << probabilities[j].to_string() << ", shift " << shift;
        if (errors == Errors::kTied || rule.may_be_empty()) continue;
        EXPECT_EQ(inside[j], level.rank(n)) << probabilities[j].to_string() << ", shift " << shift;
      }
    }
  }
}

TEST(ConformalPredictor, TheMedianOfAPredictionThatIsTooHighLiesBelowIt) {
  const ConformalRule rule(make_transform("identity"));
  Calibration calibration;
  for (std::uint64_t i = 0; i < 9; ++i) calibration.add(i, {.score = static_cast<double>(i + 1), .above = i == 8});
  const ConformalPredictor predictor(rule, calibration);
  const double f = 100;
  const std::vector<Level> probabilities{0.2, 0.4, 0.5, 0.8, 0.9};
  std::vector<double> out(5);
  predictor.quantiles({{&f, 1}, {}}, probabilities, {out.data(), 1, 5});
  const std::vector<double> expected{93, 95, 96, 99, 109};  // ranks 2, 4, 5, 8 and 9 of 92, 93, ..., 99, 109
  for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(out[j], expected[j], 1e-12);
  EXPECT_LE(out[1], 95);
  EXPECT_GE(out[2], 96);
  // The range of outcomes, and a prediction that is missing.
  predictor.quantiles({{&f, 1}, {}}, probabilities, {out.data(), 1, 5}, {.low = 97, .high = 98});
  EXPECT_EQ(out, (std::vector<double>{97, 97, 97, 98, 98}));
  const double missing = std::numeric_limits<double>::quiet_NaN();
  predictor.quantiles({{&missing, 1}, {}}, probabilities, {out.data(), 1, 5});
  EXPECT_EQ(out, (std::vector<double>{-kInfinity, -kInfinity, kInfinity, kInfinity, kInfinity}));
}

TEST_P(EveryRule, ARowWithoutAFiniteBoundHasAnInfiniteInterval) {
  const ConformalRule rule = GetParam().rule();
  Random random(15);
  const RuleRows rows = draw_rows(rule, 50, Errors::kNormal, random);
  Calibration calibration;
  rule.calibrate(calibration, rows.view(), rows.outcomes, 0);
  const ConformalPredictor predictor(rule, calibration);
  const std::vector<double> parameters(rule.parameter_count(), 0.3);
  const auto expect_infinite = [](const Interval& interval) {
    EXPECT_EQ(interval.lower, -kInfinity);
    EXPECT_EQ(interval.upper, kInfinity);
  };
  expect_infinite(predictor.interval(kNaN, parameters, 0.5));
  expect_infinite(predictor.interval(1.0, parameters, 0.99));  // needs 99 rows
  expect_infinite(ConformalPredictor(rule, Calibration()).interval(1.0, parameters, 0.5));
  if (!parameters.empty()) {
    const std::vector<double> unknown(rule.parameter_count(), kNaN);
    expect_infinite(predictor.interval(1.0, unknown, 0.5));
  }
}

INSTANTIATE_TEST_SUITE_P(AllRules, EveryRule, testing::ValuesIn(all_rules()), rule_name);

/// Rows of one number each around a prediction of 0, with the plain score.
ConformalPredictor plain_predictor(const std::vector<double>& outcomes, std::span<const std::int64_t> groups = {},
                                   std::span<const double> weights = {}) {
  const ConformalRule rule(make_transform("identity"));
  const std::vector<double> predictions(outcomes.size(), 0.0);
  Calibration calibration;
  rule.calibrate(calibration, {predictions, {}, groups, weights}, outcomes, 0);
  return {rule, calibration};
}

TEST(ScaleTransforms, WithCorrespondingParametersGiveTheSameIntervals) {
  Random random(17);
  const std::size_t n = 500;
  const TransformOptions options;
  std::vector<double> predictions(n);
  std::vector<double> outcomes(n);
  std::vector<double> erc(n);
  std::vector<double> g(n);
  for (std::size_t i = 0; i < n; ++i) {
    erc[i] = random.normal();
    g[i] = -std::log(erc[i] * erc[i] + options.gamma);  // e^-g = g'^2 + gamma
    outcomes[i] = random.normal() * (0.1 + std::abs(erc[i]));
  }
  const std::vector<Level> levels{0.5, 0.9, 0.99};
  const auto bounds = [&](const char* name, const std::vector<double>& parameters) {
    const ConformalRule rule(make_transform(name), Score::kSquared);
    Calibration calibration;
    rule.calibrate(calibration, {predictions, MatrixView::column(parameters)}, outcomes, 0);
    std::vector<double> lower(n * 3);
    std::vector<double> upper(n * 3);
    ConformalPredictor(rule, calibration)
        .intervals({predictions, MatrixView::column(parameters)}, levels, {lower.data(), n, 3}, {upper.data(), n, 3});
    return upper;
  };
  const auto expected = bounds("exp", g);
  for (const char* name : {"linear", "sigma", "erc"}) {
    const auto found = bounds(name, std::string(name) == "erc" ? erc : g);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-12 * expected[i]) << name;
  }
}

TEST(ConformalPredictor, CutsIntervalsToTheRangeOfOutcomes) {
  const ConformalPredictor predictor = plain_predictor({1, 2, 3, 4, 5});
  const Interval uncut = predictor.interval(1, {}, 0.5);
  EXPECT_NEAR(uncut.lower, -2, 1e-14);
  EXPECT_NEAR(uncut.upper, 4, 1e-14);
  const Interval cut = predictor.interval(1, {}, 0.5, {0, 3.5});
  EXPECT_EQ(cut.lower, 0);
  EXPECT_EQ(cut.upper, 3.5);
  // A prediction outside the range still gives an interval inside it.
  const Interval outside = predictor.interval(-7, {}, 0.5, {0, 3.5});
  EXPECT_EQ(outside.lower, 0);
  EXPECT_EQ(outside.upper, 0);
  const Interval unbounded = predictor.interval(kNaN, {}, 0.5, {0, 3.5});
  EXPECT_EQ(unbounded.lower, 0);
  EXPECT_EQ(unbounded.upper, 3.5);
  EXPECT_THROW((void)predictor.interval(1, {}, 0.5, {3, 2}), Error);
}

TEST(ConformalPredictor, AGroupNotSeenInCalibrationGetsAnInfiniteInterval) {
  const std::vector<std::int64_t> groups{1, 1, 1, 2, 2, 2};
  const ConformalPredictor predictor = plain_predictor({1, 2, 3, 10, 20, 30}, groups);
  const std::vector<double> predictions(3, 0.0);
  const std::vector<std::int64_t> asked{2, 1, 3};
  const Level level(0.5);
  std::vector<double> lower(3);
  std::vector<double> upper(3);
  predictor.intervals({predictions, {}, asked}, {&level, 1}, MutableMatrixView::column(lower),
                      MutableMatrixView::column(upper));
  EXPECT_NEAR(upper[0], 20, 1e-13);
  EXPECT_NEAR(upper[1], 2, 1e-14);
  EXPECT_EQ(upper[2], kInfinity);
  EXPECT_EQ(lower[2], -kInfinity);
  EXPECT_THROW((void)predictor.interval(0, {}, 0.5), Error);  // which group?
}

TEST(ConformalPredictor, RefusesGroupsThatTheCalibrationDoesNotHave) {
  const ConformalPredictor predictor = plain_predictor({1, 2, 3, 10, 20, 30});
  const std::vector<double> predictions(2, 0.0);
  const std::vector<std::int64_t> groups{0, 1};
  std::vector<double> out(2);
  const auto refused = [&](const PredictionRows& rows) {
    return message_of([&] { predictor.p_values(rows, predictions, out); }, ErrorCode::kInvalidArgument);
  };
  EXPECT_NE(refused({predictions, {}, groups}).find("the calibration has none; calibrate with groups"),
            std::string::npos);
  EXPECT_NO_THROW(predictor.p_values({predictions, {}}, predictions, out));
}

TEST(ConformalPredictor, TheTestPointsOwnWeightWidensItsInterval) {
  const std::vector<double> weights{1, 1, 1, 1};
  std::vector<double> uneven = weights;
  uneven[3] = 2;
  const ConformalPredictor predictor = plain_predictor({1, 2, 3, 4}, {}, uneven);
  const std::vector<double> predictions(3, 0.0);
  const std::vector<double> ratios{0.5, 3, 100};
  const Level level(0.5);
  std::vector<double> lower(3);
  std::vector<double> upper(3);
  predictor.intervals({predictions, {}, {}, ratios}, {&level, 1}, MutableMatrixView::column(lower),
                      MutableMatrixView::column(upper));
  EXPECT_NEAR(upper[0], 3, 1e-13);                            // 3 of 5.5
  EXPECT_NEAR(upper[1], 4, 1e-13);                            // 4 of 8
  EXPECT_EQ(upper[2], kInfinity);                             // 5 of 105
  EXPECT_THROW((void)predictor.interval(0, {}, 0.5), Error);  // whose weight?
}

TEST(ConformalPredictor, TooFewRowsAreAnErrorWhenAskedFor) {
  const ConformalPredictor predictor = plain_predictor({1, 2, 3});
  const double prediction = 0;
  const Level level(0.9);
  double lower = 0;
  double upper = 0;
  expect_error(ErrorCode::kTooFewRows, "0.9", [&] {
    predictor.intervals({{&prediction, 1}, {}}, {&level, 1}, {&lower, 1, 1}, {&upper, 1, 1}, {}, WhenTooFew::kError);
  });
}

TEST(ConformalPredictor, ARowWithoutAScoreIsRefusedInCalibration) {
  const ConformalRule rule(make_transform("identity"));
  Calibration calibration;
  const std::vector<double> predictions{1, 2, 3};
  const std::vector<double> outcomes{1, kNaN, 3};
  expect_error(ErrorCode::kNotFinite, "row 2 ", [&] { rule.calibrate(calibration, {predictions, {}}, outcomes, 40); });
  EXPECT_EQ(calibration.rows_seen(), 0);
}

TEST(ConformalPredictor, TheSameRowsCalibratedTwiceAreRefused) {
  const ConformalRule rule(make_transform("identity"));
  Calibration calibration;
  const std::vector<double> predictions{1, 2, 3};
  const std::vector<double> outcomes{2, 2, 2};
  rule.calibrate(calibration, {predictions, {}}, outcomes, 0);
  EXPECT_THROW(rule.calibrate(calibration, {predictions, {}}, outcomes, 2), DuplicateRowError);
  EXPECT_EQ(calibration.rows_seen(), 3U);
}

TEST(ConformalPredictor, ShapesThatDoNotFitAreErrors) {
  const ConformalRule rule(make_transform("affine"));
  const ConformalPredictor predictor(rule, Calibration());
  const std::vector<double> predictions(3);
  const std::vector<double> parameters(6);
  const Level level(0.9);
  std::vector<double> three(3);
  std::vector<double> two(2);
  EXPECT_THROW(predictor.intervals({predictions, {parameters.data(), 3, 1}}, {&level, 1},
                                   MutableMatrixView::column(three), MutableMatrixView::column(three)),
               Error);
  EXPECT_THROW(predictor.intervals({predictions, {parameters.data(), 3, 2}}, {&level, 1},
                                   MutableMatrixView::column(two), MutableMatrixView::column(three)),
               Error);
  EXPECT_THROW(ConformalRule(make_transform("linear"), Score::kLog), Error);
  EXPECT_THROW(ConformalRule(nullptr), Error);
}

TEST(ConformalPredictor, AllocatesNothingPerRow) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer owns the allocator";
  const ConformalRule rule(make_transform("affine"), Score::kAbsolute, Sides::kTwo);
  Random random(19);
  const RuleRows calibration_rows = draw_rows(rule, 200, Errors::kNormal, random);
  Calibration calibration;
  rule.calibrate(calibration, calibration_rows.view(), calibration_rows.outcomes, 0);
  const ConformalPredictor predictor(rule, calibration);
  const std::vector<Level> levels{0.9, 0.95};
  const auto count = [&](std::size_t n) {
    const RuleRows rows = draw_rows(rule, n, Errors::kNormal, random);
    std::vector<double> lower(2 * n);
    std::vector<double> upper(2 * n);
    const std::size_t before = allocation_count();
    predictor.intervals(rows.view(), levels, {lower.data(), n, 2}, {upper.data(), n, 2});
    return allocation_count() - before;
  };
  EXPECT_EQ(count(10), count(10'000));

  const RuleRows row = draw_rows(rule, 1, Errors::kNormal, random);
  const std::size_t before = allocation_count();
  (void)predictor.interval(row.predictions[0], row.parameters, levels[0]);
  EXPECT_EQ(allocation_count() - before, 0);
}

}  // namespace
}  // namespace widthwise
