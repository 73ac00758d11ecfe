#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "support/errors.hpp"

namespace widthwise {
namespace {

// ---- ERT

TEST(ExcessRisk, AWorkedExample) {
  const std::vector<std::uint8_t> covered = {1, 0, 1, 0};
  const std::vector<double> probabilities = {1, 0.5, 0.75, 0.75};
  const Ert ert = excess_risk(covered, probabilities, 0.75);
  EXPECT_EQ(ert.rows, 4U);
  // L1: 1 - 0.75 and 0.75 - 0; predicting the level gives nothing.
  EXPECT_DOUBLE_EQ(ert.l1.total.value, (0.25 + 0.75) / 4);
  EXPECT_DOUBLE_EQ(ert.l1.under.value, 0.75 / 4);
  EXPECT_DOUBLE_EQ(ert.l1.over.value, 0.25 / 4);
  EXPECT_DOUBLE_EQ(ert.brier.total.value, (0.0625 + (0.5625 - 0.25)) / 4);
  // A probability of 1 is clipped to 1 - 1e-6.
  EXPECT_NEAR(ert.kl.over.value, (-std::log(0.75) + std::log(1 - 1e-6)) / 4, 1e-15);
  EXPECT_NEAR(ert.kl.under.value, (-std::log(0.25) + std::log(0.5)) / 4, 1e-15);
  // The values 0.25, 0.75, 0, 0 have the variance 0.125 with n - 1.
  EXPECT_DOUBLE_EQ(ert.l1.total.standard_error, std::sqrt(0.125 / 4));
}

TEST(ExcessRisk, OfTheTrueProbabilitiesIsTheDistanceFromTheLevelWithinItsStandardError) {
  constexpr std::size_t kRows = 40'000;
  Random random(1);
  std::vector<std::uint8_t> covered;
  std::vector<double> probabilities;
  for (std::size_t i = 0; i < kRows; ++i) {
    probabilities.push_back(i % 2 == 0 ? 0.8 : 1.0);
    covered.push_back(random.uniform() < probabilities.back() ? 1 : 0);
  }
  const Ert ert = excess_risk(covered, probabilities, 0.9);
  // 4.9 standard errors: a failure of one in a million.
  EXPECT_NEAR(ert.l1.total.value, 0.1, 4.9 * ert.l1.total.standard_error);
  EXPECT_NEAR(ert.brier.total.value, 0.01, 4.9 * ert.brier.total.standard_error);
  const double divergence = (0.8 * std::log(0.8 / 0.9) + 0.2 * std::log(0.2 / 0.1) - std::log(0.9)) / 2;
  EXPECT_NEAR(ert.kl.total.value, divergence, 4.9 * ert.kl.total.standard_error);
  EXPECT_NEAR(ert.l1.under.value + ert.l1.over.value, ert.l1.total.value, 1e-12);
  EXPECT_NEAR(ert.l1.total.standard_error, std::sqrt(0.2 * 0.8 / 2 / kRows), 2e-5);
}

TEST(ExcessRisk, InvalidArgumentsAreErrors) {
  const std::vector<std::uint8_t> covered = {1, 0};
  const std::vector<double> one = {0.5};
  const std::vector<double> nan = {0.5, std::nan("")};
  expect_error(ErrorCode::kShapeMismatch, "1 probabilities", [&] { (void)excess_risk(covered, one, 0.9); });
  expect_error(ErrorCode::kInvalidArgument, "at row 2", [&] { (void)excess_risk(covered, nan, 0.9); });
  expect_error(ErrorCode::kTooFewRows, "found 1 rows",
               [&] { (void)excess_risk(std::span(covered).first(1), one, 0.9); });
}

// ---- CRPS

double crps(const std::vector<double>& quantiles, const std::vector<Level>& probabilities, double outcome) {
  Crps score(probabilities);
  score.add({quantiles.data(), 1, quantiles.size()}, {&outcome, 1});
  return score.mean();
}

std::vector<Level> midpoints(int m) {
  std::vector<Level> probabilities;
  for (int j = 0; j < m; ++j) probabilities.emplace_back((2 * j + 1) / (2.0 * m));
  return probabilities;
}

TEST(Crps, IsTheIntegralOfTheSquaredDifferenceOfDistributionFunctions) {
  const std::vector<double> quantiles = {-1, -0.25, 0, 2};
  for (const double outcome : {-3.0, -0.5, 0.0, 1.0, 4.0}) {
    // The distribution function of mass 1/4 at each quantile minus that of the outcome, squared, on a fine grid.
    constexpr double kStep = 1e-4;
    double integral = 0;
    for (double z = -5 + kStep / 2; z < 5; z += kStep) {
      double difference = z >= outcome ? -1 : 0;
      for (const double quantile : quantiles) difference += z >= quantile ? 0.25 : 0;
      integral += kStep * difference * difference;
    }
    EXPECT_NEAR(crps(quantiles, midpoints(4), outcome), integral, 2 * kStep) << outcome;
  }
}

TEST(Crps, OfManyNormalQuantilesIsTheClosedForm) {
  const boost::math::normal_distribution<double> normal;
  const std::vector<Level> probabilities = midpoints(1000);
  std::vector<double> quantiles;
  for (const Level& t : probabilities) quantiles.push_back(boost::math::quantile(normal, t.value()));
  for (const double y : {-1.5, 0.0, 0.7, 2.0}) {
    const double closed =
        y * (2 * boost::math::cdf(normal, y) - 1) + 2 * boost::math::pdf(normal, y) - 1 / std::sqrt(std::numbers::pi);
    EXPECT_NEAR(crps(quantiles, probabilities, y), closed, 1e-4) << y;
  }
}

TEST(Crps, OfOneMedianIsTheAbsoluteError) { EXPECT_DOUBLE_EQ(crps({3}, {0.5}, 1), 2); }

TEST(Crps, DoesNotDependOnTheBatches) {
  Random random(2);
  std::vector<double> quantiles;
  std::vector<double> outcomes;
  const std::size_t m = Crps::default_probabilities().size();
  for (std::size_t i = 0; i < 50; ++i) {
    outcomes.push_back(random.uniform());
    for (std::size_t j = 0; j < m; ++j) quantiles.push_back(static_cast<double>(j) / 20 + random.uniform() / 20);
  }
  Crps at_once;
  at_once.add({quantiles.data(), 50, m}, outcomes);
  Crps batches;
  batches.add({quantiles.data(), 7, m}, std::span(outcomes).first(7));
  batches.add({quantiles.data() + 7 * m, 43, m}, std::span(outcomes).subspan(7));
  EXPECT_EQ(at_once.mean(), batches.mean());
}

TEST(Crps, AnInfiniteQuantileMakesItInfinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(crps({-kInfinity, 1}, {0.25, 0.75}, 0), kInfinity);
}

TEST(Crps, OfTheRowsWithFiniteQuantilesIsFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Crps score({0.25, 0.75});
  const std::vector<double> quantiles = {-1, 1, -kInfinity, 1};
  const std::vector<double> outcomes = {0, 0};
  score.add({quantiles.data(), 2, 2}, outcomes);
  const CrpsSummary found = score.summary();
  EXPECT_EQ(found.mean, kInfinity);
  EXPECT_DOUBLE_EQ(found.finite_mean, crps({-1, 1}, {0.25, 0.75}, 0));
  EXPECT_EQ(found.infinite, 1U);
  EXPECT_EQ(found.rows, 2U);
}

TEST(Crps, CountsRowsByTheirWeights) {
  const std::vector<double> quantiles = {-1, 1, 0, 2, -std::numeric_limits<double>::infinity(), 5};
  const std::vector<double> outcomes = {0, 3, 1};
  Crps weighted({0.25, 0.75});
  weighted.add({quantiles.data(), 3, 2}, outcomes, std::vector<double>{2, 1, 0});
  const std::vector<double> repeated = {-1, 1, -1, 1, 0, 2};
  Crps counted({0.25, 0.75});
  counted.add({repeated.data(), 3, 2}, std::vector<double>{0, 0, 3});
  EXPECT_DOUBLE_EQ(weighted.mean(), counted.mean());
  for (const double invalid : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(weighted.add({quantiles.data(), 1, 2}, std::vector<double>{0}, std::vector<double>{invalid}), Error);
  }
}

TEST(Crps, InvalidArgumentsAreErrors) {
  expect_error(ErrorCode::kInvalidArgument, "no probabilities", [] { (void)crps({}, {}, 0); });
  expect_error(ErrorCode::kInvalidArgument, "0.5 follows 0.5", [] { (void)crps({1, 2}, {0.5, 0.5}, 0); });
  expect_error(ErrorCode::kShapeMismatch, "1 columns of quantiles, 2 probabilities",
               [] { (void)crps({1}, {0.25, 0.75}, 0); });
  expect_error(ErrorCode::kNotFinite, "row 1", [] { (void)crps({1}, {0.5}, std::nan("")); });
}

}  // namespace
}  // namespace widthwise
