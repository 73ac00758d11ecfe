#include <gtest/gtest.h>

#include <boost/math/special_functions/beta.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>
#include <widthwise/calibration.hpp>
#include <widthwise/conformal_predictor.hpp>
#include <widthwise/error.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/random.hpp>

#include "support/errors.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

namespace widthwise {
namespace {

TEST(Guarantee, IsMarginalOrAConfidence) {
  EXPECT_TRUE(Guarantee().is_marginal());
  EXPECT_EQ(Guarantee().to_string(), "marginal");
  EXPECT_EQ(Guarantee::parse("marginal"), Guarantee());
  EXPECT_EQ(Guarantee::parse("0.950"), Guarantee(0.95));
  EXPECT_EQ(Guarantee(0.95).to_string(), "0.95");
  EXPECT_EQ(Guarantee(0.95).confidence(), Level(0.95));
  EXPECT_NE(Guarantee(0.95), Guarantee());
  for (const char* text : {"", "pac", "1", "0", "Marginal"}) {
    EXPECT_EQ(message_of([&] { (void)Guarantee::parse(text); }, ErrorCode::kInvalidArgument),
              "guarantee: expected 'marginal' or a confidence strictly between 0 and 1, such as 0.95, found '" +
                  std::string(text) + "'");
  }
  EXPECT_TRUE(message_of([] { (void)Guarantee::parse("95"); }, ErrorCode::kInvalidArgument)
                  .ends_with("found '95'; did you mean 0.95?"));
}

TEST(Guarantee, OfTheMarginalKindHasTheRankOfTheLevel) {
  for (const std::uint64_t n : {0U, 8U, 9U, 100U, 12'345U}) EXPECT_EQ(Guarantee().rank(0.9, n), Level(0.9).rank(n));
  EXPECT_EQ(Guarantee().min_rows(0.9), 9U);
}

/// The smallest k with P(Bin(n, level) < k) >= confidence in whole numbers, and whether the two sides are equal there.
struct ExactRank {
  std::uint64_t rank;
  bool tied;
};

ExactRank exact_rank(const Level& level, const Level& confidence, std::uint64_t n) {
  using boost::multiprecision::cpp_int;
  const cpp_int hit = level.numerator();
  const cpp_int miss = level.denominator() - level.numerator();
  const auto power = static_cast<unsigned>(n);
  const cpp_int need = boost::multiprecision::pow(cpp_int(level.denominator()), power) * confidence.numerator();
  cpp_int sum = 0;
  cpp_int choose = 1;
  for (std::uint64_t i = 0; i <= n; ++i) {
    sum += choose * boost::multiprecision::pow(hit, static_cast<unsigned>(i)) *
           boost::multiprecision::pow(miss, static_cast<unsigned>(n - i));
    const cpp_int have = sum * confidence.denominator();
    if (have >= need) return {i + 1, have == need};
    choose = choose * (n - i) / (i + 1);
  }
  return {n + 1, false};
}

TEST(Guarantee, HasTheRankOfTheExactBinomialTail) {
  int ties = 0;
  for (const char* level : {"0.1", "0.5", "0.68", "0.8", "0.9", "0.95", "0.99", "0.9137"}) {
    for (const char* confidence : {"0.01", "0.5", "0.8", "0.9", "0.95", "0.99", "0.999999"}) {
      const Guarantee guarantee = Guarantee::parse(confidence);
      for (std::uint64_t n = 0; n <= 60; ++n) {
        const ExactRank exact = exact_rank(Level::parse(level), Level::parse(confidence), n);
        ties += exact.tied ? 1 : 0;
        // Rounding cannot tell a tie from too little, and then takes the next rank.
        ASSERT_EQ(guarantee.rank(Level::parse(level), n), exact.rank + (exact.tied ? 1 : 0))
            << level << " with " << confidence << ", n = " << n;
      }
    }
  }
  EXPECT_GT(ties, 0);
  EXPECT_LT(ties, 40);  // odd n at 0.5 with confidence 0.5, and 0.1 with 0.9 ^ 1
}

TEST(Guarantee, HasTheRankOfTheIncompleteBetaFunction) {
  for (const double level : {0.5, 0.9, 0.99, 0.9999}) {
    for (const double confidence : {0.9, 0.95, 0.999}) {
      for (const std::uint64_t n : {100U, 1000U, 10'000U, 123'456U, 1'000'000U, 20'000'000U}) {
        const auto tail = [&](std::uint64_t k) {  // P(Bin(n, level) >= k)
          return boost::math::ibeta(static_cast<double>(k), static_cast<double>(n + 1 - k), level);
        };
        const std::uint64_t rank = Guarantee(confidence).rank(level, n);
        if (rank <= n) {
          EXPECT_LE(tail(rank), 1 - confidence) << level << " " << n;
        }
        EXPECT_GT(tail(rank - 1), 1 - confidence) << level << " " << n;
        EXPECT_GE(rank, Level(level).rank(n));
      }
    }
  }
}

TEST(Guarantee, NeedsRowsUntilAllOfThemBelowTheQuantileAreUnlikely) {
  EXPECT_EQ(Guarantee(0.95).min_rows(0.9), 29U);   // 0.9^29 = 0.0471
  EXPECT_EQ(Guarantee(0.95).min_rows(0.95), 59U);  // Wilks 1941
  EXPECT_EQ(Guarantee(0.99).min_rows(0.99), 459U);
  EXPECT_EQ(Guarantee(0.1).min_rows(0.5), 1U);
  for (const double level : {0.3, 0.9, 0.999, 0.9999999}) {
    for (const double confidence : {0.2, 0.95, 0.999999}) {
      const Guarantee guarantee(confidence);
      const std::uint64_t rows = guarantee.min_rows(level);
      EXPECT_LE(guarantee.rank(level, rows), rows);
      EXPECT_EQ(guarantee.rank(level, rows - 1), rows);
    }
  }
  EXPECT_GT(Guarantee(0.95).min_rows(Level::parse("0.9999999999999999999")), 10'000'000'000U);
  EXPECT_EQ(message_of([] { (void)Guarantee(0.95).rank(0.9, 10'000'000'001U); }, ErrorCode::kInvalidArgument),
            "guarantee 0.95: expected at most 10000000000 calibration rows, found 10000000001");
}

/// How often one calibration of n scores covers less than the level, of 10,000: scores are uniform, so that the bound
/// is the coverage, or rounded up to multiples of `grid`, so that many are tied.
std::uint64_t count_below(const Level& level, const Guarantee& guarantee, std::uint64_t n, double grid = 0) {
  Random random(n);
  std::uint64_t below = 0;
  std::vector<double> scores(n);
  for (int trial = 0; trial < 10'000; ++trial) {
    for (double& score : scores) {
      score = random.uniform();
      if (grid > 0) score = std::ceil(score / grid) * grid;
    }
    double bound = 0;
    conformal_quantiles(scores, {&level, 1}, {&bound, 1}, WhenTooFew::kInfinite, guarantee);
    below += bound < level.value() ? 1U : 0U;
  }
  return below;
}

TEST(Guarantee, IsKeptByTheStatedShareOfCalibrations) {
  constexpr std::uint64_t kTrials = 10'000;
  const Level level = 0.9;
  for (const std::uint64_t n : {100U, 1000U}) {
    for (const double confidence : {0.9, 0.95}) {
      const Guarantee guarantee(confidence);
      const auto k = static_cast<double>(guarantee.rank(level, n));
      const double exact = boost::math::ibeta(k, static_cast<double>(n) + 1 - k, level.value());
      ASSERT_LE(exact, 1 - confidence);
      // What it is below 1 - confidence is due to whole ranks: the one before is over it.
      ASSERT_GT(boost::math::ibeta(k - 1, static_cast<double>(n) + 2 - k, level.value()), 1 - confidence);
      const std::uint64_t below = count_below(level, guarantee, n);
      RecordProperty("below_" + std::to_string(n) + "_" + guarantee.to_string(), static_cast<int>(below));
      EXPECT_LE(below, binomial_upper_bound(kTrials, exact, 1e-6));
      EXPECT_GE(below, binomial_lower_bound(kTrials, exact, 1e-6));
    }
  }
  // Tied scores can only cover more; the marginal guarantee leaves nearly half of the calibrations below the level.
  EXPECT_LE(count_below(level, Guarantee(0.95), 100, 0.07), binomial_upper_bound(kTrials, 0.05, 1e-6));
  EXPECT_GT(count_below(level, {}, 100), kTrials / 3);
}

Calibration sample(std::uint64_t n, std::optional<std::int64_t> group = std::nullopt) {
  Calibration calibration;
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto number = i + (static_cast<std::uint64_t>(group.value_or(0)) << 32U);
    calibration.add(number, {.score = static_cast<double>(i + 1), .above = i % 2 == 0, .group = group});
  }
  return calibration;
}

TEST(Guarantee, ChoosesTheQuantileOfEachGroup) {
  Calibration calibration = sample(100, 1);
  calibration.merge(sample(40, 2));
  calibration.merge(sample(20, 3));
  const Guarantee guarantee(0.95);
  const SortedScores sorted(calibration, guarantee);
  EXPECT_EQ(sorted.guarantee(), guarantee);
  EXPECT_EQ(sorted.quantile(0.9, 1), 96);  // P(Bin(100, 0.9) >= 96) = 0.024, of 95 it is 0.058
  EXPECT_EQ(sorted.quantile(0.9, 2), static_cast<double>(guarantee.rank(0.9, 40)));
  EXPECT_EQ(sorted.quantile(0.9, 3), kInfinity);
  EXPECT_EQ(SortedScores(calibration).quantile(0.9, 3), 19);
  EXPECT_EQ(message_of([&] { (void)sorted.quantile(0.9, 3, 1, WhenTooFew::kError); }, ErrorCode::kTooFewRows),
            "SortedScores::quantile: level 0.9 needs 29 rows, found 20 in group 3");
  // Of 50 rows below the prediction and 50 above, the 96th from below is the 46th above.
  EXPECT_EQ(sorted.sided_quantile(0.9, true, 1), (SidedScore{91, true}));
  EXPECT_EQ(sorted.p_value(95, 1), SortedScores(calibration).p_value(95, 1));
}

TEST(Guarantee, IsRefusedWithWeights) {
  const std::string message =
      "guarantee 0.95 is not available for weighted calibration; use the guarantee 'marginal', or calibrate without "
      "weights";
  Calibration weighted = sample(50);
  weighted.add(1000, {.score = 1, .weight = 2});
  EXPECT_EQ(message_of([&] { (void)SortedScores(weighted, Guarantee(0.95)); }, ErrorCode::kInvalidArgument), message);
  const SortedScores sorted(sample(50), Guarantee(0.95));
  EXPECT_EQ(message_of([&] { (void)sorted.quantile(0.9, 0, 2); }, ErrorCode::kInvalidArgument), message);
}

TEST(Guarantee, MakesIntervalsAndTheirPlanWider) {
  const ConformalRule rule(make_transform("identity"));
  const Guarantee guarantee(0.95);
  const ConformalPredictor predictor(rule, sample(100), guarantee);
  EXPECT_EQ(predictor.guarantee(), guarantee);
  const Interval interval = predictor.interval(0, {}, 0.9);
  EXPECT_GE(interval.upper, 96);
  EXPECT_LT(interval.upper, 96.001);

  const CoverageSpread spread = coverage_spread(0.9, 100, 0.95, guarantee);
  EXPECT_DOUBLE_EQ(spread.mean, 96.0 / 101);
  EXPECT_GT(spread.low, coverage_spread(0.9, 100).low);
  EXPECT_EQ(coverage_spread(0.9, 28, 0.95, guarantee).low, 1);
  // Half of what confidence 0.9 leaves is 5 %: the low end is the level, or above it for want of a rank between.
  EXPECT_GE(coverage_spread(0.9, 1000, 0.9, guarantee).low, 0.9);
  EXPECT_LT(coverage_spread(0.9, 1000, 0.9, guarantee).low, 0.902);
  EXPECT_GE(measured_coverage_spread(0.9, 1000, 1'000'000, 0.9, guarantee).low, 0.9);

  for (const double tolerance : {0.05, 0.01, 0.002}) {
    const std::uint64_t rows = rows_for_tolerance(0.9, tolerance, 0.95, guarantee);
    EXPECT_LE(coverage_spread(0.9, rows, 0.95, guarantee).high, 0.9 + tolerance);
    EXPECT_GT(coverage_spread(0.9, rows - 1, 0.95, guarantee).high, 0.9 + tolerance);
    EXPECT_GT(rows, rows_for_tolerance(0.9, tolerance));
  }
}

}  // namespace
}  // namespace widthwise
