#include <widthwise/score.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "support/numbers.hpp"

namespace widthwise {
namespace {

class ScoreLaws : public testing::TestWithParam<Score> {};

TEST_P(ScoreLaws, ResidualOfScoreIsTheResidualRoundedUp) {
  Random random(1);
  for (int trial = 0; trial < 100'000; ++trial) {
    const double r = std::pow(10.0, 24 * random.uniform() - 12);
    const double back = to_residual(GetParam(), to_score(GetParam(), r));
    EXPECT_GE(back, r);
    EXPECT_LE(back, r * (1 + 1e-13));
  }
}

TEST_P(ScoreLaws, TheSmallestAndGreatestResidualsStayInside) {
  for (const double r : {0.0, 5e-324, 1e-310, 1e-200, 1e-155, 1e150, 1e200, 1e308}) {
    EXPECT_GE(to_residual(GetParam(), to_score(GetParam(), r)), r) << r;
  }
  EXPECT_EQ(to_residual(GetParam(), to_score(GetParam(), 0.0)), 0);
  EXPECT_EQ(to_residual(GetParam(), kInfinity), kInfinity);
  EXPECT_EQ(to_residual(GetParam(), -kInfinity), 0);
}

TEST_P(ScoreLaws, ResidualOfScoreRoundedDownIsNeverAboveTheResidual) {
  Random random(2);
  for (int trial = 0; trial < 100'000; ++trial) {
    const double r = std::pow(10.0, 24 * random.uniform() - 12);
    const double back = to_residual_down(GetParam(), to_score(GetParam(), r));
    EXPECT_LE(back, r);
    EXPECT_GE(back, r * (1 - 1e-13));
  }
  for (const double r : {0.0, 5e-324, 1e-323, 1e-310, 1e-200, 1e-155, 1e150, 1e200, 1e308}) {
    const double a = std::min(to_score(GetParam(), r), std::numeric_limits<double>::max());
    EXPECT_LE(to_residual_down(GetParam(), a), r) << r;
    EXPECT_GE(to_residual_down(GetParam(), a), 0) << r;
  }
  EXPECT_EQ(to_residual_down(GetParam(), -kInfinity), 0);
}

TEST_P(ScoreLaws, ScoresIncreaseWithTheResidual) {
  double before = -kInfinity;
  for (double r = 1e-12; r < 1e12; r *= 1.01) {
    EXPECT_GT(to_score(GetParam(), r), before);
    before = to_score(GetParam(), r);
  }
}

TEST_P(ScoreLaws, DerivativeMatchesCentralDifferences) {
  for (const double r : {1e-3, 0.5, 1.0, 7.0, 1e3}) {
    const double a = to_score(GetParam(), r);
    const double h = 1e-5 * std::max(std::abs(a), 1e-6);
    const double expected = (to_residual(GetParam(), a + h) - to_residual(GetParam(), a - h)) / (2 * h);
    EXPECT_NEAR(to_residual_derivative(GetParam(), a), expected, 1e-6 * expected);
  }
}

TEST_P(ScoreLaws, NamesReadBack) { EXPECT_EQ(score_of(name_of(GetParam())), GetParam()); }

INSTANTIATE_TEST_SUITE_P(AllScores, ScoreLaws, testing::Values(Score::kSquared, Score::kAbsolute, Score::kLog),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(Scores, AScoreBelowItsRangeIsAnEmptySetOfWidthZero) {
  EXPECT_EQ(to_residual(Score::kSquared, -0.6), 0);
  EXPECT_EQ(to_residual(Score::kAbsolute, -0.6), 0);
  EXPECT_GT(to_residual(Score::kLog, -0.6), 0);
}

TEST(Scores, AnUnknownNameIsAnError) { EXPECT_THROW((void)score_of("square"), Error); }

}  // namespace
}  // namespace widthwise
