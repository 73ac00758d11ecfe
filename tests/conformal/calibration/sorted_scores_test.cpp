#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/level.hpp>
#include <widthwise/random.hpp>

#include "support/calibration_rows.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

__extension__ typedef unsigned __int128 Wide;

TEST(SortedScores, GiveTheScoreAtTheRankOfTheLevel) {
  Random random(9);
  const std::vector<Level> levels = levels_of_two_decimals();
  for (std::size_t n = 1; n <= 200; ++n) {
    std::vector<double> scores(n);
    for (double& score : scores) score = static_cast<double>(random.below(n));
    Calibration calibration;
    calibration.add(0, scores);
    const SortedScores sorted(calibration);
    std::vector<double> expected(levels.size());
    conformal_quantiles(scores, levels, expected);
    for (std::size_t j = 0; j < levels.size(); ++j) ASSERT_EQ(sorted.quantile(levels[j]), expected[j]);
  }
}

TEST(SortedScores, GiveTheSameWithEqualWeightsAsWithout) {
  Random random(10);
  const std::vector<Level> levels = levels_of_two_decimals();
  for (const double weight : {1.0, 2.0, 0.1, 1.0 / 3, 1e-300, 1e300, 5e-324, 1.7e308, 123.456}) {
    for (std::size_t n = 1; n <= 200; ++n) {
      const std::vector<double> scores = distinct_scores(n, random);
      Calibration plain;
      plain.add(0, scores);
      Calibration weighted;
      weighted.add(0, scores, {}, std::vector<double>(n, weight));
      const SortedScores expected(plain);
      const SortedScores found(weighted);
      EXPECT_EQ(found.needs_test_weight(), weight != 1);
      for (const Level& level : levels) {
        ASSERT_EQ(found.quantile(level, 0, weight), expected.quantile(level))
            << "weight " << weight << ", " << n << " rows, level " << level.to_string();
        for (const bool below : {false, true}) {
          ASSERT_EQ(found.sided_quantile(level, below, 0, weight), expected.sided_quantile(level, below));
        }
      }
    }
  }
}

/// The rows of a calibration, and quantiles of them from integers alone.
struct IntegerRows {
  std::vector<CalibrationRow> rows;  // weights are integers below 2^40

  [[nodiscard]] double quantile(const Level& level, std::uint64_t test_weight,
                                const std::function<double(const CalibrationRow&)>& order) const {
    std::vector<CalibrationRow> sorted = rows;
    std::ranges::sort(sorted, {}, order);
    std::uint64_t total = test_weight;
    for (const CalibrationRow& row : sorted) total += static_cast<std::uint64_t>(row.weight);
    std::uint64_t weight = 0;
    for (const CalibrationRow& row : sorted) {
      weight += static_cast<std::uint64_t>(row.weight);
      if (Wide{weight} * level.denominator() >= Wide{level.numerator()} * total) return order(row);
    }
    return kInfinity;
  }
};

/// Orders rows from far below their prediction to far above it, for positive scores.
double signed_score(const auto& row) { return row.above ? row.score : -row.score; }

void expect_sided(const SortedScores& sorted, const IntegerRows& rows, const Level& level, std::uint64_t test_weight) {
  const double weight = static_cast<double>(test_weight);
  const double upper = rows.quantile(level, test_weight, signed_score<CalibrationRow>);
  ASSERT_EQ(signed_score(sorted.sided_quantile(level, true, 0, weight)), upper);
  const double lower = rows.quantile(level, test_weight, [](const CalibrationRow& row) { return -signed_score(row); });
  ASSERT_EQ(signed_score(sorted.sided_quantile(level, false, 0, weight)), -lower);
}

TEST(SortedScores, AgreeWithIntegerArithmetic) {
  Random random(11);
  std::vector<Level> levels = levels_of_two_decimals();
  for (const char* text : {"0.9999999999999999999", "0.0000000000000000001", "0.3333333333333333333", "0.999"}) {
    levels.push_back(Level::parse(text));
  }
  for (int repetition = 0; repetition < 300; ++repetition) {
    IntegerRows integers;
    const std::size_t n = 1 + random.below(60);
    const std::uint64_t maximum = repetition % 3 == 0 ? 1 : repetition % 3 == 1 ? 5 : std::uint64_t{1} << 40U;
    for (std::size_t i = 0; i < n; ++i) {
      integers.rows.push_back({static_cast<double>(1 + random.below(30)), random.uniform() < 0.5,
                               static_cast<double>(1 + random.below(maximum)), 0});
    }
    const SortedScores sorted(calibration_of(integers.rows));
    for (const std::uint64_t test_weight : {std::uint64_t{1}, std::uint64_t{3}, maximum}) {
      for (const Level& level : levels) {
        ASSERT_EQ(sorted.quantile(level, 0, static_cast<double>(test_weight)),
                  integers.quantile(level, test_weight, [](const CalibrationRow& row) { return row.score; }));
        expect_sided(sorted, integers, level, test_weight);
      }
    }
  }
}

TEST(SortedScores, AreNotMovedByRoundingWhereTheWeightIsJustReached) {
  // 1 + 2^-60 is one half of all, which no double can say; one unit in the last place of the test weight decides.
  const std::vector<CalibrationRow> rows = {
      {.score = 1, .weight = 1}, {.score = 2, .weight = 0x1p-60}, {.score = 3, .weight = 0x1p-60}};
  const SortedScores sorted(calibration_of(rows));
  EXPECT_EQ(sorted.quantile(0.5, 0, 1.0), 2);
  EXPECT_EQ(sorted.quantile(0.5, 0, std::nextafter(1.0, 0.0)), 1);
  EXPECT_EQ(sorted.quantile(0.5, 0, std::nextafter(1.0, 2.0)), kInfinity);
}

TEST(SortedScores, AreExactForLevelsOfNineteenDigits) {
  // All weigh 10^19 together, so the level a / 10^19 is reached by the weight a and by nothing less.
  constexpr std::uint64_t kTotal = 10'000'000'000'000'000'000U;
  constexpr std::uint64_t kFirst = std::uint64_t{2048} * 1'500'000'000'000'001U;
  constexpr std::uint64_t kUnits = 2048;
  std::vector<CalibrationRow> rows = {{.score = 0, .weight = static_cast<double>(kFirst)}};
  for (std::uint64_t i = 1; i <= kUnits; ++i) rows.push_back({.score = static_cast<double>(i)});
  const SortedScores sorted(calibration_of(rows));
  const auto test_weight = static_cast<double>(kTotal - kFirst - kUnits);
  ASSERT_EQ(static_cast<std::uint64_t>(test_weight), kTotal - kFirst - kUnits);
  for (std::uint64_t i = 0; i <= kUnits; ++i) {
    const Level level = Level::parse("0." + std::to_string(kFirst + i));
    ASSERT_EQ(sorted.quantile(level, 0, test_weight), static_cast<double>(i)) << level.to_string();
  }
}

TEST(SortedScores, SurviveWeightsOfAnySize) {
  const std::vector<CalibrationRow> rows = {{.score = 1, .weight = 1e308},
                                            {.score = 2, .weight = 1.7e308},
                                            {.score = 3, .weight = 5e-324},
                                            {.score = 4, .weight = 1.7e308}};
  const SortedScores sorted(calibration_of(rows));
  EXPECT_EQ(sorted.quantile(0.2, 0, 1e-300), 1);
  EXPECT_EQ(sorted.quantile(0.5, 0, 1e-300), 2);
  EXPECT_EQ(sorted.quantile(0.9, 0, 1e-300), 4);
  EXPECT_EQ(sorted.quantile(0.9, 0, 1.7e308), kInfinity);
  EXPECT_EQ(sorted.quantile(0.1, 0, 1.7e308), 1);

  const SortedScores tiny(calibration_of(std::vector<CalibrationRow>{{.score = 1, .weight = 5e-324}}));
  EXPECT_EQ(tiny.quantile(0.5, 0, 5e-324), 1);
  EXPECT_EQ(tiny.quantile(0.51, 0, 5e-324), kInfinity);
  EXPECT_EQ(tiny.quantile(0.01, 0, 1e308), kInfinity);
  EXPECT_EQ(tiny.p_value(2, 0, 1e308), 1);
}

TEST(SortedScores, CountTheTestWeightWhenTheRowsHaveNone) {
  Calibration calibration;
  calibration.add(0, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  const SortedScores sorted(calibration);
  EXPECT_EQ(sorted.quantile(0.5, 0, 8), 8);
  EXPECT_EQ(sorted.quantile(0.5, 0, 8.001), kInfinity);
  EXPECT_EQ(sorted.quantile(0.5, 0, 0.001), 5);
  EXPECT_EQ(sorted.p_value(8, 0, 2), 0.3);
}

TEST(SortedScores, ATestWeightIsPositive) {
  for (const double row_weight : {1.0, 2.0}) {
    const SortedScores sorted(calibration_of(std::vector<CalibrationRow>(50, {.score = 1, .weight = row_weight})));
    for (const double weight : {0.0, -1.0, kNaN, -kInfinity}) {
      for (const std::int64_t group : {0, 1}) {
        expect_error(ErrorCode::kInvalidArgument, "positive test weight",
                     [&] { (void)sorted.quantile(0.5, group, weight); });
        expect_error(ErrorCode::kInvalidArgument, "positive test weight",
                     [&] { (void)sorted.sided_quantile(0.5, true, group, weight); });
        expect_error(ErrorCode::kInvalidArgument, "positive test weight",
                     [&] { (void)sorted.p_value(0.5, group, weight); });
      }
    }
    EXPECT_EQ(sorted.quantile(0.01, 0, kInfinity), kInfinity);
    EXPECT_EQ(sorted.sided_quantile(0.01, true, 0, kInfinity), (SidedScore{kInfinity, true}));
    EXPECT_EQ(sorted.p_value(100, 0, kInfinity), 1);
  }
}

TEST(SortedScores, ACalibrationWithWeightsNeedsATestWeight) {
  const SortedScores sorted(calibration_of(std::vector<CalibrationRow>(50, {.score = 1, .weight = 2})));
  const char* const remedy = "test_weight is required; pass the likelihood ratio of the row";
  expect_error(ErrorCode::kInvalidArgument, remedy, [&] { (void)sorted.quantile(0.5); });
  expect_error(ErrorCode::kInvalidArgument, remedy, [&] { (void)sorted.sided_quantile(0.5, true); });
  expect_error(ErrorCode::kInvalidArgument, remedy, [&] { (void)sorted.p_value(0.5); });
}

TEST(SortedScores, EachGroupHasItsOwnQuantile) {
  Calibration calibration;
  for (std::uint64_t i = 0; i < 19; ++i) {
    calibration.add(i, {.score = static_cast<double>(i), .group = i < 10 ? -2 : 30});
  }
  const SortedScores sorted(calibration);
  EXPECT_EQ(sorted.groups(), (std::vector<std::int64_t>{-2, 30}));
  EXPECT_EQ(sorted.rows(-2), 10U);
  EXPECT_EQ(sorted.rows(30), 9U);
  EXPECT_EQ(sorted.rows(0), 0U);
  EXPECT_TRUE(sorted.has_group(30));
  EXPECT_FALSE(sorted.has_group(0));
  EXPECT_EQ(sorted.quantile(0.5, -2), 5);
  EXPECT_EQ(sorted.quantile(0.9, 30), 18);
}

TEST(SortedScores, AGroupNeverSeenHasAnInfiniteInterval) {
  const SortedScores sorted(calibration_of(std::vector<CalibrationRow>(100, {.score = 1})));
  EXPECT_EQ(sorted.quantile(0.5, 1), kInfinity);
  EXPECT_EQ(sorted.quantile(0.5, 1, 1, WhenTooFew::kError), kInfinity);
  EXPECT_EQ(sorted.sided_quantile(0.5, true, 1), (SidedScore{kInfinity, true}));
  EXPECT_EQ(sorted.sided_quantile(0.5, false, 1), (SidedScore{kInfinity, false}));
  EXPECT_EQ(sorted.p_value(1e9, 1), 1);
  EXPECT_EQ(SortedScores().quantile(0.5), kInfinity);
}

TEST(SortedScores, TooFewRowsAreInfiniteOrAnErrorWithTheNumberNeeded) {
  const SortedScores sorted(calibration_of(std::vector<CalibrationRow>(8, {.score = 1})));
  EXPECT_EQ(sorted.quantile(0.9), kInfinity);
  EXPECT_EQ(sorted.quantile(Level::parse("0.88"), 0, 1, WhenTooFew::kError), 1);
  expect_error(ErrorCode::kTooFewRows, "level 0.9 needs 9 rows, found 8 in group 0",
               [&] { (void)sorted.quantile(0.9, 0, 1, WhenTooFew::kError); });
  expect_error(ErrorCode::kTooFewRows, "needs more rows for a test weight of 2.5, found 8 in group 0",
               [&] { (void)sorted.quantile(0.9, 0, 2.5, WhenTooFew::kError); });
}

TEST(SortedScores, PValuesCountTheScoresAtLeastAsGreat) {
  Random random(12);
  for (std::size_t n = 1; n < 60; ++n) {
    std::vector<CalibrationRow> rows(n);
    for (CalibrationRow& row : rows) {
      row = {.score = static_cast<double>(random.below(10)), .weight = static_cast<double>(1 + random.below(4))};
    }
    std::vector<CalibrationRow> plain_rows = rows;
    for (CalibrationRow& row : plain_rows) row.weight = 1;
    const SortedScores weighted(calibration_of(rows));
    const SortedScores plain(calibration_of(plain_rows));
    for (double score = -0.5; score <= 10.5; score += 0.5) {
      double count = 0;
      double weight = 0;
      double total = 0;
      for (const CalibrationRow& row : rows) {
        total += row.weight;
        if (row.score >= score) {
          count += 1;
          weight += row.weight;
        }
      }
      EXPECT_EQ(plain.p_value(score), (1 + count) / static_cast<double>(n + 1));
      EXPECT_EQ(weighted.p_value(score, 0, 2), (2 + weight) / (total + 2));
    }
    EXPECT_EQ(plain.p_value(kInfinity), 1 / static_cast<double>(n + 1));
    EXPECT_EQ(plain.p_value(-kInfinity), 1);
    EXPECT_EQ(plain.p_value(kNaN), 1);
  }
}

TEST(SortedScores, PValuesAgreeWithQuantiles) {
  Random random(13);
  const std::vector<Level> levels = levels_of_two_decimals();
  for (std::size_t n = 1; n < 120; ++n) {
    std::vector<double> scores(n);
    for (double& score : scores) score = static_cast<double>(random.below(n));
    Calibration calibration;
    calibration.add(0, scores);
    const SortedScores sorted(calibration);
    for (const Level& level : levels) {
      const double q = sorted.quantile(level);
      for (double score = 0; score <= static_cast<double>(n); ++score) {
        // p > alpha, in integers.
        const auto at_least = static_cast<std::uint64_t>(
            1 + std::ranges::count_if(scores, [score](double other) { return other >= score; }));
        const Level alpha = level.complement();
        ASSERT_EQ(score <= q, at_least * alpha.denominator() > alpha.numerator() * (n + 1));
        ASSERT_EQ(sorted.p_value(score), static_cast<double>(at_least) / static_cast<double>(n + 1));
      }
    }
  }
}

TEST(SortedScores, SidedQuantilesAreRanksOfSignedScores) {
  // In order: two rows below, then three above.
  const std::vector<CalibrationRow> rows = {{.score = 5},
                                            {.score = 1},
                                            {.score = 2, .above = true},
                                            {.score = 4, .above = true},
                                            {.score = 8, .above = true}};
  const SortedScores sorted(calibration_of(rows));
  const auto upper = [&](double level) { return signed_score(sorted.sided_quantile(level, true)); };
  const auto lower = [&](double level) { return signed_score(sorted.sided_quantile(level, false)); };
  EXPECT_EQ(upper(0.1), -5);          // rank 1
  EXPECT_EQ(upper(0.3), -1);          // rank 2
  EXPECT_EQ(upper(0.5), 2);           // rank 3
  EXPECT_EQ(upper(0.8), 8);           // rank 5
  EXPECT_EQ(upper(0.84), kInfinity);  // rank 6 of 5
  EXPECT_EQ(lower(0.1), 8);           // rank 1 from above
  EXPECT_EQ(lower(0.5), 2);           // rank 3
  EXPECT_EQ(lower(0.6), -1);          // rank 4
  EXPECT_EQ(lower(0.8), -5);          // rank 5
  EXPECT_EQ(lower(0.84), -kInfinity);
}

TEST(SortedScores, SidedQuantilesAscendWithTheProbabilityWhateverTheWeights) {
  Random random(31);
  for (int repetition = 0; repetition < 100; ++repetition) {
    std::vector<CalibrationRow> rows(1 + random.below(40));
    for (CalibrationRow& row : rows) {
      row = {.score = static_cast<double>(random.below(9)),
             .above = random.uniform() < 0.4,
             .weight = repetition % 2 == 0 ? 1 : std::exp(3 * random.normal())};
    }
    const SortedScores sorted(calibration_of(rows));
    const double weight = repetition % 2 == 0 ? 1 : std::exp(3 * random.normal());
    double before = -kInfinity;
    for (const Level& probability : levels_of_two_decimals()) {
      const bool upper = probability >= Level(0.5);
      const double found =
          signed_score(sorted.sided_quantile(upper ? probability : probability.complement(), upper, 0, weight));
      ASSERT_GE(found, before) << probability.to_string();
      before = found;
    }
  }
}

}  // namespace
}  // namespace widthwise
