/// The worked examples of the paper, section Examples, with their numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <widthwise/conformal_predictor.hpp>

namespace widthwise {
namespace {

/// Calibrate with rows whose prediction is 0, so that an outcome is its own residual.
ConformalPredictor calibrated(const ConformalRule& rule, const std::vector<double>& outcomes,
                              const std::vector<double>& parameters) {
  const std::vector<double> predictions(outcomes.size(), 0.0);
  Calibration calibration;
  rule.calibrate(calibration, {predictions, {parameters.data(), outcomes.size(), rule.parameter_count()}}, outcomes, 0);
  return {rule, calibration};
}

class InequivalentIntervals : public testing::Test {
 protected:
  /// phi_X(A) = sqrt(A) - theta X: the affine transform of r = sqrt(A) with g1 = 0, g2 = -theta x.
  static Interval at_x_test(double theta) {
    const ConformalRule rule(make_transform("affine"), Score::kAbsolute);
    const std::vector<double> outcomes{std::sqrt(1.0), std::sqrt(2.0), std::sqrt(3.0)};
    const std::vector<double> parameters{0, -theta * 1, 0, -theta * 2, 0, -theta * 3};
    const std::vector<double> at_zero{0, 0};  // x_test = 0
    return calibrated(rule, outcomes, parameters).interval(10, at_zero, 0.5);
  }
};

// An error in the paper: its values {2, sqrt 2 + 2, sqrt 3 + 3} belong to theta = -1, not to theta = 1.
TEST_F(InequivalentIntervals, MinusOneGivesTheWideInterval) {
  const Interval interval = at_x_test(-1);
  EXPECT_NEAR(interval.upper - interval.lower, 2 * (2 + std::sqrt(2.0)), 1e-13);
}

// Another error: with theta = 1 the scores are {0, sqrt 2 - 2, sqrt 3 - 3} and q = sqrt 2 - 2 < 0, but at x_test = 0 no
// score is below 0. The set {y: phi <= q} is empty; its size is 0, not 2 (2 - sqrt 2).
TEST_F(InequivalentIntervals, PlusOneGivesAnEmptySetReportedAsThePrediction) {
  const Interval interval = at_x_test(1);
  EXPECT_EQ(interval.lower, 10);
  EXPECT_EQ(interval.upper, 10);
}

TEST(Erc, HalfWidthIsTheRootOfTheQuantileTimesTheModelOfTheError) {
  // g = 0, 1, 2 and gamma = 0.25: scales 0.25, 1.25, 4.25; residuals 1, 1, 1 give scores 4, 0.8, 4/17.
  const ConformalRule rule(make_transform("erc", {.gamma = 0.25}), Score::kSquared);
  const ConformalPredictor predictor = calibrated(rule, {1, -1, 1}, {0, 1, 2});
  // k = ceil(4 * 0.5) = 2, q = 0.8; at g = 3 the half-width is sqrt(0.8 * 9.25).
  const std::vector<double> g{3};
  const Interval interval = predictor.interval(0, g, 0.5);
  EXPECT_NEAR(interval.upper, std::sqrt(0.8 * 9.25), 1e-14);
  EXPECT_NEAR(interval.lower, -std::sqrt(0.8 * 9.25), 1e-14);
}

TEST(NonAdaptive, LogPlusAConstantIsThePlainInterval) {
  // phi_0 = log A + gamma, gamma = 0.7: |C| = 2 sqrt(exp(q - gamma)), whatever x; here q = log 9 + 0.7.
  const std::vector<double> outcomes{1, -2, 3, 4, -5};
  const ConformalRule constant(make_transform("linear"), Score::kSquared);
  const ConformalRule plain(make_transform("identity"), Score::kSquared);
  const std::vector<double> gamma{0.7};
  const Interval found = calibrated(constant, outcomes, std::vector<double>(5, 0.7)).interval(0, gamma, 0.5);
  const Interval expected = calibrated(plain, outcomes, {}).interval(0, {}, 0.5);
  EXPECT_NEAR(found.upper, std::sqrt(std::exp(std::log(9.0) + 0.7 - 0.7)), 1e-14);
  EXPECT_NEAR(found.upper - found.lower, 6, 1e-13);
  EXPECT_NEAR(expected.upper - expected.lower, 6, 1e-13);
}

class DifferentCodomains : public testing::Test {
 protected:
  /// phi_X(A) = A + g(X)^2, or of log A: affine with g1 = 0, g2 = g^2. Rows have A = 1, 4, 9 and g = 1, 0, 0.5.
  static Interval at(Score score, double g) {
    const ConformalRule rule(make_transform("affine"), score);
    const std::vector<double> parameters{0, g * g};
    return calibrated(rule, {1, 2, 3}, {0, 1, 0, 0, 0, 0.25}).interval(0, parameters, 0.5);
  }
};

TEST_F(DifferentCodomains, AQuantileBelowTheCodomainGivesAPoint) {
  // Scores 2, 4, 9.25: q = 4. At g = 1, A <= 3; at g = 2, A <= 0; at g = 3, A <= -5 is meaningless.
  EXPECT_NEAR(at(Score::kSquared, 1).upper, std::sqrt(3.0), 1e-14);
  EXPECT_NEAR(at(Score::kSquared, 2).upper, 0, 1e-6);
  EXPECT_EQ(at(Score::kSquared, 3).upper, 0);
  EXPECT_EQ(at(Score::kSquared, 3).lower, 0);
}

TEST_F(DifferentCodomains, TheLogScoreHasOneCodomainForAll) {
  // Scores 0 + 1, log 4, log 9 + 0.25: q = log 4. At g = 3, log A <= log 4 - 9.
  EXPECT_NEAR(at(Score::kLog, 3).upper, std::exp((std::log(4.0) - 9) / 2), 1e-14);
}

}  // namespace
}  // namespace widthwise
