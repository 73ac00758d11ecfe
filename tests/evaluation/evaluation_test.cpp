#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include <widthwise/conformal_predictor.hpp>
#include <widthwise/error.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/random.hpp>
#include <widthwise/report.hpp>

#include "support/intervals.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

namespace widthwise {
namespace {

/// n intervals [-1, 1], of which a share is missed, and one feature.
struct TestRows : Intervals {
  std::vector<double> feature;
  std::vector<std::size_t> rows;

  TestRows(std::size_t n, double coverage, double coverage_at_the_end) : rows(n) {
    Random random(1);
    for (std::size_t i = 0; i < n; ++i) {
      feature.push_back(100 * random.uniform());
      add(-1, 1, random.uniform() < (feature.back() > 90 ? coverage_at_the_end : coverage) ? 0 : 2);
    }
    std::iota(rows.begin(), rows.end(), std::size_t{0});
  }

  [[nodiscard]] LevelEvaluation evaluation(std::uint64_t calibration_rows,
                                           const EvaluationOptions& options = {}) const {
    return evaluate({lower, upper, outcomes}, 0.9, CalibrationRanks::of_rows(0.9, calibration_rows),
                    {rows, MatrixView::column(feature)}, options);
  }
};

// ---- rows to look at

TEST(ListedRows, AreTheWidestAndTheFarthestMissed) {
  Intervals rows;
  for (const double width : {1.0, 3.0, 2.0, 3.0, 0.0, 4.0, kInfinity}) rows.add(-width / 2, width / 2, 2.5);
  const std::vector<std::string> ids = {"a", "b", "c"};
  const ListedRows listed = list_rows({rows.lower, rows.upper, rows.outcomes}, ids);
  const auto numbers = [](const std::vector<ListedRow>& found) {
    std::vector<std::uint64_t> all;
    for (const ListedRow& row : found) all.push_back(row.row);
    return all;
  };
  EXPECT_EQ(numbers(listed.widest), (std::vector<std::uint64_t>{7, 6, 2, 4, 3}));
  EXPECT_EQ(numbers(listed.missed), (std::vector<std::uint64_t>{5, 1, 3, 2, 4}));
  EXPECT_EQ(listed.widest[2].id, "b");
  EXPECT_EQ(listed.widest[0].id, "");
  EXPECT_EQ(listed.missed[1].outcome, 2.5);
  EXPECT_EQ(listed.missed[1].upper, 0.5);
}

// ---- the verdict

TEST(LevelEvaluation, JudgesBySizeOfCalibrationAndTest) {
  const LevelEvaluation valid = TestRows(5000, 0.9, 0.9).evaluation(5000);
  EXPECT_EQ(valid.verdict, Verdict::kValid);
  EXPECT_NE(valid.summary.find("is within the range expected for 5,000 calibration rows and 5,000 test rows"),
            std::string::npos);
  const LevelEvaluation low = TestRows(5000, 0.85, 0.85).evaluation(5000);
  EXPECT_EQ(low.verdict, Verdict::kTooLow);
  EXPECT_NE(low.summary.find("calibrate again with rows like these"), std::string::npos);
  EXPECT_EQ(TestRows(5000, 0.96, 0.96).evaluation(5000).verdict, Verdict::kTooHigh);
  // The same coverage is no surprise when a few rows calibrated.
  EXPECT_EQ(TestRows(5000, 0.85, 0.85).evaluation(100).verdict, Verdict::kValid);
  const LevelEvaluation infinite = TestRows(5000, 1, 1).evaluation(8);
  EXPECT_EQ(infinite.verdict, Verdict::kInfinite);
  EXPECT_NE(infinite.summary.find("the level needs 9 calibration rows; the model has 8"), std::string::npos);
  for (const Verdict verdict : {Verdict::kValid, Verdict::kTooLow, Verdict::kTooHigh, Verdict::kInfinite}) {
    EXPECT_FALSE(name_of(verdict).empty());
  }
}

TEST(LevelEvaluation, LevelsThatAreEvaluatedTogetherShareTheErrorRate) {
  const TestRows rows(5000, 0.9, 0.9);
  const LevelEvaluation alone = rows.evaluation(5000);
  const LevelEvaluation together = rows.evaluation(5000, {.levels = 10});
  EXPECT_DOUBLE_EQ(alone.confidence, 0.99);
  EXPECT_DOUBLE_EQ(together.confidence, 0.999);
  EXPECT_LT(together.expected.low, alone.expected.low);
  EXPECT_GT(together.expected.high, alone.expected.high);
  EXPECT_NE(together.summary.find("in 99.9% of cases"), std::string::npos);
  EXPECT_THROW((void)rows.evaluation(5000, {.levels = 0}), Error);
}

/// How often exchangeable rows get which verdict.
struct VerdictCounts {
  std::uint64_t too_low = 0;
  std::uint64_t too_high = 0;

  void add(Verdict verdict) {
    too_low += verdict == Verdict::kTooLow ? 1U : 0U;
    too_high += verdict == Verdict::kTooHigh ? 1U : 0U;
  }

  /// Each side has half of the error rate.
  void expect_rare(std::uint64_t trials) const {
    const std::uint64_t maximum = binomial_upper_bound(trials, (1 - kVerdictConfidence) / 2, 1e-6);
    EXPECT_LE(too_low, maximum);
    EXPECT_LE(too_high, maximum);
  }
};

/// Knuth's method; the mean is small.
double draw_poisson(Random& random, double mean) {
  const double stop = std::exp(-mean);
  double count = -1;
  for (double product = 1; product > stop; ++count) product *= random.uniform();
  return count;
}

/// Rows with counts for outcomes, that the same rule calibrates and tests.
struct CountRows {
  std::vector<double> predictions;
  std::vector<double> outcomes;

  CountRows(Random& random, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const double mean = 2 + 6 * random.uniform();
      predictions.push_back(std::round(mean));  // a model that predicts counts
      outcomes.push_back(draw_poisson(random, mean));
    }
  }

  [[nodiscard]] PredictionRows rows() const { return {predictions, {}}; }
};

void expect_rare_false_verdicts_with_counts(std::uint64_t trials, bool with_range) {
  const ConformalRule rule(make_transform("identity"));
  const Level level(0.9);
  constexpr std::size_t kTests = 1000;
  VerdictCounts counts;
  std::uint64_t above = 0;  // what the band alone would call too high
  Random random(with_range ? 2 : 1);
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    Calibration calibration;
    const CountRows calibrating(random, 500);
    rule.calibrate(calibration, calibrating.rows(), calibrating.outcomes, 0);
    const CountRows tests(random, kTests);
    std::vector<double> lower(kTests);
    std::vector<double> upper(kTests);
    const OutcomeSpace range = with_range ? OutcomeSpace{.low = 0, .high = kInfinity} : OutcomeSpace{};
    const CalibrationRanks ranks = CalibrationRanks::of(calibration, level);
    ConformalPredictor(rule, std::move(calibration))
        .intervals(tests.rows(), std::span(&level, 1), {lower.data(), kTests, 1}, {upper.data(), kTests, 1}, range);
    const LevelEvaluation found = evaluate({lower, upper, tests.outcomes}, level, ranks, {});
    counts.add(found.verdict);
    above += found.intervals.coverage.share > found.expected.high ? 1U : 0U;
    if (found.verdict == Verdict::kValid && found.intervals.coverage.share > found.expected.high) {
      EXPECT_NE(found.summary.find("of the outcomes lie on a bound"), std::string::npos);
    }
  }
  std::cout << "of " << trials << " data sets with ties, too low: " << counts.too_low
            << ", too high: " << counts.too_high << ", above the band: " << above << "\n";
  counts.expect_rare(trials);
  EXPECT_GT(above, trials / 2) << "no ties that matter";
}

TEST(Verdict, IsExactForTiedScores) {
  expect_rare_false_verdicts_with_counts(300, false);
  expect_rare_false_verdicts_with_counts(300, true);
}

/// Uniform scores in groups of these numbers of calibration and test rows.
VerdictCounts verdicts_with_groups(std::uint64_t trials, std::size_t groups, std::size_t calibration_rows,
                                   std::size_t test_rows, double scale = 1) {
  const Level level(0.9);
  Random random(3);
  VerdictCounts counts;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    CalibrationRanks ranks;
    std::vector<std::int64_t> row_groups;
    std::vector<double> lower;
    std::vector<double> upper;
    std::vector<double> outcomes;
    for (std::size_t g = 0; g < groups; ++g) {
      std::vector<double> scores(calibration_rows);
      for (double& score : scores) score = random.uniform();
      double q = 0;
      conformal_quantiles(scores, std::span(&level, 1), std::span(&q, 1));
      ranks.groups.push_back(
          {.group = static_cast<std::int64_t>(g), .rows = calibration_rows, .rank = level.rank(calibration_rows)});
      for (std::size_t i = 0; i < test_rows; ++i) {
        row_groups.push_back(static_cast<std::int64_t>(g));
        lower.push_back(-q);
        upper.push_back(q);
        outcomes.push_back(scale * random.uniform());
      }
    }
    ranks.row_groups = row_groups;
    counts.add(evaluate({lower, upper, outcomes}, level, ranks, {}).verdict);
  }
  return counts;
}

TEST(Verdict, IsExactForGroups) {
  verdicts_with_groups(300, 100, 15, 15).expect_rare(300);
  verdicts_with_groups(300, 3, 200, 300).expect_rare(300);
  // Groups are counted in the words, and coverage that reaches the level can still be too low.
  std::vector<double> lower(1500, -1);
  std::vector<double> upper(1500, 1);
  std::vector<double> outcomes(1500, 0);
  std::fill_n(outcomes.begin(), 145, 2.0);
  std::vector<std::int64_t> row_groups;
  CalibrationRanks ranks{.min_rows = 9};
  for (std::int64_t g = 0; g < 100; ++g) {
    ranks.groups.push_back({.group = g, .rows = 15, .rank = 15});
    row_groups.insert(row_groups.end(), 15, g);
  }
  ranks.row_groups = row_groups;
  const LevelEvaluation found = evaluate({lower, upper, outcomes}, 0.9, ranks, {});
  EXPECT_EQ(found.verdict, Verdict::kTooLow);
  EXPECT_NE(found.summary.find("Lower than expected. Coverage of 90.3% reaches the level, but is below the range "
                               "expected for 1,500 calibration rows in 100 groups and 1,500 test rows"),
            std::string::npos);
  // And it still finds what is wrong: 15/16 of exchangeable rows are covered, of these fewer and more.
  EXPECT_EQ(verdicts_with_groups(20, 100, 15, 15, 1.2).too_low, 20U);
  EXPECT_EQ(verdicts_with_groups(20, 100, 15, 15, 0.85).too_high, 20U);
}

TEST(SlowVerdict, IsExactForTiesAndGroups) {
  const std::uint64_t trials = slow_repeats(5000);
  expect_rare_false_verdicts_with_counts(trials, false);
  expect_rare_false_verdicts_with_counts(trials, true);
  verdicts_with_groups(trials, 100, 15, 15).expect_rare(trials);
  verdicts_with_groups(trials, 3, 200, 300).expect_rare(trials);
}

TEST(Verdict, RowsOfGroupsWithoutCalibrationAreInfiniteAndDoNotCount) {
  const std::vector<double> lower = {-1, -1, -kInfinity};
  const std::vector<double> upper = {1, 1, kInfinity};
  const std::vector<double> outcomes = {0, 0, 0};
  const std::vector<std::int64_t> groups = {1, 1, 7};
  Calibration calibration;
  for (std::uint64_t i = 0; i < 50; ++i) calibration.add(i, {.score = 1, .group = 1});
  const CalibrationRanks ranks = CalibrationRanks::of(calibration, 0.9, groups);
  ASSERT_EQ(ranks.groups.size(), 1U);
  EXPECT_EQ(ranks.groups[0].rows, 50U);
  EXPECT_EQ(ranks.groups[0].rank, 46U);
  const LevelEvaluation found = evaluate({lower, upper, outcomes}, 0.9, ranks, {});
  EXPECT_EQ(found.verdict, Verdict::kValid);
  EXPECT_GE(found.expected.low, 1.0 / 3);
  EXPECT_EQ(found.intervals.infinite, 1U);
  const std::vector<std::int64_t> unknown = {7, 7, 7};
  EXPECT_EQ(evaluate({lower, upper, outcomes}, 0.9, CalibrationRanks::of(calibration, 0.9, unknown), {}).verdict,
            Verdict::kInfinite);
}

// Given the counts of its groups, the coverage of the rest has no known law: one rare group may be much harder.
TEST(Verdict, LeavesOutTheRowsOfPooledGroups) {
  Intervals rows;
  std::vector<std::int64_t> groups;
  for (int i = 0; i < 1000; ++i) {
    const bool pooled = i >= 100;
    groups.push_back(pooled ? kRestGroup : 1);
    rows.add(-1, 1, i % 10 == 0 || (pooled && i % 2 == 0) ? 2 : 0);
  }
  CalibrationRanks ranks{
      .groups = {{.group = 1, .rows = 50, .rank = 46}, {.group = kRestGroup, .rows = 40, .rank = 37, .pooled = true}},
      .row_groups = groups,
      .min_rows = 9};
  const LevelEvaluation found = evaluate(rows.rows(), 0.9, ranks, {});
  EXPECT_EQ(found.verdict, Verdict::kValid) << found.summary;
  ASSERT_TRUE(found.judged);
  EXPECT_EQ(found.judged->trials, 100U);
  EXPECT_EQ(found.judged->successes, 90U);
  EXPECT_NE(found.summary.find("50 calibration rows in 1 group and 100 test rows"), std::string::npos) << found.summary;
  EXPECT_NE(found.summary.find("leaves out 900 rows of pooled groups"), std::string::npos) << found.summary;
  // The range of all rows counts those of the rest as missed, and as covered.
  const CoverageSpread all = expected_coverage(ranks, 1000, 0.99);
  EXPECT_DOUBLE_EQ(all.low, 0.1 * found.expected.low);
  EXPECT_DOUBLE_EQ(all.high, 0.1 * found.expected.high + 0.9);
  // A law that does not hold would call these rows too low.
  std::ranges::fill(groups, kRestGroup);
  const LevelEvaluation pooled = evaluate(rows.rows(), 0.9, ranks, {});
  EXPECT_EQ(pooled.verdict, Verdict::kNotJudged);
  EXPECT_EQ(pooled.expected.low, 0);
  EXPECT_EQ(pooled.expected.high, 1);
  EXPECT_TRUE(pooled.summary.starts_with("No verdict: ")) << pooled.summary;
  // With too few rows, the intervals of the rest are infinite, which is known.
  ranks.groups[1].rank = 41;
  EXPECT_EQ(evaluate(rows.rows(), 0.9, ranks, {}).verdict, Verdict::kInfinite);
}

/// Rows of clusters that are in two groups, with errors of the size `scale`.
struct RowsOfClustersInGroups {
  std::vector<double> scores;
  std::vector<std::int64_t> groups;
  std::vector<std::int64_t> clusters;

  RowsOfClustersInGroups(Random& random, std::int64_t count, double scale) {
    for (std::int64_t k = 0; k < count; ++k) {
      const double effect = random.normal();
      for (double left = 1 + 6 * random.uniform(); left > 0; left -= 1) {
        groups.push_back(random.uniform() < 0.4 ? 1 : 0);
        clusters.push_back(k);
        scores.push_back(scale * static_cast<double>(1 + 3 * groups.back()) * std::abs(effect + random.normal()));
      }
    }
  }

  [[nodiscard]] LevelEvaluation evaluation(const Calibration& calibration, const ClusterRule& rule) const {
    const SortedScores sorted(calibration, {}, 0, rule);
    std::vector<double> upper;
    for (const std::int64_t group : groups) upper.push_back(sorted.quantile(0.8, group));
    const std::vector<double> lower(scores.size(), 0);
    return evaluate({lower, upper, scores}, 0.8, CalibrationRanks::of(calibration, 0.8, groups, {}, 0, rule), {},
                    {.clusters = clusters});
  }
};

TEST(Verdict, OfClustersInGroupsIsRarelyWrongAndNoticesHarderRows) {
  for (const ClusterForm form : {ClusterForm::kRows, ClusterForm::kClusters}) {
    Random random(15);
    std::size_t wrong = 0;
    std::size_t noticed = 0;
    const std::size_t trials = 200;
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const RowsOfClustersInGroups known(random, 80, 1);
      Calibration calibration;
      calibration.add(0, known.scores, {}, {}, known.groups, known.clusters);
      const ClusterRule rule{.form = form};
      const LevelEvaluation found = RowsOfClustersInGroups(random, 80, 1).evaluation(calibration, rule);
      wrong += found.verdict == Verdict::kTooLow || found.verdict == Verdict::kTooHigh ? 1U : 0U;
      EXPECT_NE(found.summary.find("in 2 groups and "), std::string::npos) << found.summary;
      const LevelEvaluation harder = RowsOfClustersInGroups(random, 80, 3).evaluation(calibration, rule);
      noticed += harder.verdict == Verdict::kTooLow ? 1U : 0U;
    }
    EXPECT_LE(wrong, trials - binomial_lower_bound(trials, kVerdictConfidence, 1e-6));
    EXPECT_GE(noticed, trials * 9 / 10);
  }
}

TEST(Verdict, OfClustersInOneGroupIsThatWithoutGroups) {
  Random random(16);
  RowsOfClustersInGroups known(random, 60, 1);
  RowsOfClustersInGroups test(random, 40, 1);
  for (auto* rows : {&known, &test}) std::ranges::fill(rows->groups, 5);
  Calibration in_group;
  in_group.add(0, known.scores, {}, {}, known.groups, known.clusters);
  Calibration alone;
  alone.add(0, known.scores, {}, {}, {}, known.clusters);
  for (const ClusterForm form : {ClusterForm::kRows, ClusterForm::kClusters}) {
    const LevelEvaluation found = test.evaluation(in_group, {.form = form});
    std::vector<double> upper(test.scores.size(), SortedScores(alone, {}, 0, {.form = form}).quantile(0.8));
    const std::vector<double> lower(test.scores.size(), 0);
    const LevelEvaluation expected =
        evaluate({lower, upper, test.scores}, 0.8, CalibrationRanks::of(alone, 0.8, {}, {}, 0, {.form = form}), {},
                 {.clusters = test.clusters});
    EXPECT_EQ(found.verdict, expected.verdict);
    EXPECT_EQ(found.expected.low, expected.expected.low);
    EXPECT_EQ(found.expected.high, expected.expected.high);
    EXPECT_EQ(found.clusters->mean, expected.clusters->mean);
  }
  // A group that was not calibrated has infinite intervals.
  std::ranges::fill(test.groups, 6);
  EXPECT_EQ(test.evaluation(in_group, {}).verdict, Verdict::kInfinite);
}

TEST(Verdict, ComparesWithTheLevelItselfWithoutACalibrationSet) {
  const auto verdict_of = [](int covered) {
    Intervals rows;
    for (int i = 0; i < 1000; ++i) rows.add(-1, 1, i < covered ? 0 : 2);
    return evaluate(rows.rows(), 0.9, CalibrationRanks::of_level(0.9), {});
  };
  const LevelEvaluation found = verdict_of(900);
  EXPECT_EQ(found.verdict, Verdict::kValid);
  // 99% of Binomial(1000, 0.9).
  EXPECT_NEAR(found.expected.low, 0.875, 0.0011);
  EXPECT_NEAR(found.expected.high, 0.924, 0.0011);
  EXPECT_NE(found.summary.find("within the binomial range of the level for 1,000 test rows"), std::string::npos);
  EXPECT_EQ(verdict_of(860).verdict, Verdict::kTooLow);
  EXPECT_EQ(verdict_of(940).verdict, Verdict::kTooHigh);
}

// ---- weak places

TEST(WeakPlaces, AreFoundAndNamed) {
  const LevelEvaluation found = TestRows(8000, 0.95, 0.5).evaluation(5000);
  ASSERT_TRUE(found.weakest && found.slab);
  EXPECT_NEAR(found.weakest->low, 90, 3);
  EXPECT_NEAR(found.weakest->coverage.share, 0.5, 0.12);
  EXPECT_NEAR(found.slab->coverage.share, 0.5, 0.12);
  EXPECT_TRUE(found.range_is_weak);
  EXPECT_TRUE(found.slab_is_weak);
  ASSERT_EQ(found.by_feature.size(), 1U);
  EXPECT_TRUE(found.by_feature[0].bins.back().weak);
  const std::vector<std::string> names = {"x"};
  ASSERT_EQ(found.weak_places.size(), 3U);
  EXPECT_EQ(summary(found.weak_places[0], found, names), summary(*found.weakest, "x"));
  EXPECT_EQ(summary(found.weak_places[1], found, names).substr(0, 5), "x is ");
  EXPECT_EQ(summary(found.weak_places[2], found, names), "several features combine, of which x weighs most");

  const LevelEvaluation none = TestRows(8000, 0.9, 0.9).evaluation(5000);
  EXPECT_TRUE(none.weak_places.empty());
  EXPECT_EQ(none.places_tested, 13U);  // ten bins of the feature, one width, a range, a slab
}

TEST(WeakPlaces, AreNotLookedForAmongFewRows) {
  const LevelEvaluation few = TestRows(99, 0.9, 0.3).evaluation(1000);
  EXPECT_EQ(few.places_tested, 0U);
  EXPECT_TRUE(few.weak_places.empty());
  // A tenth of one half measures too little: no figure.
  const LevelEvaluation some = TestRows(400, 0.9, 0.9).evaluation(1000);
  EXPECT_FALSE(some.slab.has_value());
  EXPECT_FALSE(some.weakest.has_value());
  EXPECT_EQ(some.places_tested, 11U);
}

/// Reports on rows whose calibration and test come from one distribution. Scores are uniform; `harder` multiplies those
/// of the rows whose first feature lies in [start, start + share).
struct Reports {
  std::size_t calibration_rows = 1000;
  std::size_t test_rows = 2000;
  std::size_t features = 5;
  double start = 0;
  double share = 0;
  double harder = 1;
  Random random;

  [[nodiscard]] double score(double x) {
    const bool hard = x >= start && x < start + share;
    return (hard ? harder : 1) * random.uniform();
  }

  [[nodiscard]] LevelEvaluation next() {
    const Level level(0.9);
    std::vector<double> scores(calibration_rows);
    for (double& one : scores) one = score(random.uniform());
    double q = 0;
    conformal_quantiles(scores, std::span(&level, 1), std::span(&q, 1));
    std::vector<double> lower;
    std::vector<double> upper;
    std::vector<double> outcomes;
    std::vector<double> x;
    std::vector<double> predictions;
    std::vector<std::size_t> rows(test_rows);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    for (std::size_t i = 0; i < test_rows; ++i) {
      for (std::size_t j = 0; j < features; ++j) x.push_back(random.uniform());
      const double width = 0.5 + random.uniform();
      predictions.push_back(random.uniform());
      lower.push_back(predictions.back() - q * width);
      upper.push_back(predictions.back() + q * width);
      outcomes.push_back(predictions.back() + width * score(x[i * features]));
    }
    return evaluate({lower, upper, outcomes}, level, CalibrationRanks::of_rows(level, calibration_rows),
                    {rows, {x.data(), test_rows, features}, predictions});
  }
};

/// Marks, flags and the list of weak places are one result.
void expect_no_contradiction(const LevelEvaluation& found) {
  std::size_t marks = (found.range_is_weak ? 1U : 0U) + (found.slab_is_weak ? 1U : 0U);
  const auto count = [&marks](const std::vector<Bin>& bins) {
    for (const Bin& bin : bins) {
      if (!bin.weak) continue;
      ++marks;
      EXPECT_LT(bin.coverage.share, 0.9);
      EXPECT_GE(bin.coverage.trials, kMinBinRows);
    }
  };
  count(found.by_width);
  count(found.by_group);
  for (const FeatureBins& feature : found.by_feature) count(feature.bins);
  EXPECT_LE(marks, found.weak_places.size());
  EXPECT_EQ(marks == 0, found.weak_places.empty());
  for (const WeakPlace& place : found.weak_places) EXPECT_LT(place.coverage.share, 0.9);
  EXPECT_TRUE(!found.slab || found.slab->coverage.trials >= kMinSlabRows);
  EXPECT_TRUE(!found.weakest || found.weakest->coverage.trials >= kMinSlabRows);
}

std::uint64_t reports_with_weak_places(Reports reports, std::uint64_t trials) {
  std::uint64_t with = 0;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    const LevelEvaluation found = reports.next();
    expect_no_contradiction(found);
    with += found.weak_places.empty() ? 0U : 1U;
  }
  return with;
}

void expect_rare_false_alarms(std::uint64_t trials) {
  const std::uint64_t maximum = binomial_upper_bound(trials, kWeakPlaceError, 1e-6);
  const std::uint64_t usual = reports_with_weak_places({.random = Random(5)}, trials);
  // Few calibration rows, many test rows: the whole calibration may be unlucky, and no place is to blame.
  const std::uint64_t unlucky =
      reports_with_weak_places({.calibration_rows = 100, .test_rows = 4000, .random = Random(6)}, trials);
  std::cout << "of " << trials << " reports, false alarms: " << usual << " and " << unlucky << "\n";
  EXPECT_LE(usual, maximum);
  EXPECT_LE(unlucky, maximum);
}

void expect_power(std::uint64_t trials) {
  const std::uint64_t minimum = binomial_lower_bound(trials, 0.9, 1e-6);
  // 5% of the rows, wherever they lie in the bins, with scores up to twice as large: covered with 45% to 50%.
  for (const double start : {0.5, 0.575}) {
    const std::uint64_t found =
        reports_with_weak_places({.start = start, .share = 0.05, .harder = 2, .random = Random(7)}, trials);
    std::cout << "of " << trials << " reports, weak places found: " << found << "\n";
    EXPECT_GE(found, minimum);
  }
}

TEST(WeakPlaces, FalseAlarmsAreRareAndReportsAreConsistent) { expect_rare_false_alarms(12); }

TEST(WeakPlaces, PlantedPlacesOfOneRowInTwentyAreFound) { expect_power(8); }

TEST(SlowWeakPlaces, FalseAlarmsAreRareAndReportsAreConsistent) { expect_rare_false_alarms(slow_repeats(1000)); }

TEST(SlowWeakPlaces, PlantedPlacesOfOneRowInTwentyAreFound) { expect_power(slow_repeats(200)); }

TEST(WeakPlaces, PartsAreMarkedWithACorrectionForTheirNumber) {
  const auto bins_of = [](std::uint64_t covered) {
    std::vector<Bin> bins(10);
    for (Bin& bin : bins) bin.coverage = proportion(180, 200);
    bins[3].coverage = proportion(covered, 200);
    bins[4].coverage = proportion(0, 19);  // too few rows to tell
    return bins;
  };
  std::vector<Bin> bins = bins_of(170);  // p = 0.02 alone
  mark_weak(bins, 0.9, std::nullopt);
  EXPECT_TRUE(std::ranges::none_of(bins, &Bin::weak));
  bins = bins_of(150);
  mark_weak(bins, 0.9, std::nullopt);
  EXPECT_EQ(std::ranges::count_if(bins, &Bin::weak), 1);
  EXPECT_TRUE(bins[3].weak);
  mark_weak(bins, 0.9, 30);  // so few calibration rows explain it
  EXPECT_TRUE(std::ranges::none_of(bins, &Bin::weak));
}

// ---- gaps

const CoverageGap& gap_of(const LevelEvaluation& found, PlaceKind kind) {
  return *std::ranges::find(found.gaps, kind, &CoverageGap::kind);
}

TEST(CoverageGaps, AreMeasuredOverBinsOfWidthPredictionAndFeatures) {
  const TestRows rows(5000, 0.9, 0.7);
  const LevelEvaluation found = evaluate(rows.Intervals::rows(), 0.9, CalibrationRanks::of_rows(0.9, 5000),
                                         {rows.rows, MatrixView::column(rows.feature), rows.feature});
  ASSERT_EQ(found.gaps.size(), 3U);
  const CoverageGap& by_feature = gap_of(found, PlaceKind::kFeature);
  double mean = 0;
  double largest = 0;
  for (const Bin& bin : coverage_by_feature(rows.Intervals::rows(), rows.feature)) {
    const double gap = bin.coverage.share - 0.9;
    mean += std::abs(gap) * static_cast<double>(bin.coverage.trials) / 5000;
    if (std::abs(gap) > std::abs(largest)) largest = gap;
  }
  EXPECT_EQ(by_feature.bins, 10U);
  EXPECT_NEAR(by_feature.mean, mean, 1e-12);
  EXPECT_DOUBLE_EQ(by_feature.largest, largest);
  EXPECT_LT(by_feature.p_value, 1e-6);
  EXPECT_DOUBLE_EQ(gap_of(found, PlaceKind::kPrediction).mean, by_feature.mean);
  // All widths are equal.
  EXPECT_EQ(gap_of(found, PlaceKind::kWidth).bins, 1U);
}

TEST(CoverageGaps, OfEvenCoverageAreThoseByChance) {
  constexpr int kTrials = 40;
  double mean = 0;
  double by_chance = 0;
  std::uint64_t alarms = 0;
  Random random(3);
  for (int trial = 0; trial < kTrials; ++trial) {
    // Coverage given one calibration set is the same everywhere, but not exactly the level.
    constexpr int kCalibrationRows = 500;
    std::vector<double> scores;
    for (int i = 0; i < kCalibrationRows; ++i) scores.push_back(random.uniform());
    std::ranges::sort(scores);
    const double coverage = scores[Level(0.9).rank(kCalibrationRows) - 1];
    Intervals rows;
    std::vector<double> feature;
    std::vector<std::size_t> numbers(2000);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      feature.push_back(random.uniform());
      rows.add(-1, 1, random.uniform() < coverage ? 0 : 2);
    }
    const LevelEvaluation found = evaluate(rows.rows(), 0.9, CalibrationRanks::of_rows(0.9, kCalibrationRows),
                                           {numbers, MatrixView::column(feature)});
    mean += gap_of(found, PlaceKind::kFeature).mean / kTrials;
    by_chance += gap_of(found, PlaceKind::kFeature).by_chance / kTrials;
    alarms += std::ranges::any_of(found.gaps, [](const CoverageGap& gap) { return gap.p_value < 0.05; }) ? 1U : 0U;
  }
  // The mean over ten bins has a relative deviation of about 1/4 in a trial.
  EXPECT_NEAR(mean / by_chance, 1, 5 * 0.25 / std::sqrt(kTrials));
  EXPECT_LE(alarms, binomial_upper_bound(kTrials, 0.05, 1e-6));
}

TEST(CoverageGaps, SeeCoverageAboveTheLevelAndCountAllLevels) {
  const TestRows rows(5000, 0.9, 0.97);
  const CoverageGap alone = gap_of(rows.evaluation(5000), PlaceKind::kFeature);
  EXPECT_GT(alone.largest, 0);
  EXPECT_LT(alone.p_value, 0.01);
  const CoverageGap together = gap_of(rows.evaluation(5000, {.levels = 3}), PlaceKind::kFeature);
  EXPECT_DOUBLE_EQ(together.p_value, std::min(1.0, 3 * alone.p_value));
}

TEST(CoverageGaps, OfOneVariableMakeCoverageUneven) {
  const LevelEvaluation even = TestRows(5000, 0.9, 0.9).evaluation(5000);
  EXPECT_FALSE(even.uneven);
  // High coverage alone: no place is weak.
  const LevelEvaluation found = TestRows(5000, 0.895, 0.99).evaluation(5000);
  EXPECT_EQ(found.verdict, Verdict::kValid);
  EXPECT_TRUE(found.weak_places.empty());
  ASSERT_TRUE(found.uneven);
  const CoverageGap& gap = found.gaps[*found.uneven];
  EXPECT_EQ(gap.kind, PlaceKind::kFeature);
  EXPECT_LE(gap.p_value, kWeakPlaceError);
  EXPECT_GT(gap.highest.coverage.share, 0.96);
  EXPECT_GT(gap.highest.low, gap.lowest.low);
  const std::vector<std::string> names = {"x"};
  EXPECT_EQ(summary(gap, found, names).find(" where x is "), 5U) << summary(gap, found, names);
  // Rows that are easier as a whole are not uneven.
  const LevelEvaluation easier = TestRows(5000, 0.97, 0.97).evaluation(5000);
  EXPECT_EQ(easier.verdict, Verdict::kTooHigh);
  EXPECT_FALSE(easier.uneven);
}

// The coverage of folds has no known law, but rows can be compared with each other.
TEST(CoverageGaps, OfFoldsCompareRowsWithEachOther) {
  const std::vector<std::uint64_t> folds(5, 200);
  const auto evaluation_of = [&](const TestRows& rows) {
    return evaluate(rows.Intervals::rows(), 0.9, CalibrationRanks::of_folds(0.9, folds),
                    {rows.rows, MatrixView::column(rows.feature)});
  };
  // Even, at any height: the law of one quantile would call 0.84 weak and 0.96 uneven.
  for (const double coverage : {0.84, 0.9, 0.96}) {
    const LevelEvaluation even = evaluation_of(TestRows(8000, coverage, coverage));
    EXPECT_EQ(even.verdict, Verdict::kValid);
    EXPECT_TRUE(even.weak_places.empty()) << coverage;
    EXPECT_FALSE(even.uneven) << coverage;
    EXPECT_NEAR(gap_of(even, PlaceKind::kFeature).by_chance / gap_of(even, PlaceKind::kFeature).mean, 1, 0.7);
  }
  const LevelEvaluation found = evaluation_of(TestRows(8000, 0.95, 0.5));
  EXPECT_TRUE(found.range_is_weak);
  EXPECT_TRUE(found.uneven);
  EXPECT_TRUE(found.by_feature[0].bins.back().weak);
}

TEST(CoverageGaps, AreNotMeasuredOnFewRows) { EXPECT_TRUE(TestRows(99, 0.9, 0.9).evaluation(5000).gaps.empty()); }

// ---- labels

/// Intervals [-1, 1] of rows in shops, with a categorical feature that numbers the shops and a feature of noise.
struct Shops : Intervals {
  Labels shops;
  std::vector<double> features;  // n x 2
  std::vector<double> numbers;
  std::vector<std::size_t> rows;

  /// Shop 3 has this coverage, all others 0.9. The last `rare` labels have 5 rows each.
  Shops(std::size_t n, std::size_t frequent, std::size_t rare, double coverage, std::uint64_t seed) : rows(n) {
    Random random(seed);
    for (std::size_t shop = 0; shop < frequent + rare; ++shop) shops.add("shop " + std::to_string(shop));
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t shop = i < 5 * rare ? frequent + i / 5 : random.below(frequent);
      numbers.push_back(static_cast<double>(shop));
      features.insert(features.end(), {random.uniform(), numbers.back()});
      add(-1, 1, random.uniform() < (shop == 3 ? coverage : 0.9) ? 0 : 2);
    }
    std::iota(rows.begin(), rows.end(), std::size_t{0});
  }

  [[nodiscard]] LevelEvaluation as_feature(const EvaluationOptions& options = {}) const {
    const std::vector<Labels> categories = {Labels(), shops};
    return evaluate({lower, upper, outcomes}, 0.9, CalibrationRanks::of_rows(0.9, 1'000'000),
                    {.rows = rows, .features = {features.data(), rows.size(), 2}, .categories = categories}, options);
  }

  [[nodiscard]] LevelEvaluation as_column() const {
    std::vector<double> noise;
    for (std::size_t i = 0; i < rows.size(); ++i) noise.push_back(features[2 * i]);
    return evaluate({lower, upper, outcomes}, 0.9, CalibrationRanks::of_rows(0.9, 1'000'000),
                    {.rows = rows, .features = MatrixView::column(noise)},
                    {.by = EvaluatedColumn{.name = "shop", .values = numbers, .labels = &shops}});
  }
};

TEST(WeakPlaces, AreLabelsOfACategoricalFeature) {
  const LevelEvaluation found = Shops(6000, 20, 12, 0.6, 1).as_feature();
  const std::vector<std::string> names = {"noise", "shop"};
  ASSERT_FALSE(found.weak_places.empty());
  EXPECT_EQ(found.weak_places.front().kind, PlaceKind::kCategory);
  EXPECT_EQ(summary(found.weak_places.front(), found, names), "shop is 'shop 3'");
  for (const WeakPlace& place : found.weak_places) {
    EXPECT_NE(place.kind, PlaceKind::kFeature) << "no range of the numbers of labels";
    EXPECT_TRUE(place.kind != PlaceKind::kRange || place.feature == 0);
  }
  ASSERT_TRUE(found.slab && found.weakest);
  EXPECT_EQ(found.slab->direction.size(), 2U);
  EXPECT_EQ(found.slab->direction[1], 0);
  EXPECT_EQ(found.weakest->feature, 0U);
  ASSERT_FALSE(found.by_feature.empty());
  EXPECT_EQ(found.by_feature.front().feature, 1U);
  EXPECT_EQ(found.by_feature.front().bins.size(), 21U);
  EXPECT_EQ(found.by_feature.front().bins.back().label, kOtherLabels);
  EXPECT_EQ(found.by_feature.front().bins.back().coverage.trials, 60U);
}

TEST(WeakPlaces, AreLabelsOfAColumnThatIsNoFeature) {
  const Shops rows(6000, 20, 12, 0.6, 2);
  const LevelEvaluation found = rows.as_column();
  const std::vector<std::string> names = {"noise"};
  ASSERT_FALSE(found.weak_places.empty());
  EXPECT_EQ(found.weak_places.front().kind, PlaceKind::kColumn);
  EXPECT_EQ(summary(found.weak_places.front(), found, names), "shop is 'shop 3'");
  ASSERT_TRUE(found.by);
  EXPECT_EQ(std::ranges::count_if(found.by->bins, &Bin::weak), 1);
  // A column that is also a feature is named once.
  const LevelEvaluation both = rows.as_feature(
      {.by = EvaluatedColumn{.name = "shop", .values = rows.numbers, .labels = &rows.shops, .feature = 1}});
  EXPECT_TRUE(std::ranges::none_of(both.weak_places,
                                   [](const WeakPlace& place) { return place.kind == PlaceKind::kCategory; }));
}

TEST(WeakPlaces, AColumnOfAFewIntegersHasOneBinEach) {
  const Shops rows(1000, 20, 0, 0.9, 3);
  EvaluationOptions options{.by = EvaluatedColumn{.name = "shop", .values = rows.numbers}};
  EXPECT_EQ(rows.as_feature(options).by->bins.size(), 20U);
  std::vector<double> more = rows.numbers;
  more[0] = 20;  // a 21st value
  more[1] = std::numeric_limits<double>::quiet_NaN();
  options.by->values = more;
  EXPECT_EQ(rows.as_feature(options).by->bins.size(), 11U);  // ten ranges, and rows without a value
}

TEST(WeakPlaces, LabelsRaiseNoFalseAlarms) {
  // At most one evaluation in a hundred may name any place, for a feature and for a column.
  constexpr int kRepeats = 30;
  int alarms = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Shops rows(2000, 30, 20, 0.9, 100 + static_cast<std::uint64_t>(repeat));
    if (!rows.as_feature().weak_places.empty()) ++alarms;
    if (!rows.as_column().weak_places.empty()) ++alarms;
  }
  EXPECT_LE(alarms, 4);  // more have a probability below 1e-3 at the maximal error rate
}

TEST(LevelEvaluation, DescribesRangesInWords) {
  EXPECT_EQ(summary({.low = 4000, .high = 13540, .reaches_greatest = true}, "sqft"), "sqft is at least 4,000");
  EXPECT_EQ(summary({.low = 1, .high = 12384, .reaches_min = true}, "sqft"), "sqft is at most 12,384");
  EXPECT_EQ(summary({.low = 0.25, .high = 0.5}, "x"), "x is 0.25 to 0.5");
  EXPECT_EQ(summary({.low = 3, .high = 3}, "rooms"), "rooms is 3");
  EXPECT_EQ(summary({.low = 0, .high = 1, .reaches_min = true, .reaches_greatest = true}, "x"), "x is anything");
  const LevelEvaluation none = TestRows(200, 0.9, 0.9).evaluation(200);
  const double nan = kNaN;
  const std::vector<std::string> names = {"x"};
  EXPECT_EQ(summary({.kind = PlaceKind::kFeature, .low = nan, .high = nan}, none, names), "x is missing");
  EXPECT_EQ(summary({.kind = PlaceKind::kGroup, .low = 3, .high = 3}, none, names), "group is 3");
  EXPECT_EQ(summary({.kind = PlaceKind::kPrediction, .low = 1, .high = 2}, none, names), "the prediction is 1 to 2");
  EXPECT_EQ(summary({.kind = PlaceKind::kWidth, .low = 1, .high = 2}, none, names), "the interval width is 1 to 2");
  for (const PlaceKind kind : {PlaceKind::kRange, PlaceKind::kFeature, PlaceKind::kGroup, PlaceKind::kPrediction,
                               PlaceKind::kWidth, PlaceKind::kSlab}) {
    EXPECT_FALSE(name_of(kind).empty());
  }
}

// ---- empty conformal sets

TEST(LevelEvaluation, CountsEmptyAndInfiniteIntervals) {
  const double infinity = kInfinity;
  const std::vector<double> lower = {1, 0, 0, -infinity};
  const std::vector<double> upper = {1, 2, 0, 5};
  const std::vector<double> outcomes = {1, 1, 3, 1};
  const std::vector<double> predictions = {1, 1, -2, 1};  // the third was cut to a range that begins at 0
  const IntervalSummary summary = summarise({lower, upper, outcomes, predictions}, 0.9);
  EXPECT_EQ(summary.empty, 1U);
  EXPECT_EQ(summary.infinite, 1U);
  EXPECT_EQ(summary.inside, 2U);
  EXPECT_EQ(summarise({lower, upper, outcomes}, 0.9).empty, 0U);
}

TEST(ConformalRule, SetsMayBeEmptyWhereTheTransformHasAnOffset) {
  for (const std::string_view name : transform_names()) {
    EXPECT_EQ(ConformalRule(make_transform(name)).may_be_empty(), name == "density" || name == "affine") << name;
  }
  // B >= g, so a row of g above the quantile conforms with no outcome, and both half-widths are 0.
  const ConformalRule rule(make_transform("density"));
  const std::vector<double> predictions = {3, 3};
  const std::vector<double> parameters = {0.5, -0.5};
  const std::vector<double> quantile = {0, 0};
  std::vector<double> lower(2);
  std::vector<double> upper(2);
  rule.intervals({predictions, {parameters.data(), 2, 1}}, {quantile.data(), 2, 1}, {lower.data(), 2, 1},
                 {upper.data(), 2, 1});
  EXPECT_EQ(lower[0], 3);
  EXPECT_EQ(upper[0], 3);
  const std::vector<double> outcomes = {3, 3};
  EXPECT_EQ(summarise({lower, upper, outcomes, predictions}, 0.9).empty, 1U);
}

}  // namespace
}  // namespace widthwise
