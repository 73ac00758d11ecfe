#include <widthwise/guarantee.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "support/errors.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

namespace widthwise {
namespace {

std::string refusal_of(const std::function<void()>& call) { return message_of(call, ErrorCode::kInvalidArgument); }

TEST(CoverageSpread, OfNineRowsIsThatOfTheirMaximum) {
  const CoverageSpread spread = coverage_spread(0.9, 9, 0.95);
  EXPECT_EQ(spread.rows, 9U);
  EXPECT_DOUBLE_EQ(spread.mean, 0.9);
  EXPECT_NEAR(spread.low, std::pow(0.025, 1.0 / 9), 1e-12);
  EXPECT_NEAR(spread.high, std::pow(0.975, 1.0 / 9), 1e-12);
}

/// P(at least k of n fall below x), term by term.
double beta_cdf(std::uint64_t k, std::uint64_t n, double x) {
  const boost::math::binomial_distribution<> binomial(static_cast<double>(n), x);
  double sum = 0;
  for (std::uint64_t i = k; i <= n; ++i) sum += boost::math::pdf(binomial, static_cast<double>(i));
  return sum;
}

TEST(CoverageSpread, LeavesHalfOfTheRestOnEachSide) {
  for (const std::uint64_t n : {19U, 99U, 100U, 105U, 999U}) {
    for (const double confidence : {0.5, 0.95, 0.999}) {
      const CoverageSpread spread = coverage_spread(0.9, n, confidence);
      const std::uint64_t rank = Level(0.9).rank(n);
      EXPECT_DOUBLE_EQ(spread.mean, static_cast<double>(rank) / static_cast<double>(n + 1));
      EXPECT_NEAR(beta_cdf(rank, n, spread.low), (1 - confidence) / 2, 1e-9);
      EXPECT_NEAR(beta_cdf(rank, n, spread.high), (1 + confidence) / 2, 1e-9);
    }
  }
}

TEST(CoverageSpread, IsAllOrNothingWithTooFewRows) {
  for (const std::uint64_t n : {0U, 1U, 8U}) {
    for (const CoverageSpread& spread : {coverage_spread(0.9, n), measured_coverage_spread(0.9, n, 10)}) {
      EXPECT_EQ(spread.rows, n);
      EXPECT_EQ(spread.mean, 1);
      EXPECT_EQ(spread.low, 1);
      EXPECT_EQ(spread.high, 1);
    }
  }
}

// Draw calibrations of uniform scores: coverage is the score of the rank itself.
TEST(CoverageSpread, IsWhatSimulatedCalibrationsShow) {
  Random random(1);
  constexpr std::uint64_t kTrials = 4000;
  constexpr std::uint64_t kTestRows = 150;
  const double confidence = 0.9;
  for (const std::uint64_t n : {9U, 19U, 99U, 250U}) {
    const CoverageSpread spread = coverage_spread(0.9, n, confidence);
    const CoverageSpread measured = measured_coverage_spread(0.9, n, kTestRows, confidence);
    std::uint64_t below = 0;
    std::uint64_t above = 0;
    std::uint64_t measured_below = 0;
    std::uint64_t measured_above = 0;
    std::vector<double> scores(n);
    for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
      for (double& score : scores) score = random.uniform();
      const auto place = scores.begin() + static_cast<std::ptrdiff_t>(Level(0.9).rank(n) - 1);
      std::nth_element(scores.begin(), place, scores.end());
      const double coverage = *place;
      below += coverage < spread.low ? 1U : 0U;
      above += coverage > spread.high ? 1U : 0U;
      std::uint64_t covered = 0;
      for (std::uint64_t i = 0; i < kTestRows; ++i) covered += random.uniform() <= coverage ? 1U : 0U;
      const double share = static_cast<double>(covered) / static_cast<double>(kTestRows);
      measured_below += share < measured.low ? 1U : 0U;
      measured_above += share > measured.high ? 1U : 0U;
    }
    const std::uint64_t minimum = binomial_lower_bound(kTrials, 0.05, 1e-6);
    const std::uint64_t maximum = binomial_upper_bound(kTrials, 0.05, 1e-6);
    EXPECT_GE(below, minimum);
    EXPECT_LE(below, maximum);
    EXPECT_GE(above, minimum);
    EXPECT_LE(above, maximum);
    EXPECT_LE(measured_below, maximum);
    EXPECT_LE(measured_above, maximum);
  }
}

/// log(n choose k).
double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

TEST(MeasuredCoverageSpread, IsThatOfTheBetaBinomialTermByTerm) {
  for (const double level : {0.1, 0.5, 0.9}) {
    for (const std::uint64_t n : {9U, 20U, 99U, 500U}) {
      for (const std::uint64_t tests : {1U, 7U, 100U, 900U}) {
        const auto k = static_cast<double>(Level(level).rank(n));
        const auto m = static_cast<double>(n);
        const auto t = static_cast<double>(tests);
        const CoverageSpread spread = measured_coverage_spread(level, n, tests, 0.9);
        double low_tail = 0;   // P(X < low)
        double high_tail = 0;  // P(X > high)
        double at_low = 0;
        double at_high = 0;
        for (double c = 0; c <= t; ++c) {
          // Beta-binomial: k - 1 + c of the first k + c - 1 places, and so on.
          const double term =
              std::exp(log_choose(k + c - 1, c) + log_choose(m - k + t - c, t - c) - log_choose(m + t, t));
          if (c / t < spread.low) low_tail += term;
          if (c / t > spread.high) high_tail += term;
          if (c / t == spread.low) at_low += term;
          if (c / t == spread.high) at_high += term;
        }
        EXPECT_LE(low_tail, 0.05 + 1e-9);
        EXPECT_GE(low_tail + at_low, 0.05 - 1e-9);
        EXPECT_LE(high_tail, 0.05 + 1e-9);
        EXPECT_GE(high_tail + at_high, 0.05 - 1e-9);
      }
    }
  }
}

/// P(count = c) of one group, by logarithms of factorials.
double beta_binomial_term(const RankedRows& group, double c) {
  const auto n = static_cast<double>(group.rows);
  const auto k = static_cast<double>(group.rank);
  const auto m = static_cast<double>(group.test_rows);
  return std::exp(log_choose(k + c - 1, c) + log_choose(n - k + m - c, m - c) - log_choose(n + m, m));
}

TEST(CoveredCount, IsTheConvolutionOfItsGroups) {
  const std::vector<RankedRows> groups = {{.rows = 15, .rank = 15, .test_rows = 7},
                                          {.rows = 99, .rank = 90, .test_rows = 20},
                                          {.rows = 3, .rank = 4, .test_rows = 2},  // infinite: always covered
                                          {.rows = 20, .rank = 2, .test_rows = 5},
                                          {.rows = 20, .rank = 2, .test_rows = 0}};
  std::vector<double> law = {1};
  for (const RankedRows& group : groups) {
    std::vector<double> next(law.size() + group.test_rows);
    for (std::size_t i = 0; i < law.size(); ++i) {
      for (std::size_t c = 0; c <= group.test_rows; ++c) {
        const bool infinite = group.rank > group.rows;
        const double term =
            infinite ? (c == group.test_rows ? 1 : 0) : beta_binomial_term(group, static_cast<double>(c));
        next[i + c] += law[i] * term;
      }
    }
    law = next;
  }
  const CoveredCount count(groups);
  ASSERT_EQ(count.test_rows(), 34U);
  double sum = 0;
  for (std::size_t c = 0; c < law.size(); ++c) {
    sum += law[c];
    EXPECT_NEAR(count.at_most(c), sum, 1e-12) << c;
    EXPECT_NEAR(count.more_than(c), 1 - sum, 1e-12) << c;
  }
}

TEST(CoveredCount, OfDrawnRowsIsHypergeometric) {
  const DrawnRows drawn{.rows = 60, .covered = 50, .test_rows = 20};
  const RankedRows group{.rows = 15, .rank = 14, .test_rows = 6};
  const auto hypergeometric_term = [&](double c) {
    return c < 10 ? 0 : std::exp(log_choose(20, c) + log_choose(40, 50 - c) - log_choose(60, 50));
  };
  const CoveredCount alone({}, drawn);
  const CoveredCount both(std::span(&group, 1), drawn);
  ASSERT_EQ(both.test_rows(), 26U);
  double sum_alone = 0;
  double sum_both = 0;
  for (std::uint64_t c = 0; c <= 26; ++c) {
    if (c <= 20) sum_alone += hypergeometric_term(static_cast<double>(c));
    for (std::uint64_t of_group = 0; of_group <= std::min<std::uint64_t>(c, 6); ++of_group) {
      if (c - of_group > 20) continue;
      sum_both += beta_binomial_term(group, static_cast<double>(of_group)) *
                  hypergeometric_term(static_cast<double>(c - of_group));
    }
    EXPECT_NEAR(alone.at_most(c), sum_alone, 1e-12) << c;
    EXPECT_NEAR(alone.more_than(c), 1 - sum_alone, 1e-12) << c;
    EXPECT_NEAR(both.at_most(c), sum_both, 1e-12) << c;
    EXPECT_NEAR(both.more_than(c), 1 - sum_both, 1e-12) << c;
  }
  EXPECT_THROW((void)CoveredCount({}, {.rows = 10, .covered = 11, .test_rows = 5}), Error);
  EXPECT_THROW((void)CoveredCount({}, {.rows = 10, .covered = 5, .test_rows = 11}), Error);
}

// Both tails are upper bounds, so together they are at least 1; on a fine lattice, hardly more.
TEST(CoveredCount, BoundsBothTailsOfLargeGroupsClosely) {
  const std::vector<RankedRows> groups = {{.rows = 100, .rank = 91, .test_rows = 200'000},
                                          {.rows = 1000, .rank = 901, .test_rows = 300'000},
                                          {.rows = 15, .rank = 15, .test_rows = 100'000}};
  const CoveredCount count(groups);
  for (const std::uint64_t covered : {500'000U, 530'000U, 545'000U, 560'000U}) {
    const double both = count.at_most(covered) + count.more_than(covered);
    EXPECT_GE(both, 1 - 1e-12);
    EXPECT_LT(both, 1.01);
  }
  EXPECT_EQ(count.more_than(600'000), 0);
  const CoverageSpread spread = measured_coverage_spread(groups, 0.99);
  EXPECT_LT(spread.low, spread.mean);
  EXPECT_GT(spread.high, spread.mean);
  EXPECT_EQ(spread.rows, 1115U);
}

TEST(CoveredCount, RefusesARankOfZeroAndNoTestRows) {
  const RankedRows no_rank{.rows = 10, .rank = 0, .test_rows = 1};
  const RankedRows no_test{.rows = 10, .rank = 9, .test_rows = 0};
  EXPECT_THROW((void)CoveredCount(std::span(&no_rank, 1)), Error);
  EXPECT_THROW((void)CoveredCount(std::span(&no_test, 1)), Error);
}

TEST(MeasuredCoverageSpread, TendsToThatOfTheCoverageAsTheTestGrows) {
  const CoverageSpread exact = coverage_spread(0.9, 1000);
  for (const std::uint64_t tests : {100U, 10'000U, 1'000'000'000U}) {
    const CoverageSpread measured = measured_coverage_spread(0.9, 1000, tests);
    // Independent luck adds at most its own standard deviations, and counts come in steps.
    const double room = 3 * std::sqrt(0.25 / static_cast<double>(tests)) + 1 / static_cast<double>(tests);
    EXPECT_LE(measured.low, exact.low + 1 / static_cast<double>(tests));
    EXPECT_GE(measured.high, exact.high - 1 / static_cast<double>(tests));
    EXPECT_NEAR(measured.low, exact.low, room);
    EXPECT_NEAR(measured.high, exact.high, room);
  }
}

TEST(RowsForTolerance, OfOnePercentAtNineTenthsAreThreeAndAHalfThousand) {
  // 1.96^2 0.9 0.1 / 0.01^2 = 3457, and something for the rounding of ranks.
  const std::uint64_t n = rows_for_tolerance(0.9, 0.01);
  EXPECT_GE(n, 3457U);
  EXPECT_LE(n, 3700U);
}

/// The definition, searched downwards from a sufficient number of rows by Hoeffding's bound for beta distributions.
std::uint64_t rows_by_counting(const Level& level, double tolerance, double confidence) {
  const double certain =
      std::log(2 / (1 - confidence)) / (2 * tolerance * tolerance) + 2 / tolerance + 2 / (tolerance * tolerance);
  std::uint64_t n = std::max(static_cast<std::uint64_t>(certain), level.min_rows());
  for (; n >= level.min_rows(); --n) {
    const CoverageSpread spread = coverage_spread(level, n, confidence);
    if (spread.low < level.value() - tolerance || spread.high > level.value() + tolerance) return n + 1;
    if (n == 0) break;
  }
  return level.min_rows();
}

TEST(RowsForTolerance, AreThoseFromWhichOnItHoldsByCounting) {
  for (const double level : {0.01, 0.1, 0.3333, 0.5, 0.6, 0.75, 0.9, 0.95, 0.987, 0.99}) {
    for (const double tolerance : {0.3, 0.1, 0.06, 0.045}) {
      for (const double confidence : {0.5, 0.95}) {
        EXPECT_EQ(rows_for_tolerance(level, tolerance, confidence), rows_by_counting(level, tolerance, confidence))
            << "level " << level << ", tolerance " << tolerance << ", confidence " << confidence;
      }
    }
  }
}

TEST(SlowRowsForTolerance, AreThoseFromWhichOnItHoldsByCounting) {
  Random random(2);
  for (std::uint64_t trial = 0; trial < slow_repeats(40); ++trial) {
    const double level = std::round(1e4 * (0.02 + 0.96 * random.uniform())) / 1e4;
    const double tolerance = 0.012 + 0.03 * random.uniform();
    const double confidence = 0.3 + 0.69 * random.uniform();
    EXPECT_EQ(rows_for_tolerance(level, tolerance, confidence), rows_by_counting(level, tolerance, confidence))
        << "level " << level << ", tolerance " << tolerance << ", confidence " << confidence;
  }
}

TEST(RowsForTolerance, AreTheLeastThatGiveFiniteIntervalsWhenTheToleranceIsWide) {
  EXPECT_EQ(rows_for_tolerance(0.999, 0.5), 999U);
  EXPECT_EQ(rows_for_tolerance(0.9, 0.9), 9U);
}

TEST(RowsForTolerance, AreFoundAtOnceForExtremes) {
  const auto start = std::chrono::steady_clock::now();
  for (const double level : {0.5, 0.9, 0.999, 0.123456789, 0.9999999}) {
    for (const double tolerance : {1e-4, 2e-5}) {
      const std::uint64_t n = rows_for_tolerance(level, tolerance);
      EXPECT_GE(n, Level(level).min_rows());
      // Where it changes: n holds, n - 1 does not.
      const CoverageSpread spread = coverage_spread(level, n);
      EXPECT_GE(spread.low, level - tolerance * (1 + 1e-9));
      EXPECT_LE(spread.high, level + tolerance * (1 + 1e-9));
      if (n == Level(level).min_rows()) continue;
      const CoverageSpread before = coverage_spread(level, n - 1);
      EXPECT_TRUE(before.low < level - tolerance * (1 - 1e-9) || before.high > level + tolerance * (1 - 1e-9));
    }
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 5) << "ten of them; well under a second each even on a busy machine";
}

TEST(Plan, RefusesInvalidConfidencesAndTolerances) {
  for (const double share : {0.0, 1.0, -0.5, 2.0, kNaN}) {
    EXPECT_NE(refusal_of([=] { return coverage_spread(0.9, 100, share); }).find("confidence"), std::string::npos);
    EXPECT_NE(refusal_of([=] { return measured_coverage_spread(0.9, 100, 10, share); }).find("confidence"),
              std::string::npos);
    EXPECT_NE(refusal_of([=] { return rows_for_tolerance(0.9, 0.1, share); }).find("confidence"), std::string::npos);
    EXPECT_NE(refusal_of([=] { return rows_for_tolerance(0.9, share); }).find("tolerance"), std::string::npos);
  }
  constexpr std::uint64_t kTooMany = 10'000'000'001;
  EXPECT_NE(refusal_of([] { return coverage_spread(0.9, kTooMany); }).find("10000000000 rows"), std::string::npos);
  EXPECT_NE(refusal_of([] { return measured_coverage_spread(0.9, 100, kTooMany); }).find("test rows"),
            std::string::npos);
  EXPECT_NE(refusal_of([] { return measured_coverage_spread(0.9, 100, 0); }).find("found 0"), std::string::npos);
  EXPECT_NE(refusal_of([] { return rows_for_tolerance(0.9, 1e-7); }).find("use a wider tolerance"), std::string::npos);
  EXPECT_NE(
      refusal_of([] { return rows_for_tolerance(Level::parse("0.99999999999"), 0.1); }).find("use a wider tolerance"),
      std::string::npos);
}

}  // namespace
}  // namespace widthwise
