#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include <widthwise/random.hpp>

#include "objective/objectives.hpp"
#include "support/thread_workers.hpp"
#include "train/engines/first_outputs.hpp"

namespace widthwise {
namespace {

using internal::first_outputs;
using internal::make_quantile_objective;

/// Outcomes with a long tail: exponential, with median log 2 and mean 1.
std::vector<double> skewed(std::size_t n) {
  Random random(7);
  std::vector<double> y(n);
  for (double& value : y) value = -std::log(1 - random.uniform());
  return y;
}

/// The derivatives for one prediction of all rows.
struct Derivatives {
  std::vector<double> gradient;
  std::vector<double> hessian;
  double loss = 0;

  Derivatives(const Objective& objective, const ResidualRows& rows, std::span<const double> constants,
              const Reducer& reducer = SingleWorker()) {
    const std::size_t n = rows.residuals.size();
    const std::size_t columns = constants.size();
    std::vector<double> parameters(n * columns);
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = constants[i % columns];
    gradient.resize(parameters.size());
    hessian.resize(parameters.size());
    Workspace workspace;
    loss = objective.evaluate(rows, {parameters.data(), n, columns}, {gradient.data(), n, columns},
                              {hessian.data(), n, columns}, workspace, reducer);
  }
};

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

TEST(QuantileObjective, ConstantsAreTheQuantilesOfTheSampleIfSmoothingIsSmall) {
  const std::vector<double> y = skewed(5000);
  std::vector<double> sorted = y;
  std::ranges::sort(sorted);
  const std::vector<double> probabilities{0.1, 0.5, 0.9};
  const std::vector<float> found = first_outputs({y}, *make_quantile_objective(probabilities, 0.02));
  for (std::size_t j = 0; j < probabilities.size(); ++j) {
    const double rank = probabilities[j] * static_cast<double>(y.size());
    EXPECT_NEAR(static_cast<double>(found[j]), sorted[static_cast<std::size_t>(rank)], 0.05) << probabilities[j];
  }
}

TEST(QuantileObjective, TheMedianOfALargeSmoothingIsTheMean) {
  const std::vector<double> y = skewed(5000);
  const double mean = sum_of(y) / static_cast<double>(y.size());
  EXPECT_NEAR(static_cast<double>(first_outputs({y}, *make_quantile_objective({0.5}, 1e4)).front()), mean, 1e-3);
}

TEST(QuantileObjective, TheLossIsTheMeanPinballLossAndTheMeanHessianIsOne) {
  const std::vector<double> y{0, 1, 2, 10};
  const std::vector<double> weights{1, 0, 2, 1};
  const std::vector<double> constants{1, 1};
  const auto objective = make_quantile_objective({0.5, 0.9}, 1);
  const Derivatives found(*objective, {y, weights}, constants);
  EXPECT_DOUBLE_EQ(found.loss, (0.5 * (1 + 2 * 1 + 9) + 0.1 * 1 + 0.9 * (2 * 1 + 9)) / 4);
  EXPECT_NEAR(sum_of(found.hessian), 2, 1e-12);  // two outputs, of a mean over rows
  EXPECT_EQ(found.gradient[2], 0);               // a weight of 0
  EXPECT_EQ(found.hessian[2], 0);
}

TEST(QuantileObjective, PredictionsFarFromAllOutcomesReturn) {
  const std::vector<double> y = skewed(1000);
  for (const double p : {0.001, 0.05, 0.5, 0.95, 0.999}) {
    for (const double smoothing : {0.05, 4.0, 100.0}) {
      for (const double far : {-1e3, 1e3}) {
        const auto objective = make_quantile_objective({p}, smoothing);
        const Derivatives found(*objective, {y}, {&far, 1});
        EXPECT_LT(sum_of(found.gradient) * (0 - far), 0) << p << ' ' << smoothing << ' ' << far;
      }
    }
  }
}

TEST(QuantileObjective, TheGradientHasTheUnitOfTheOutcomes) {
  std::vector<double> y = skewed(300);
  const auto objective = make_quantile_objective({0.3}, 1);
  const Derivatives found(*objective, {y}, std::vector<double>{0.5});
  for (double& value : y) value *= 1024;
  const Derivatives larger(*objective, {y}, std::vector<double>{512});
  EXPECT_EQ(larger.hessian, found.hessian);
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_DOUBLE_EQ(larger.gradient[i], 1024 * found.gradient[i]);
}

TEST(QuantileObjective, ExactPredictionsHaveNoGradient) {
  const std::vector<double> y(20, 3.0);
  const Derivatives found(*make_quantile_objective({0.5}, 4), {y}, std::vector<double>{3});
  EXPECT_EQ(found.loss, 0);
  EXPECT_EQ(found.gradient, std::vector<double>(20, 0.0));
  EXPECT_EQ(found.hessian, std::vector<double>(20, 1.0 / 20));
}

TEST(QuantileObjective, WorkersWithSortedShardsGetTheDerivativesOfOneProcess) {
  std::vector<double> y = skewed(999);
  std::ranges::sort(y);
  const std::vector<double> constants{0.2, 2};
  const auto objective = make_quantile_objective({0.1, 0.9}, 1);
  const Derivatives all(*objective, {y}, constants);
  ThreadWorkers threads(3);
  threads.run([&](const Communicator& communicator) {
    const std::size_t first = communicator.rank() * 333;
    const Derivatives own(*objective, {std::span(y).subspan(first, 333)}, constants, communicator);
    EXPECT_NEAR(own.loss, all.loss, 1e-12);
    for (std::size_t i = 0; i < own.gradient.size(); ++i) {
      ASSERT_NEAR(own.gradient[i], all.gradient[2 * first + i], 1e-12);
      ASSERT_NEAR(own.hessian[i], all.hessian[2 * first + i], 1e-12);
    }
  });
}

}  // namespace
}  // namespace widthwise
