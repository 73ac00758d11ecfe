#include "train/engines/leaf_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include <widthwise/random.hpp>

#include "support/thread_workers.hpp"

namespace widthwise::internal {
namespace {

/// Rows of two leaves: skewed errors, and a hundred times as large ones.
struct TwoLeaves {
  std::vector<double> errors;
  std::vector<float> weights;
  std::vector<std::uint32_t> leaves;

  explicit TwoLeaves(std::size_t n) : weights(n, 1.0F) {
    Random random(7);
    for (std::size_t i = 0; i < n; ++i) {
      leaves.push_back(i % 2);
      errors.push_back(-std::log(1 - random.uniform()) * (i % 2 == 0 ? 1 : 100));
    }
  }

  [[nodiscard]] LeafRows rows() const { return {errors, weights, leaves}; }
  [[nodiscard]] LeafRows part(std::size_t first, std::size_t count) const {
    return {std::span(errors).subspan(first, count), std::span(weights).subspan(first, count),
            std::span(leaves).subspan(first, count)};
  }
};

/// The values after many rounds of small steps, as boosting takes them.
std::vector<double> converged(TwoLeaves rows, const LeafValues& values) {
  std::vector<double> found(2, 0.0);
  for (int round = 0; round < 400; ++round) {
    const std::vector<double> step = values.of(rows.rows(), 2, SingleWorker());
    for (std::size_t leaf = 0; leaf < 2; ++leaf) found[leaf] += 0.1 * step[leaf];
    for (std::size_t i = 0; i < rows.errors.size(); ++i) rows.errors[i] -= 0.1 * step[rows.leaves[i]];
  }
  return found;
}

TEST(LeafValues, AreTheQuantilesOfEachLeafIfSmoothingIsSmall) {
  const TwoLeaves rows(4000);
  for (const double p : {0.1, 0.5, 0.9}) {
    const std::vector<double> found = converged(rows, LeafValues(p, 0.02, 0));
    const double expected = -std::log(1 - p);
    EXPECT_NEAR(found[0], expected, 0.15) << p;
    EXPECT_NEAR(found[1] / 100, expected, 0.15) << p;
  }
}

TEST(LeafValues, OfTheMedianWithALargeSmoothingAreTheMeans) {
  const TwoLeaves rows(4000);
  double sums[2] = {0, 0};
  for (std::size_t i = 0; i < rows.errors.size(); ++i) sums[rows.leaves[i]] += rows.errors[i] / 2000;
  const std::vector<double> found = LeafValues(0.5, 1e4, 0).of(rows.rows(), 2, SingleWorker());
  EXPECT_NEAR(found[0], sums[0], 1e-3);
  EXPECT_NEAR(found[1], sums[1], 1e-3 * sums[1]);
}

TEST(LeafValues, LieBetweenMedianAndMeanByDefault) {
  const std::vector<double> found = converged(TwoLeaves(4000), LeafValues(0.5, 4, 0));
  EXPECT_GT(found[0], std::log(2) + 0.1);
  EXPECT_LT(found[0], 0.98);
}

TEST(LeafValues, OfQuantilesFarFromAllOutcomesReturn) {
  for (const double p : {0.001, 0.05, 0.5, 0.95, 0.999}) {
    for (const double smoothing : {0.05, 4.0, 100.0}) {
      for (const double far : {-1e3, 1e3}) {
        TwoLeaves rows(400);
        for (double& error : rows.errors) error += far;
        const std::vector<double> found = LeafValues(p, smoothing, 1).of(rows.rows(), 2, SingleWorker());
        EXPECT_GT(found[0] * far, 0) << p << ' ' << smoothing << ' ' << far;
      }
    }
  }
}

TEST(LeafValues, DoNotDependOnRowsWithoutWeightAndAreZeroWithoutRows) {
  TwoLeaves rows(400);
  const LeafValues values(0.5, 4, 1);
  const std::vector<double> all = values.of(rows.part(0, 200), 2, SingleWorker());
  std::fill(rows.weights.begin() + 200, rows.weights.end(), 0.0F);
  for (std::size_t i = 200; i < 400; ++i) rows.errors[i] = 1e6;
  EXPECT_EQ(values.of(rows.rows(), 2, SingleWorker()), all);
  EXPECT_EQ(values.of(rows.rows(), 4, SingleWorker())[3], 0);
}

TEST(LeafValues, HaveTheUnitOfTheErrors) {
  TwoLeaves rows(400);
  const LeafValues values(0.3, 4, 1);
  const std::vector<double> found = values.of(rows.rows(), 2, SingleWorker());
  for (double& error : rows.errors) error *= 1024;
  const std::vector<double> larger = values.of(rows.rows(), 2, SingleWorker());
  for (std::size_t leaf = 0; leaf < 2; ++leaf) EXPECT_DOUBLE_EQ(larger[leaf], 1024 * found[leaf]);
}

TEST(LeafValues, OfExactPredictionsAreZero) {
  const std::vector<double> errors(20, 0.0);
  const std::vector<float> weights(20, 1.0F);
  const std::vector<std::uint32_t> leaves(20, 0);
  for (const double p : {0.05, 0.5}) {
    EXPECT_NEAR(LeafValues(p, 4, 1).of({errors, weights, leaves}, 1, SingleWorker()).front(), 0, 1e-90);
  }
}

TEST(LeafValues, OfWorkersWithSortedShardsAreThoseOfOneProcess) {
  TwoLeaves rows(999);
  std::vector<std::size_t> order(999);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return rows.errors[i]; });
  TwoLeaves sorted(999);
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.errors[i] = rows.errors[order[i]];
    sorted.leaves[i] = rows.leaves[order[i]];
  }
  const LeafValues values(0.9, 4, 1);
  const std::vector<double> all = values.of(sorted.rows(), 2, SingleWorker());
  ThreadWorkers threads(3);
  threads.run([&](const Communicator& communicator) {
    const std::vector<double> own = values.of(sorted.part(communicator.rank() * 333, 333), 2, communicator);
    for (std::size_t leaf = 0; leaf < 2; ++leaf) EXPECT_NEAR(own[leaf], all[leaf], 1e-12 * std::abs(all[leaf]));
  });
}

}  // namespace
}  // namespace widthwise::internal
