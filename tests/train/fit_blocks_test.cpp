#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/fit.hpp>

#include "support/errors.hpp"
#include "support/thread_workers.hpp"
#include "train/fit/splits.hpp"

namespace widthwise {
namespace {

using internal::Splits;
using internal::Workers;

/// A table whose rows have clusters or times, in random order.
struct Blocks {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<std::int64_t> clusters;
  std::vector<double> times;
  std::vector<std::uint64_t> numbers;

  Blocks(std::size_t rows, std::size_t blocks, std::uint64_t seed) {
    Random random(seed);
    for (std::size_t i = 0; i < rows; ++i) {
      // Small blocks are the most frequent sizes.
      const double u = random.uniform();
      const auto block = static_cast<std::int64_t>(u * u * static_cast<double>(blocks));
      x.push_back(random.normal());
      y.push_back(random.normal());
      clusters.push_back(group_number("patient " + std::to_string(block)));
      times.push_back(static_cast<double>(block));
      numbers.push_back(i);
    }
  }

  [[nodiscard]] FitTable table(bool by_cluster) const {
    FitTable table{
        .rows = {.x = {x.data(), y.size(), 1}}, .y = y, .features = {"x"}, .target = "y", .row_numbers = numbers};
    if (by_cluster) {
      table.rows.clusters = clusters;
      table.columns[Role::kCluster] = "patient";
    } else {
      table.rows.times = times;
      table.columns[Role::kTime] = "day";
    }
    return table;
  }

  /// The rows of one of several workers, by turns.
  [[nodiscard]] Blocks share(std::size_t rank, std::size_t workers) const {
    Blocks own(0, 1, 0);
    for (std::size_t i = rank; i < y.size(); i += workers) {
      own.x.push_back(x[i]);
      own.y.push_back(y[i]);
      own.clusters.push_back(clusters[i]);
      own.times.push_back(times[i]);
      own.numbers.push_back(numbers[i]);
    }
    return own;
  }
};

/// Where the splits put rows: "calibration", or the part of the fitting rows and the fold.
std::vector<std::string> sides_of(const Splits& splits, std::size_t rows) {
  std::vector<std::string> sides(rows);
  for (const std::size_t row : splits.calibration().rows) sides[row] = "calibration";
  const std::vector<std::size_t>& fitting = splits.fitting().rows;
  for (const std::size_t place : splits.holdout()) sides[fitting[place]] = "hold-out";
  for (const std::size_t place : splits.training()) sides[fitting[place]] = "training";
  for (std::size_t i = 0; i < fitting.size(); ++i) {
    sides[fitting[i]] += " fold " + std::to_string(splits.folds().fold_of.at(i));
  }
  return sides;
}

TEST(FitBlocks, AreNeverOnTwoSidesOfASplit) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    for (const bool by_cluster : {true, false}) {
      const Blocks blocks(400, 12 + seed, seed);
      FitOptions options;
      options.seed = seed;
      options.folds = 2 + seed % 4;
      const Workers alone(nullptr);
      const Splits splits(blocks.table(by_cluster), options, alone);
      const std::vector<std::string> sides = sides_of(splits, 400);
      std::map<double, std::set<std::string>> found;
      std::set<std::string> all;
      for (std::size_t i = 0; i < 400; ++i) {
        found[blocks.times[i]].insert(sides[i]);
        all.insert(sides[i]);
      }
      for (const auto& [block, where] : found) EXPECT_EQ(where.size(), 1U) << "block " << block << ", seed " << seed;
      EXPECT_GE(all.size(), 4U);
      // The halves of the hold-out, one of which calibrates the other in the report.
      const internal::RowSplitter holdout = splits.fitting().splitter.of(splits.holdout());
      const std::vector<std::uint8_t> halves = holdout.halves(seed);
      std::map<double, std::set<int>> half_of;
      for (std::size_t i = 0; i < halves.size(); ++i) {
        half_of[blocks.times[splits.fitting().rows[splits.holdout()[i]]]].insert(halves[i]);
      }
      for (const auto& [block, where] : half_of) EXPECT_EQ(where.size(), 1U) << "block " << block;
    }
  }
}

TEST(FitBlocks, OfTimesPutTheLatestRowsIntoTheCalibrationThenTheHoldout) {
  const Blocks blocks(1000, 200, 1);
  const Workers alone(nullptr);
  const Splits splits(blocks.table(false), {}, alone);
  const auto range_of = [&](const std::vector<std::size_t>& rows) {
    std::vector<double> times;
    for (const std::size_t row : rows) times.push_back(blocks.times[row]);
    return std::pair(std::ranges::min(times), std::ranges::max(times));
  };
  std::vector<std::size_t> holdout;
  std::vector<std::size_t> training;
  for (const std::size_t place : splits.holdout()) holdout.push_back(splits.fitting().rows[place]);
  for (const std::size_t place : splits.training()) training.push_back(splits.fitting().rows[place]);
  EXPECT_GT(range_of(splits.calibration().rows).first, range_of(holdout).second);
  EXPECT_GT(range_of(holdout).first, range_of(training).second);
  EXPECT_NEAR(static_cast<double>(splits.calibration_rows()), 250, 10);
  EXPECT_NEAR(static_cast<double>(splits.holdout_rows()), 150, 10);
  // Folds are blocks of time.
  std::map<std::size_t, std::pair<double, double>> folds;
  for (std::size_t i = 0; i < splits.fitting().rows.size(); ++i) {
    const double time = blocks.times[splits.fitting().rows[i]];
    auto [fold, is_new] = folds.try_emplace(splits.folds().fold_of[i], time, time);
    fold->second = {std::min(fold->second.first, time), std::max(fold->second.second, time)};
  }
  ASSERT_EQ(folds.size(), 5U);
  for (std::size_t fold = 1; fold < 5; ++fold) EXPECT_GT(folds[fold].first, folds[fold - 1].second);
}

TEST(FitBlocks, ChooseAShareOfTheClustersWhateverTheirSizes) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Blocks blocks(600, 40, seed);
    FitOptions options;
    options.seed = seed;
    const Workers alone(nullptr);
    const Splits splits(blocks.table(true), options, alone);
    std::set<std::int64_t> all(blocks.clusters.begin(), blocks.clusters.end());
    std::set<std::int64_t> calibration;
    for (const std::size_t row : splits.calibration().rows) calibration.insert(blocks.clusters[row]);
    EXPECT_EQ(calibration.size(), static_cast<std::size_t>(std::lround(0.25 * static_cast<double>(all.size()))));
  }
}

TEST(FitBlocks, OfClustersDoNotDependOnTheWorkers) {
  const Blocks blocks(600, 60, 5);
  std::vector<std::map<std::int64_t, std::set<std::string>>> found;
  for (const std::size_t workers : {2U, 3U}) {
    std::map<std::int64_t, std::set<std::string>> sides_of_cluster;
    std::mutex mutex;
    ThreadWorkers(workers).run([&](const Communicator& communicator) {
      const Blocks own = blocks.share(communicator.rank(), workers);
      const Workers all(&communicator);
      const Splits splits(own.table(true), {}, all);
      const std::vector<std::string> sides = sides_of(splits, own.y.size());
      const std::scoped_lock lock(mutex);
      for (std::size_t i = 0; i < sides.size(); ++i) sides_of_cluster[own.clusters[i]].insert(sides[i]);
    });
    for (const auto& [cluster, sides] : sides_of_cluster) EXPECT_EQ(sides.size(), 1U) << cluster;
    found.push_back(std::move(sides_of_cluster));
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(FitBlocks, ThatAreTooFewAreRefused) {
  const Workers alone(nullptr);
  const auto splits = [&](std::size_t blocks, bool by_cluster) {
    return [=, &alone] { (void)Splits(Blocks(100, blocks, 1).table(by_cluster), {}, alone); };
  };
  expect_error(ErrorCode::kTooFewRows, "found rows of one cluster; expected at least 2", splits(1, true));
  expect_error(ErrorCode::kTooFewRows, "found rows of one time; expected at least 2", splits(1, false));
  expect_error(ErrorCode::kTooFewRows, "5 folds for the 2 clusters of the fitting rows", splits(4, true));
  expect_error(ErrorCode::kTooFewRows, "times of the fitting rows", splits(4, false));
}

TEST(FitBlocks, AreRefusedWhereTheyDoNotFit) {
  const Blocks blocks(100, 20, 1);
  const auto expect_refused = [&](const char* why, FitTable table, const FitOptions& options = {}) {
    table.rows.predictions = blocks.x;
    table.prediction = "f";
    FitOptions identity = options;
    identity.score_transform = "identity";
    expect_error(ErrorCode::kInvalidArgument, why, [&] { (void)fit(table, nullptr, nullptr, identity); });
  };
  FitTable table = blocks.table(true);
  FitOptions options;
  options.guarantee = Guarantee::parse("0.95");
  expect_refused("guarantee 0.95 is not available for calibration by clusters", table, options);
  expect_refused("guarantee 0.95 is not available with the time in 'day': a training-conditional guarantee needs",
                 blocks.table(false), options);
  table.rows.times = blocks.times;
  table.columns[Role::kTime] = "day";
  expect_refused("clusters in 'patient' and the time in 'day' cannot be combined: a split by time separates", table);
  table = blocks.table(true);
  table.rows.groups = blocks.clusters;
  table.columns[Role::kGroup] = "ward";
  options = {};
  options.pool_groups = 20;
  expect_refused(
      "clusters in 'patient' and pooled groups cannot be combined: a new cluster adds several rows to a small", table,
      options);
}

TEST(FitBlocks, AModelFittedWithTimesRefusesATrainingConditionalGuarantee) {
  const Blocks blocks(100, 20, 1);
  FitTable table = blocks.table(false);
  table.rows.predictions = blocks.x;
  table.prediction = "f";
  FitOptions options;
  options.score_transform = "identity";
  const Model model = fit(table, nullptr, nullptr, options).model;
  expect_error(ErrorCode::kInvalidArgument, "guarantee 0.95 is not available with the time in 'day'",
               [&] { (void)model.with_guarantee(Guarantee::parse("0.95")); });
  EXPECT_TRUE(model.with_guarantee(Guarantee()).parts().guarantee.is_marginal());
}

}  // namespace
}  // namespace widthwise
