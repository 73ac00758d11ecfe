#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "evaluation/diagnostics/slab_search.hpp"
#include "support/errors.hpp"
#include "support/intervals.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

/// Multiples of a quarter, so that widths tie and outcomes fall on bounds; some bounds are infinite.
Intervals random_intervals(Random& random, std::size_t n) {
  Intervals intervals;
  for (std::size_t i = 0; i < n; ++i) {
    const double low = static_cast<double>(random.below(8)) / 4;
    const double high = low + static_cast<double>(random.below(6)) / 4;
    const double outcome = static_cast<double>(random.below(14)) / 4;
    intervals.add(random.below(20) == 0 ? -kInfinity : low, random.below(20) == 0 ? kInfinity : high, outcome);
  }
  return intervals;
}

/// n intervals [-1, 1], of which those with covered(i) hold their outcome.
Intervals intervals_where(std::size_t n, const std::function<bool(std::size_t)>& covered) {
  Intervals intervals;
  for (std::size_t i = 0; i < n; ++i) intervals.add(-1, 1, covered(i) ? 0 : 2);
  return intervals;
}

std::vector<std::size_t> iota(std::size_t n) {
  std::vector<std::size_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

template <class T>
std::vector<T> in_order(const std::vector<T>& values, const std::vector<std::size_t>& order) {
  std::vector<T> result;
  result.reserve(order.size());
  for (const std::size_t i : order) result.push_back(values[i]);
  return result;
}

Intervals in_order(const Intervals& intervals, const std::vector<std::size_t>& order) {
  return {in_order(intervals.lower, order), in_order(intervals.upper, order), in_order(intervals.outcomes, order)};
}

void expect_same_shard(const Bin& a, const Bin& b) {
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.coverage.successes, b.coverage.successes);
  EXPECT_EQ(a.coverage.trials, b.coverage.trials);
  EXPECT_DOUBLE_EQ(a.mean_width, b.mean_width);
}

void expect_same_shards(const std::vector<Bin>& a, const std::vector<Bin>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) expect_same_shard(a[i], b[i]);
}

/// The part of the rows `belongs` picks, counted one by one.
Bin naive_bin(const Intervals& intervals, double low, double high, const std::function<bool(std::size_t)>& belongs) {
  Bin bin;
  bin.low = low;
  bin.high = high;
  long double widths = 0;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    if (!belongs(i)) continue;
    ++bin.coverage.trials;
    if (intervals.covered(i)) ++bin.coverage.successes;
    widths += intervals.width(i);
  }
  bin.mean_width = static_cast<double>(widths / static_cast<long double>(bin.coverage.trials));
  return bin;
}

// Proportion

/// P(X >= k) for X binomial, term by term.
double upper_tail(std::uint64_t k, std::uint64_t n, double p) {
  double sum = 0;
  const auto trials = static_cast<double>(n);
  for (std::uint64_t i = k; i <= n; ++i) {
    const auto x = static_cast<double>(i);
    sum += std::exp(std::lgamma(trials + 1) - std::lgamma(x + 1) - std::lgamma(trials - x + 1) + x * std::log(p) +
                    (trials - x) * std::log1p(-p));
  }
  return sum;
}

TEST(Proportion, EachEndLeavesHalfOfTheErrorInItsTail) {
  for (const double confidence : {0.5, 0.9, 0.95, 0.999}) {
    for (const std::uint64_t n : {1U, 2U, 10U, 137U, 1000U}) {
      for (std::uint64_t k = 0; k <= n; k += 1 + n / 7) {
        const Proportion result = proportion(k, n, confidence);
        const double tail = (1 - confidence) / 2;
        EXPECT_EQ(result.successes, k);
        EXPECT_EQ(result.trials, n);
        EXPECT_DOUBLE_EQ(result.share, static_cast<double>(k) / static_cast<double>(n));
        if (k > 0) {
          EXPECT_NEAR(upper_tail(k, n, result.low), tail, 1e-9);
        }
        if (k < n) {
          EXPECT_NEAR(upper_tail(k + 1, n, result.high), 1 - tail, 1e-9);
        }
      }
    }
  }
}

TEST(Proportion, NoSuccessAndNoFailureReachTheEndsOfTheUnitInterval) {
  const Proportion none = proportion(0, 20);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 1.0 / 20), 1e-12);
  const Proportion all = proportion(20, 20);
  EXPECT_NEAR(all.low, std::pow(0.025, 1.0 / 20), 1e-12);
  EXPECT_EQ(all.high, 1);
}

TEST(Proportion, NoTrialsGiveTheWholeInterval) {
  const Proportion result = proportion(0, 0);
  EXPECT_TRUE(std::isnan(result.share));
  EXPECT_EQ(result.low, 0);
  EXPECT_EQ(result.high, 1);
}

TEST(Proportion, ManyTrialsHaveTheIntervalOfTheNormalApproximation) {
  for (const std::uint64_t n : {1'000'000ULL, 1'000'000'000ULL, 10'000'000'000ULL}) {
    for (const std::uint64_t k : {n / 10, n / 2, n - n / 10}) {
      const Proportion result = proportion(k, n);
      const double deviation = std::sqrt(result.share * (1 - result.share) / static_cast<double>(n));
      EXPECT_NEAR((result.share - result.low) / deviation, 1.959964, 0.01);
      EXPECT_NEAR((result.high - result.share) / deviation, 1.959964, 0.01);
    }
  }
}

TEST(Proportion, ImpossibleArgumentsAreErrors) {
  expect_message(ErrorCode::kInvalidArgument,
                 "proportion: 3 successes in 2 trials; expected at most as many successes as trials",
                 [] { (void)proportion(3, 2); });
  expect_message(ErrorCode::kInvalidArgument, "proportion: expected at most 10000000000 trials, found 10000000001",
                 [] { (void)proportion(3, 10'000'000'001); });
  expect_message(ErrorCode::kInvalidArgument, "proportion: expected a confidence strictly between 0 and 1, found 1",
                 [] { (void)proportion(1, 2, 1.0); });
  expect_message(ErrorCode::kInvalidArgument, "proportion: expected a confidence strictly between 0 and 1, found nan",
                 [] { (void)proportion(1, 2, kNaN); });
}

// Rows

TEST(IntervalRows, EveryDiagnosticRefusesRowsThatAreNoIntervals) {
  const std::vector<double> feature(2);
  const std::vector<std::int64_t> groups(2);
  const std::map<std::string, std::function<void(const IntervalRows&)>> diagnostics = {
      {"summarise", [](const IntervalRows& rows) { (void)summarise(rows, 0.9); }},
      {"coverage_by_group", [&](const IntervalRows& rows) { (void)coverage_by_group(rows, groups); }},
      {"coverage_by_width", [](const IntervalRows& rows) { (void)coverage_by_width(rows); }},
      {"coverage_by_feature", [&](const IntervalRows& rows) { (void)coverage_by_feature(rows, feature); }},
      {"worst_slab", [&](const IntervalRows& rows) { (void)worst_slab(rows, MatrixView::column(feature)); }},
  };
  for (const auto& diagnostic : diagnostics) {
    const std::string& name = diagnostic.first;
    const auto& run = diagnostic.second;
    const auto expect = [&](const Intervals& intervals, ErrorCode code, const std::string& what) {
      expect_message(code, std::string(name).append(": ").append(what), [&] { run(intervals.rows()); });
    };
    EXPECT_NO_THROW(run(Intervals{{0, -kInfinity}, {1, kInfinity}, {0, 0}}.rows())) << name;
    expect({{0, kNaN}, {1, 1}, {0, 0}}, ErrorCode::kNotFinite,
           "row 2: expected a lower bound below +infinity, found nan");
    expect({{0, kInfinity}, {1, kInfinity}, {0, 0}}, ErrorCode::kNotFinite,
           "row 2: expected a lower bound below +infinity, found inf");
    expect({{0, 0}, {kNaN, 1}, {0, 0}}, ErrorCode::kNotFinite,
           "row 1: expected an upper bound above -infinity, found nan");
    expect({{0, -kInfinity}, {1, -kInfinity}, {0, 0}}, ErrorCode::kNotFinite,
           "row 2: expected an upper bound above -infinity, found -inf");
    expect({{0, 0}, {1, 1}, {0, kNaN}}, ErrorCode::kNotFinite, "row 2: expected a finite outcome, found nan");
    expect({{0, 0}, {1, 1}, {kInfinity, 0}}, ErrorCode::kNotFinite, "row 1: expected a finite outcome, found inf");
    expect({{0, 1.5}, {1, 1}, {0, 0}}, ErrorCode::kInvalidArgument,
           "row 2: the lower bound 1.5 is above the upper bound 1");
    expect({{0}, {1, 1}, {0, 0}}, ErrorCode::kShapeMismatch, "1 lower bounds but 2 outcomes");
    expect({{0, 0}, {1, 1, 1}, {0, 0}}, ErrorCode::kShapeMismatch, "3 upper bounds but 2 outcomes");
    expect({}, ErrorCode::kInvalidArgument, "expected rows, found none");
  }
}

// summarise

TEST(Summarise, AWorkedExample) {
  // alpha is 0.2, so each unit outside costs 10. Widths 2, 1, 3, 0; an outcome on a bound, 2 above, 0.5 below, on both.
  const Intervals intervals{{0, 0, 1, 1}, {2, 1, 4, 1}, {2, 3, 0.5, 1}};
  const IntervalSummary summary = summarise(intervals.rows(), 0.8);
  EXPECT_EQ(summary.coverage.successes, 2U);
  EXPECT_EQ(summary.coverage.trials, 4U);
  EXPECT_EQ(summary.coverage.share, 0.5);
  EXPECT_NEAR(summary.coverage.low, 0.067586, 1e-6);
  EXPECT_NEAR(summary.coverage.high, 0.932414, 1e-6);
  EXPECT_EQ(summary.mean_width, 1.5);
  EXPECT_EQ(summary.median_width, 1.5);
  EXPECT_EQ(summary.infinite, 0U);
  EXPECT_DOUBLE_EQ(summary.interval_score, (6 + 10 * 2.5) / 4);
}

TEST(Summarise, InfiniteIntervalsAreCountedAndNeverMakeNan) {
  const Intervals half{{0, -kInfinity, 0, 0}, {1, 0, kInfinity, 3}, {0, 1, 0, 0}};
  const IntervalSummary summary = summarise(half.rows(), 0.9);
  EXPECT_EQ(summary.infinite, 2U);
  EXPECT_EQ(summary.coverage.successes, 3U);
  EXPECT_EQ(summary.mean_width, kInfinity);
  EXPECT_EQ(summary.median_width, kInfinity);  // between 3 and +infinity
  EXPECT_EQ(summary.interval_score, kInfinity);
  EXPECT_EQ(summary.finite_mean_width, 2);
  EXPECT_EQ(summary.finite_interval_score, 2);
  const std::vector<std::int64_t> groups = {1, 1, 2, 1};
  const std::vector<Bin> bins = coverage_by_group(half.rows(), groups);
  EXPECT_EQ(bins[0].infinite, 1U);
  EXPECT_EQ(bins[0].mean_width, kInfinity);
  EXPECT_EQ(bins[0].finite_mean_width, 2);
  EXPECT_TRUE(std::isnan(bins[1].finite_mean_width));

  const Intervals all{{-kInfinity, -kInfinity}, {kInfinity, kInfinity}, {0, 0}};
  EXPECT_EQ(summarise(all.rows(), 0.9).median_width, kInfinity);
  const Intervals few{{0, 0, 0, -kInfinity}, {1, 2, 3, kInfinity}, {0, 0, 0, 0}};
  EXPECT_EQ(summarise(few.rows(), 0.9).median_width, 2.5);
}

TEST(Summarise, AgreesWithANaiveCount) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    Intervals intervals = random_intervals(random, 1 + random.below(40));
    if (trial % 2 == 0) {
      for (double& bound : intervals.lower) bound = std::max(bound, -1.0);
      for (double& bound : intervals.upper) bound = std::min(bound, 5.0);
    }
    const std::size_t n = intervals.size();
    std::vector<double> widths;
    double width_sum = 0;
    double score_sum = 0;
    std::uint64_t covered = 0;
    std::uint64_t infinite = 0;
    for (std::size_t i = 0; i < n; ++i) {
      widths.push_back(intervals.width(i));
      width_sum += widths[i];
      score_sum += widths[i] + 20 * std::max(intervals.lower[i] - intervals.outcomes[i], 0.0) +
                   20 * std::max(intervals.outcomes[i] - intervals.upper[i], 0.0);
      if (intervals.covered(i)) ++covered;
      if (widths[i] == kInfinity) ++infinite;
    }
    std::ranges::sort(widths);
    const IntervalSummary summary = summarise(intervals.rows(), 0.9);
    EXPECT_EQ(summary.coverage.successes, covered);
    EXPECT_EQ(summary.coverage.trials, n);
    EXPECT_EQ(summary.infinite, infinite);
    EXPECT_DOUBLE_EQ(summary.mean_width, width_sum / static_cast<double>(n));
    EXPECT_DOUBLE_EQ(summary.interval_score, score_sum / static_cast<double>(n));
    EXPECT_DOUBLE_EQ(summary.median_width, n % 2 == 1 ? widths[n / 2] : (widths[n / 2 - 1] + widths[n / 2]) / 2);
  }
}

TEST(Summarise, TheMeanWidthOfManyRowsLosesNoDigits) {
  constexpr std::size_t kRows = 1'000'000;
  Intervals intervals;
  intervals.add(0, 1e12, 0);
  for (std::size_t i = 1; i < kRows; ++i) intervals.add(0, 1e-5, 0);
  EXPECT_DOUBLE_EQ(summarise(intervals.rows(), 0.9).mean_width, (1e12 + 1e-5 * (kRows - 1)) / kRows);
}

// Bins

TEST(CoverageByGroup, AWorkedExample) {
  const Intervals intervals{{0, 0, 0, 0, -kInfinity}, {1, 2, 3, 4, 0}, {1, 3, 1, 1, 1}};
  const std::vector<std::int64_t> groups = {7, -2, 7, -2, 30};
  const std::vector<Bin> bins = coverage_by_group(intervals.rows(), groups);
  ASSERT_EQ(bins.size(), 3U);
  expect_same_shard(bins[0], {.low = -2, .high = -2, .coverage = proportion(1, 2), .mean_width = 3});
  expect_same_shard(bins[1], {.low = 7, .high = 7, .coverage = proportion(2, 2), .mean_width = 2});
  expect_same_shard(bins[2], {.low = 30, .high = 30, .coverage = proportion(0, 1), .mean_width = kInfinity});
  EXPECT_EQ(bins[0].coverage.low, proportion(1, 2).low);
  EXPECT_EQ(bins[0].coverage.high, proportion(1, 2).high);
}

TEST(CoverageByGroup, AgreesWithANaiveCount) {
  Random random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const Intervals intervals = random_intervals(random, 1 + random.below(60));
    std::vector<std::int64_t> groups(intervals.size());
    for (std::int64_t& group : groups) group = static_cast<std::int64_t>(random.below(7)) - 3;
    std::vector<Bin> expected;
    for (std::int64_t group = -3; group <= 3; ++group) {
      if (std::ranges::find(groups, group) == groups.end()) continue;
      const auto number = static_cast<double>(group);
      expected.push_back(naive_bin(intervals, number, number, [&](std::size_t i) { return groups[i] == group; }));
    }
    expect_same_shards(coverage_by_group(intervals.rows(), groups), expected);
  }
}

TEST(CoverageByGroup, NeedsAGroupForEveryRow) {
  const Intervals intervals{{0, 0}, {1, 1}, {0, 0}};
  const std::vector<std::int64_t> groups(3);
  expect_message(ErrorCode::kShapeMismatch, "coverage_by_group: 3 groups but 2 outcomes",
                 [&] { (void)coverage_by_group(intervals.rows(), groups); });
}

TEST(CoverageByLabel, AWorkedExample) {
  const Intervals intervals{{0, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6, 7}, {1, 3, 1, 1, 9, 1, 1}};
  const std::vector<std::string> names = {"north", "10", "east", "9", "unused"};
  const Labels labels(names);
  const std::vector<double> numbers = {0, 1, 0, 3, 2, kNaN, 2};
  const std::vector<Bin> bins = coverage_by_label(intervals.rows(), numbers, labels);
  ASSERT_EQ(bins.size(), 5U);
  // Integers by their values, then texts, then rows without a label.
  expect_same_shard(bins[0], {.low = 9, .high = 9, .coverage = proportion(1, 1), .mean_width = 4});
  expect_same_shard(bins[1], {.low = 10, .high = 10, .coverage = proportion(0, 1), .mean_width = 2});
  std::vector<std::string> found;
  for (const Bin& bin : bins) found.push_back(bin.label);
  EXPECT_EQ(found, (std::vector<std::string>{"9", "10", "east", "north", ""}));
  EXPECT_EQ(bins[2].coverage.successes, 1U);
  EXPECT_EQ(bins[2].mean_width, 6);
  EXPECT_TRUE(std::isnan(bins[2].low));
  EXPECT_TRUE(std::isnan(bins[4].low));

  const std::vector<Bin> pooled = coverage_by_label(intervals.rows(), numbers, labels, 2);
  ASSERT_EQ(pooled.size(), 4U);
  EXPECT_EQ(pooled[2].label, kOtherLabels);
  EXPECT_EQ(pooled[2].coverage.trials, 2U);
  EXPECT_TRUE(std::isnan(pooled[2].low));
}

TEST(CoverageByLabel, ASingleRareLabelKeepsItsName) {
  const Intervals intervals{{0, 0, 0}, {1, 1, 1}, {0, 0, 0}};
  const std::vector<std::string> names = {"a", "b"};
  const std::vector<double> numbers = {0, 0, 1};
  EXPECT_EQ(coverage_by_label(intervals.rows(), numbers, Labels(names), 2).back().label, "b");
}

TEST(CoverageByLabel, NeedsTheNumberOfALabelForEveryRow) {
  const Intervals intervals{{0, 0}, {1, 1}, {0, 0}};
  const std::vector<std::string> names = {"a"};
  const Labels labels(names);
  for (const double wrong : {-1.0, 0.5, 1.0, kInfinity}) {
    const std::vector<double> numbers = {0, wrong};
    EXPECT_THROW((void)coverage_by_label(intervals.rows(), numbers, labels), Error);
  }
  const std::vector<double> numbers = {0};
  expect_message(ErrorCode::kShapeMismatch, "coverage_by_label: 1 labels but 2 outcomes",
                 [&] { (void)coverage_by_label(intervals.rows(), numbers, labels); });
}

TEST(CoverageByWidth, AWorkedExample) {
  // Widths 1, 1, 1, 2, 3, 4, +infinity twice: half of them would end after the 2, a quarter inside the 1s.
  const Intervals intervals{
      {0, 0, 0, 0, 0, 0, 0, -kInfinity}, {3, 1, kInfinity, 1, 4, 2, 1, 0}, {9, 0, 0, 9, 0, 0, 9, 1}};
  const std::vector<Bin> halves = coverage_by_width(intervals.rows(), 2);
  ASSERT_EQ(halves.size(), 2U);
  expect_same_shard(halves[0], {.low = 1, .high = 2, .coverage = proportion(2, 4), .mean_width = 1.25});
  expect_same_shard(halves[1], {.low = 3, .high = kInfinity, .coverage = proportion(2, 4), .mean_width = kInfinity});

  const std::vector<Bin> quarters = coverage_by_width(intervals.rows(), 4);
  ASSERT_EQ(quarters.size(), 4U);
  expect_same_shard(quarters[0], {.low = 1, .high = 1, .coverage = proportion(1, 3), .mean_width = 1});
  expect_same_shard(quarters[1], {.low = 2, .high = 2, .coverage = proportion(1, 1), .mean_width = 2});
  expect_same_shard(quarters[2], {.low = 3, .high = 4, .coverage = proportion(1, 2), .mean_width = 3.5});
  expect_same_shard(quarters[3],
                    {.low = kInfinity, .high = kInfinity, .coverage = proportion(1, 2), .mean_width = kInfinity});
}

TEST(CoverageByWidth, AConstantHalfWidthAroundAnyPredictionsIsOnePart) {
  Random random(3);
  Intervals intervals;
  for (int i = 0; i < 1000; ++i) {
    const double prediction = 1000 * random.normal();
    intervals.add(prediction - 0.1, prediction + 0.1, prediction);
  }
  ASSERT_NE(*std::ranges::max_element(intervals.lower), *std::ranges::min_element(intervals.lower));
  EXPECT_EQ(coverage_by_width(intervals.rows()).size(), 1U);
  intervals.add(0, 0.2001, 0);
  EXPECT_EQ(coverage_by_width(intervals.rows(), 1000).size(), 2U);
}

TEST(CoverageByWidth, IsCoverageByTheWidthAsAFeature) {
  Random random(4);
  for (int trial = 0; trial < 200; ++trial) {
    const Intervals intervals = random_intervals(random, 1 + random.below(60));
    const std::size_t bins = 1 + random.below(12);
    std::vector<double> widths(intervals.size());
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = intervals.width(i);
    expect_same_shards(coverage_by_width(intervals.rows(), bins), coverage_by_feature(intervals.rows(), widths, bins));
  }
}

TEST(CoverageByFeature, AWorkedExampleWithMissingValues) {
  const Intervals intervals{{0, 0, 0, 0, 0}, {1, 2, 3, 4, 5}, {0, 9, 0, 0, 9}};
  const std::vector<double> feature = {5, kNaN, -kInfinity, kNaN, -1};
  const std::vector<Bin> bins = coverage_by_feature(intervals.rows(), feature, 3);
  ASSERT_EQ(bins.size(), 4U);
  expect_same_shard(bins[0], {.low = -kInfinity, .high = -kInfinity, .coverage = proportion(1, 1), .mean_width = 3});
  expect_same_shard(bins[1], {.low = -1, .high = -1, .coverage = proportion(0, 1), .mean_width = 5});
  expect_same_shard(bins[2], {.low = 5, .high = 5, .coverage = proportion(1, 1), .mean_width = 1});
  EXPECT_TRUE(std::isnan(bins[3].low));
  EXPECT_TRUE(std::isnan(bins[3].high));
  EXPECT_EQ(bins[3].coverage.successes, 1U);
  EXPECT_EQ(bins[3].coverage.trials, 2U);
  EXPECT_EQ(bins[3].mean_width, 3);
}

TEST(CoverageByFeature, OnlyMissingValuesAreOnePart) {
  const Intervals intervals{{0, 0}, {1, 1}, {0, 0}};
  const std::vector<double> feature(2, kNaN);
  EXPECT_EQ(coverage_by_feature(intervals.rows(), feature).size(), 1U);
}

TEST(CoverageByFeature, EveryPartHoldsTheRowsBetweenItsEndsAndNoOther) {
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const Intervals intervals = random_intervals(random, 1 + random.below(80));
    const std::size_t n = intervals.size();
    const std::size_t asked = 1 + random.below(12);
    std::vector<double> feature;
    std::uint64_t known = 0;
    for (std::size_t i = 0; i < n; ++i) {
      feature.push_back(random.below(8) == 0 ? kNaN : static_cast<double>(random.below(1 + random.below(40))) - 5);
      if (!std::isnan(feature[i])) ++known;
    }
    std::vector<Bin> bins = coverage_by_feature(intervals.rows(), feature, asked);
    if (known < n) {
      const Bin last = bins.back();
      bins.pop_back();
      EXPECT_TRUE(std::isnan(last.low) && std::isnan(last.high));
      const Bin expected = naive_bin(intervals, 0, 0, [&](std::size_t i) { return std::isnan(feature[i]); });
      expect_same_shard({.low = 0, .high = 0, .coverage = last.coverage, .mean_width = last.mean_width}, expected);
    }
    EXPECT_LE(bins.size(), asked);
    std::uint64_t rows = 0;
    for (std::size_t p = 0; p < bins.size(); ++p) {
      const auto [low, high] = std::pair(bins[p].low, bins[p].high);
      if (p > 0) {
        EXPECT_GT(low, bins[p - 1].high);
      }
      expect_same_shard(bins[p], naive_bin(intervals, low, high,
                                           [&](std::size_t i) { return low <= feature[i] && feature[i] <= high; }));
      rows += bins[p].coverage.trials;
    }
    EXPECT_EQ(rows, known);
  }
}

TEST(CoverageByFeature, BinsHaveNearlyEqualCounts) {
  Random random(6);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t n = 1 + random.below(80);
    const std::size_t asked = 1 + random.below(12);
    const Intervals intervals = intervals_where(n, [](std::size_t) { return true; });
    std::vector<double> feature(n);
    for (double& value : feature) value = static_cast<double>(random.below(30));
    std::vector<double> sorted = feature;
    std::ranges::sort(sorted);
    std::vector<std::size_t> places = {0, n};
    for (std::size_t i = 1; i < n; ++i) {
      if (sorted[i - 1] < sorted[i]) places.push_back(i);
    }
    const auto distance = [](std::size_t a, std::size_t b) { return a < b ? b - a : a - b; };
    std::vector<std::size_t> ends;
    std::size_t end = 0;
    for (const Bin& bin : coverage_by_feature(intervals.rows(), feature, asked)) {
      ends.push_back(end += bin.coverage.trials);
    }
    ends.push_back(0);
    for (std::size_t p = 1; p < std::min(asked, n); ++p) {
      const std::size_t ideal = p * n / std::min(asked, n);
      const auto nearest = [&](const std::vector<std::size_t>& candidates) {
        std::size_t minimum = n;
        for (const std::size_t candidate : candidates) minimum = std::min(minimum, distance(candidate, ideal));
        return minimum;
      };
      EXPECT_EQ(nearest(ends), nearest(places));
    }
  }
}

TEST(CoverageByFeature, DistinctValuesGiveTheRequestedNumberOfBinsOfNearlyEqualSize) {
  const Intervals intervals = intervals_where(107, [](std::size_t) { return true; });
  std::vector<double> feature(107);
  std::iota(feature.begin(), feature.end(), 0.0);
  const std::vector<Bin> bins = coverage_by_feature(intervals.rows(), feature, 10);
  ASSERT_EQ(bins.size(), 10U);
  for (const Bin& bin : bins) {
    EXPECT_GE(bin.coverage.trials, 10U);
    EXPECT_LE(bin.coverage.trials, 11U);
  }
  EXPECT_EQ(coverage_by_feature(intervals.rows(), feature, std::numeric_limits<std::size_t>::max()).size(), 107U);
}

TEST(CoverageByFeature, ImpossibleArgumentsAreErrors) {
  const Intervals intervals{{0, 0}, {1, 1}, {0, 0}};
  const std::vector<double> feature(2);
  expect_message(ErrorCode::kInvalidArgument, "coverage_by_feature: expected at least 1 bin, found 0",
                 [&] { (void)coverage_by_feature(intervals.rows(), feature, 0); });
  expect_message(ErrorCode::kInvalidArgument, "coverage_by_width: expected at least 1 bin, found 0",
                 [&] { (void)coverage_by_width(intervals.rows(), 0); });
  expect_message(ErrorCode::kShapeMismatch, "coverage_by_feature: 1 values of the feature but 2 outcomes",
                 [&] { (void)coverage_by_feature(intervals.rows(), std::span(feature).first(1)); });
}

TEST(Diagnostics, TheOrderOfRowsDoesNotMatter) {
  Random random(7);
  const Intervals intervals = random_intervals(random, 500);
  std::vector<double> feature;
  std::vector<std::int64_t> groups;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    feature.push_back(static_cast<double>(random.below(100)));
    groups.push_back(static_cast<std::int64_t>(random.below(5)));
  }
  std::vector<std::size_t> order = iota(intervals.size());
  random.shuffle(std::span(order));
  const Intervals shuffled = in_order(intervals, order);
  const IntervalSummary a = summarise(intervals.rows(), 0.9);
  const IntervalSummary b = summarise(shuffled.rows(), 0.9);
  EXPECT_EQ(a.coverage.successes, b.coverage.successes);
  EXPECT_EQ(a.infinite, b.infinite);
  EXPECT_DOUBLE_EQ(a.mean_width, b.mean_width);
  EXPECT_EQ(a.median_width, b.median_width);
  EXPECT_DOUBLE_EQ(a.interval_score, b.interval_score);
  expect_same_shards(coverage_by_width(intervals.rows()), coverage_by_width(shuffled.rows()));
  expect_same_shards(coverage_by_group(intervals.rows(), groups),
                     coverage_by_group(shuffled.rows(), in_order(groups, order)));
  expect_same_shards(coverage_by_feature(intervals.rows(), feature),
                     coverage_by_feature(shuffled.rows(), in_order(feature, order)));
}

// The search for a slab

using internal::CoveredRows;
using internal::find_worst_slab;
using internal::mean_is_less;
using internal::min_mean_run;
using internal::Slab;
using internal::Tally;
using internal::tally_inside;

TEST(MinMeanRun, IsTheFirstOfAllRunsByBruteForce) {
  Random random(8);
  for (int trial = 0; trial < 5000; ++trial) {
    std::vector<Tally> cuts(1);
    const std::size_t steps = 1 + random.below(25);
    const std::uint64_t longest_step = 1 + random.below(4);
    const double coverage = random.uniform();
    for (std::size_t i = 0; i < steps; ++i) {
      Tally next = cuts.back();
      for (std::uint64_t rows = 1 + random.below(longest_step); rows > 0; --rows) {
        ++next.rows;
        if (random.uniform() < coverage) ++next.covered;
      }
      cuts.push_back(next);
    }
    const auto min_rows = static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(cuts.back().rows)));
    internal::Run expected;
    for (std::size_t end = 1; end < cuts.size(); ++end) {
      for (std::size_t begin = 0; begin < end; ++begin) {
        const Tally run = cuts[end] - cuts[begin];
        if (run.rows < min_rows) continue;
        if (expected.end == 0 || mean_is_less(run, cuts[expected.end] - cuts[expected.begin])) expected = {begin, end};
      }
    }
    const internal::Run found = min_mean_run(cuts, min_rows);
    EXPECT_EQ(found.begin, expected.begin);
    EXPECT_EQ(found.end, expected.end);
  }
}

/// Features and coverage that own their numbers; every row is chosen.
struct Sample {
  std::vector<double> features;
  std::vector<std::uint8_t> covered;
  std::vector<std::size_t> chosen;

  [[nodiscard]] CoveredRows rows() const {
    return {MatrixView(features.data(), covered.size(), features.size() / covered.size()), covered, chosen};
  }
};

Sample random_sample(Random& random, std::size_t n, std::size_t columns, const std::function<double()>& draw) {
  Sample sample;
  for (std::size_t i = 0; i < n * columns; ++i) sample.features.push_back(draw());
  for (std::size_t i = 0; i < n; ++i) sample.covered.push_back(random.below(10) < 7 ? 1 : 0);
  sample.chosen = iota(n);
  return sample;
}

/// The least coverage of all closed slabs of enough rows, trying each pair of rows as ends in each direction.
Tally brute_force(const CoveredRows& rows, MatrixView directions, std::size_t min_rows) {
  Tally worst{1, 2};
  for (std::size_t k = 0; k < directions.rows(); ++k) {
    const auto direction = directions.row(k);
    for (const std::size_t first : rows.chosen) {
      for (const std::size_t last : rows.chosen) {
        const auto project = [&](std::size_t i) {
          const auto row = rows.features.row(i);
          return std::inner_product(row.begin(), row.end(), direction.begin(), 0.0);
        };
        const Slab slab{{direction.begin(), direction.end()}, project(first), project(last)};
        const Tally tally = tally_inside(slab, rows);
        if (tally.rows >= static_cast<std::int64_t>(min_rows) && mean_is_less(tally, worst)) worst = tally;
      }
    }
  }
  return worst;
}

void expect_worst_by_brute_force(const Sample& sample, MatrixView directions, std::size_t min_rows) {
  const Tally found = tally_inside(find_worst_slab(sample.rows(), directions, min_rows), sample.rows());
  const Tally expected = brute_force(sample.rows(), directions, min_rows);
  EXPECT_GE(found.rows, static_cast<std::int64_t>(min_rows));
  EXPECT_EQ(found.covered * expected.rows, expected.covered * found.rows);
}

TEST(FindWorstSlab, AgreesWithBruteForceOverAFewDirections) {
  Random random(9);
  const std::vector<double> directions = {1, 0, 0, 0, -1, 0, 0.3, 0.2, -0.7, -0.5, 0.5, 0.1};
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t n = 1 + random.below(40);
    const Sample sample = random_sample(random, n, 3, [&] { return random.normal(); });
    expect_worst_by_brute_force(sample, MatrixView(directions.data(), 4, 3), 1 + random.below(n));
  }
}

TEST(FindWorstSlab, RowsOfOneProjectionAreNeverParted) {
  // Small whole numbers in directions of powers of two: projections are exact, and most of them tie.
  Random random(10);
  const std::vector<double> directions = {0.5, 0.25, 0, 1, -0.5, 0.5};
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t n = 1 + random.below(40);
    const Sample sample = random_sample(random, n, 2, [&] { return static_cast<double>(random.below(5)) - 2; });
    expect_worst_by_brute_force(sample, MatrixView(directions.data(), 3, 2), 1 + random.below(n));
  }
}

TEST(FindWorstSlab, TakesAWholeTieWhereItsUncoveredRowsAloneWouldDo) {
  // Two of the three rows at 1 are missed: a search that bins them would report 0 of 2.
  const Sample sample{{0, 1, 1, 1, 2}, {1, 0, 1, 0, 1}, iota(5)};
  const double direction = 1;
  const Slab slab = find_worst_slab(sample.rows(), MatrixView(&direction, 1, 1), 2);
  EXPECT_EQ(slab.low, 1);
  EXPECT_EQ(slab.high, 1);
  EXPECT_EQ(tally_inside(slab, sample.rows()).rows, 3);
  EXPECT_EQ(tally_inside(slab, sample.rows()).covered, 1);
}

TEST(FindWorstSlab, ZeroOfEitherSignIsOneProjection) {
  // The missed rows at -0 alone would be worse than the rows at 1, with the covered ones at +0 they are not.
  const Sample sample{{-0.0, 0.0, -0.0, 0.0, 1, 1, 1}, {1, 0, 1, 0, 0, 0, 1}, iota(7)};
  const double direction = -1;
  EXPECT_EQ(find_worst_slab(sample.rows(), MatrixView(&direction, 1, 1), 1).low, -1);
}

TEST(FindWorstSlab, TheFirstOfEquallyBadDirectionsWins) {
  Random random(11);
  const Sample sample = random_sample(random, 300, 1, [&] { return random.normal(); });
  std::vector<double> directions(40);
  for (std::size_t k = 0; k < directions.size(); ++k) directions[k] = 1 / static_cast<double>(k + 1);
  EXPECT_EQ(find_worst_slab(sample.rows(), MatrixView(directions.data(), 40, 1), 30).direction[0], 1);
}

TEST(FindWorstSlab, TheOrderOfRowsDoesNotMatter) {
  Random random(12);
  Sample sample = random_sample(random, 1000, 4, [&] { return random.normal(); });
  std::vector<double> components(std::size_t{37} * 4);
  for (double& component : components) component = random.uniform() - 0.5;
  const MatrixView directions(components.data(), 37, 4);
  const Slab before = find_worst_slab(sample.rows(), directions, 100);
  random.shuffle(std::span(sample.chosen));
  const Slab after = find_worst_slab(sample.rows(), directions, 100);
  EXPECT_EQ(before.direction, after.direction);
  EXPECT_EQ(before.low, after.low);
  EXPECT_EQ(before.high, after.high);
}

// worst_slab

struct DiagnosedTable {
  Intervals intervals;
  std::vector<double> features;
  std::size_t columns = 1;

  [[nodiscard]] MatrixView view() const { return {features.data(), intervals.size(), columns}; }
};

/// Features uniform on [-1, 1], and rows covered with probability coverage(features).
DiagnosedTable random_table(Random& random, std::size_t n, std::size_t columns,
                            const std::function<double(std::span<const double>)>& coverage) {
  DiagnosedTable table;
  table.columns = columns;
  for (std::size_t i = 0; i < n * columns; ++i) table.features.push_back(2 * random.uniform() - 1);
  table.intervals = intervals_where(n, [&](std::size_t i) {
    return random.uniform() < coverage(std::span(table.features).subspan(i * columns, columns));
  });
  return table;
}

/// The probability that a test with this tolerance fails by chance is below one in a million.
void expect_chance_of_success(const Proportion& found, double chance) {
  const Proportion wide = proportion(found.successes, found.trials, 1 - 1e-6);
  EXPECT_LE(wide.low, chance);
  EXPECT_GE(wide.high, chance);
}

constexpr double kHoleLow = 0.2;
constexpr double kHoleHigh = 0.5;
constexpr double kHoleCoverage = 0.3;

/// Coverage 0.95 but for a diagonal slab of 16 % of the square.
DiagnosedTable table_with_a_hole(Random& random, std::size_t n) {
  return random_table(random, n, 2, [](std::span<const double> x) {
    const double along = (x[0] + x[1]) / std::sqrt(2.0);
    return kHoleLow <= along && along <= kHoleHigh ? kHoleCoverage : 0.95;
  });
}

void expect_the_hole(const WorstSlab& slab) {
  const double cosine = (slab.direction[0] + slab.direction[1]) / std::sqrt(2.0);
  EXPECT_GT(std::abs(cosine), 0.99);
  const double low = cosine > 0 ? slab.low : -slab.high;
  const double high = cosine > 0 ? slab.high : -slab.low;
  EXPECT_NEAR(low, kHoleLow, 0.05);
  EXPECT_NEAR(high, kHoleHigh, 0.05);
  // At most one row in ten of such a slab lies outside the hole, and about 1500 rows measure it: five deviations.
  EXPECT_LT(slab.coverage.share, kHoleCoverage + 0.1 * 0.65 + 5 * std::sqrt(0.25 / 1500));
  EXPECT_GT(slab.coverage.share, kHoleCoverage - 5 * std::sqrt(0.25 / 1500));
}

TEST(WorstSlab, FindsAPlantedHole) {
  Random random(13);
  const DiagnosedTable table = table_with_a_hole(random, 20'000);
  for (const std::uint64_t seed : {0U, 1U}) {
    expect_the_hole(
        worst_slab(table.intervals.rows(), table.view(), {.min_share = 0.15, .directions = 200, .seed = seed}));
  }
}

TEST(WorstSlab, AnotherOrderOfRowsIsOnlyAnotherSample) {
  Random random(14);
  const DiagnosedTable table = table_with_a_hole(random, 20'000);
  std::vector<std::size_t> order = iota(table.intervals.size());
  random.shuffle(std::span(order));
  DiagnosedTable shuffled{in_order(table.intervals, order), {}, 2};
  for (const std::size_t i : order) {
    const auto row = table.view().row(i);
    shuffled.features.insert(shuffled.features.end(), row.begin(), row.end());
  }
  expect_the_hole(worst_slab(shuffled.intervals.rows(), shuffled.view(), {.min_share = 0.15, .directions = 200}));
}

TEST(WorstSlab, OfEvenCoverageIsNearTheLevelOnTheHalfThatDidNotChoose) {
  Random random(15);
  for (int trial = 0; trial < 10; ++trial) {
    const DiagnosedTable table = random_table(random, 4000, 5, [](std::span<const double>) { return 0.9; });
    const WorstSlab slab = worst_slab(table.intervals.rows(), table.view(), {.directions = 100});
    expect_chance_of_success(slab.coverage, 0.9);
    EXPECT_LT(slab.search_coverage, 0.9);
  }
}

TEST(WorstSlab, DrawsItsHalvesFromAllRows) {
  const Intervals intervals = intervals_where(2000, [](std::size_t i) { return i < 1000; });
  const std::vector<double> constant(2000);
  const WorstSlab slab = worst_slab(intervals.rows(), MatrixView::column(constant), {.directions = 1});
  EXPECT_EQ(slab.coverage.trials, 1000U);
  EXPECT_NEAR(slab.coverage.share, 0.5, 5 * std::sqrt(0.25 / 1000));
}

TEST(WorstSlab, DescribesItsOwnRows) {
  Random random(16);
  const DiagnosedTable table = random_table(random, 1001, 3, [](std::span<const double>) { return 0.8; });
  const WorstSlab slab = worst_slab(table.intervals.rows(), table.view(), {.min_share = 0.2, .directions = 50});
  EXPECT_NEAR(std::hypot(slab.direction[0], slab.direction[1], slab.direction[2]), 1, 1e-12);
  std::uint64_t inside = 0;
  std::uint64_t covered = 0;
  for (std::size_t i = 0; i < table.intervals.size(); ++i) {
    const auto row = table.view().row(i);
    const double projection = std::inner_product(row.begin(), row.end(), slab.direction.begin(), 0.0);
    if (projection < slab.low || projection > slab.high) continue;
    ++inside;
    if (table.intervals.covered(i)) ++covered;
  }
  const std::uint64_t searched = inside - slab.coverage.trials;
  EXPECT_GE(searched, 100U);
  EXPECT_NEAR(slab.search_coverage * static_cast<double>(searched),
              static_cast<double>(covered - slab.coverage.successes), 1e-9);
}

TEST(WorstSlab, IsTheSameForTheSameSeed) {
  Random random(17);
  const DiagnosedTable table = random_table(random, 2000, 6, [](std::span<const double>) { return 0.9; });
  const auto run = [&](std::uint64_t seed) {
    return worst_slab(table.intervals.rows(), table.view(), {.directions = 40, .seed = seed});
  };
  const WorstSlab a = run(5);
  const WorstSlab b = run(5);
  EXPECT_EQ(a.direction, b.direction);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.search_coverage, b.search_coverage);
  EXPECT_EQ(a.coverage.successes, b.coverage.successes);
  EXPECT_NE(a.direction, run(6).direction);
}

TEST(WorstSlab, MoreDirectionsNeverRaiseTheCoverageFound) {
  Random random(18);
  const DiagnosedTable table = random_table(random, 2000, 6, [](std::span<const double>) { return 0.9; });
  double before = 1;
  for (const std::size_t directions : {1U, 2U, 15U, 16U, 17U, 100U, 300U}) {
    const WorstSlab slab = worst_slab(table.intervals.rows(), table.view(), {.directions = directions});
    EXPECT_LE(slab.search_coverage, before);
    before = slab.search_coverage;
  }
}

TEST(WorstSlab, MissingFeaturesCountAsZeroAndStridesAreFollowed) {
  Random random(19);
  DiagnosedTable table = random_table(random, 1000, 3, [](std::span<const double>) { return 0.9; });
  std::vector<double> padded;
  for (std::size_t i = 0; i < table.intervals.size(); ++i) {
    double& first = table.features[3 * i];
    if (i % 7 == 0) first = 0;
    padded.insert(padded.end(),
                  {i % 7 == 0 ? kNaN : first, table.features[3 * i + 1], table.features[3 * i + 2], 1e300});
  }
  const WorstSlab plain = worst_slab(table.intervals.rows(), table.view(), {.directions = 20});
  const WorstSlab strided =
      worst_slab(table.intervals.rows(), MatrixView(padded.data(), 1000, 3, 4), {.directions = 20});
  EXPECT_EQ(plain.direction, strided.direction);
  EXPECT_EQ(plain.low, strided.low);
  EXPECT_EQ(plain.high, strided.high);
  EXPECT_EQ(plain.coverage.successes, strided.coverage.successes);
}

TEST(WorstSlab, OfConstantFeaturesOrTheWholeShareIsAllRows) {
  Random random(20);
  DiagnosedTable table = random_table(random, 400, 2, [](std::span<const double>) { return 0.7; });
  const WorstSlab whole = worst_slab(table.intervals.rows(), table.view(), {.min_share = 1, .directions = 9});
  EXPECT_LE(whole.coverage.trials, 200U);
  EXPECT_GT(whole.coverage.trials, 190U);  // all but those beyond the extremes of the other half
  std::ranges::fill(table.features, 0.3);
  const WorstSlab constant = worst_slab(table.intervals.rows(), table.view(), {.directions = 9});
  EXPECT_EQ(constant.coverage.trials, 200U);
  EXPECT_EQ(constant.low, constant.high);
  EXPECT_EQ(constant.search_coverage, whole.search_coverage);
}

TEST(WorstSlab, TheLeastShareIsRoundedUpToRowsWithoutTheErrorOfTheProduct) {
  // 100 rows search; 0.07 of them is 7, though 0.07 * 100 is a little more in binary. Every row is missed, so the
  // first run of just enough rows is found.
  ASSERT_GT(0.07 * 100, 7);
  const Intervals intervals = intervals_where(200, [](std::size_t) { return false; });
  std::vector<double> feature(200);
  std::iota(feature.begin(), feature.end(), 0.0);
  for (const auto& [share, expected] : {std::pair(0.07, 7U), std::pair(0.071, 8U), std::pair(1e-9, 1U)}) {
    const WorstSlab slab =
        worst_slab(intervals.rows(), MatrixView::column(feature), {.min_share = share, .directions = 1});
    const std::uint64_t inside = static_cast<std::uint64_t>(slab.high - slab.low) + 1;
    EXPECT_EQ(inside - slab.coverage.trials, expected);
  }
}

TEST(WorstSlab, TwoRowsAreEnoughAndOneIsNot) {
  const Intervals two{{0, 0}, {1, 1}, {0, 0}};
  const std::vector<double> features = {1, 2};
  const WorstSlab slab = worst_slab(two.rows(), MatrixView::column(features));
  EXPECT_EQ(slab.search_coverage, 1);
  EXPECT_EQ(slab.coverage.trials, 0U);
  EXPECT_TRUE(std::isnan(slab.coverage.share));
  const Intervals one{{0}, {1}, {0}};
  expect_message(ErrorCode::kTooFewRows,
                 "worst_slab: expected at least 2 rows, one to search and one to measure, found 1",
                 [&] { (void)worst_slab(one.rows(), MatrixView(features.data(), 1, 1)); });
}

TEST(WorstSlab, ImpossibleArgumentsAreErrors) {
  const Intervals intervals{{0, 0}, {1, 1}, {0, 0}};
  std::vector<double> features = {1, 2, 3, 4};
  const auto expect = [&](ErrorCode code, const std::string& what, MatrixView view, const WorstSlabOptions& options) {
    expect_message(code, "worst_slab: " + what, [&] { (void)worst_slab(intervals.rows(), view, options); });
  };
  const MatrixView view(features.data(), 2, 2);
  expect(ErrorCode::kInvalidArgument, "expected a min_share in (0, 1], found 0", view, {.min_share = 0});
  expect(ErrorCode::kInvalidArgument, "expected a min_share in (0, 1], found 1.5", view, {.min_share = 1.5});
  expect(ErrorCode::kInvalidArgument, "expected a min_share in (0, 1], found nan", view, {.min_share = kNaN});
  expect(ErrorCode::kInvalidArgument, "expected at least 1 direction, found 0", view, {.directions = 0});
  expect(ErrorCode::kShapeMismatch, "1 rows of features but 2 outcomes", view.slice(0, 1), {});
  expect(ErrorCode::kInvalidArgument, "expected at least 1 column of features, found 0",
         MatrixView(features.data(), 2, 0), {});
  features[3] = -kInfinity;
  expect(ErrorCode::kNotFinite, "row 2, column 2: expected a feature of at most 1e30, found -inf", view, {});
  features[3] = 1e31;
  expect(ErrorCode::kInvalidArgument, "row 2, column 2: expected a feature of at most 1e30, found 1e+31", view, {});
}

TEST(WorstSlab, TheGreatestFeaturesAllowedStillHaveAnOrder) {
  Random random(21);
  DiagnosedTable table =
      random_table(random, 2000, 3, [](std::span<const double> x) { return x[0] > 0.5 ? 0.1 : 0.95; });
  const WorstSlab plain = worst_slab(table.intervals.rows(), table.view(), {.directions = 50});
  for (double& x : table.features) x *= 1e30;
  const WorstSlab scaled = worst_slab(table.intervals.rows(), table.view(), {.directions = 50});
  EXPECT_EQ(plain.direction, scaled.direction);
  EXPECT_EQ(plain.coverage.successes, scaled.coverage.successes);
}

// --- weakest_slab, standardised
// -----------------------------------------------------------------------------------------------

TEST(WeakestSlab, FindsTheFeatureAndTheRangeOfAPlantedHole) {
  Random random(22);
  DiagnosedTable table =
      random_table(random, 20'000, 3, [](std::span<const double> x) { return x[1] >= 0.8 ? kHoleCoverage : 0.95; });
  for (std::size_t i = 0; i < table.intervals.size(); i += 10) table.features[3 * i + 2] = kNaN;
  const auto slab = weakest_slab(table.intervals.rows(), table.view());
  ASSERT_TRUE(slab.has_value());
  EXPECT_EQ(slab->feature, 1U);
  EXPECT_NEAR(slab->low, 0.8, 0.05);
  EXPECT_TRUE(slab->reaches_greatest);
  EXPECT_FALSE(slab->reaches_min);
  EXPECT_NEAR(slab->coverage.share, kHoleCoverage, 0.08);
  EXPECT_LE(slab->search_coverage, slab->coverage.share + 0.05);
}

TEST(WeakestSlab, RowsWithoutAValueAreInNoRange) {
  // Coverage is lost exactly where the only feature is missing, so no range of its values is weak.
  const Intervals intervals = intervals_where(4000, [](std::size_t i) { return i % 4 != 0; });
  std::vector<double> feature(4000);
  Random random(23);
  for (std::size_t i = 0; i < 4000; ++i) feature[i] = i % 4 != 0 ? random.normal() : kNaN;
  const auto slab = weakest_slab(intervals.rows(), MatrixView::column(feature));
  ASSERT_TRUE(slab.has_value());
  EXPECT_EQ(slab->coverage.share, 1.0);

  const std::vector<double> missing(4000, kNaN);
  EXPECT_FALSE(weakest_slab(intervals.rows(), MatrixView::column(missing)).has_value());
}

TEST(Standardised, HasMeanZeroAndDeviationOneAndPutsMissingValuesInTheMiddle) {
  const std::vector<double> features{1, 7, 2, 7, 3, 7, kNaN, 7};
  const std::vector<double> found = standardised({features.data(), 4, 2});
  const double z = std::sqrt(1.5);
  const std::vector<double> expected{-z, 0, 0, 0, z, 0, 0, 0};
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-15);
}

}  // namespace
}  // namespace widthwise
