#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/words.hpp"
#include "support/bit_flips.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

namespace widthwise {
namespace {

/// Scores where each cluster counts once.
SortedScores by_cluster(const Calibration& calibration) {
  return SortedScores(calibration, {}, 0, {.form = ClusterForm::kClusters});
}

struct Row {
  std::int64_t cluster;
  double score;
  bool above;
};

std::vector<Row> rows_of(const std::vector<std::size_t>& sizes, std::uint64_t seed) {
  Random random(seed);
  std::vector<Row> rows;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const double effect = random.normal();
    for (std::size_t i = 0; i < sizes[k]; ++i) {
      const double residual = effect + 0.3 * random.normal();
      rows.push_back({static_cast<std::int64_t>(k), std::abs(std::round(100 * residual)), residual > 0});
    }
  }
  return rows;
}

Calibration calibration_of(const std::vector<Row>& rows) {
  Calibration calibration;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    calibration.add(i, {.score = rows[i].score, .above = rows[i].above, .cluster = rows[i].cluster});
  }
  return calibration;
}

/// The weight of the rows up to a score, where clusters have weight `unit`, a common multiple of their sizes.
std::uint64_t weight_up_to(const std::vector<Row>& rows, const std::vector<std::size_t>& sizes, std::uint64_t unit,
                           double score) {
  std::uint64_t weight = 0;
  for (const Row& row : rows) weight += row.score <= score ? unit / sizes[static_cast<std::size_t>(row.cluster)] : 0;
  return weight;
}

TEST(CalibrationClusters, HaveEqualWeightsWhateverTheirSizes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    std::vector<std::size_t> sizes;
    for (std::size_t k = 0; k < 9 + 3 * seed; ++k) sizes.push_back(1 + static_cast<std::size_t>(10 * random.uniform()));
    const std::uint64_t unit = 2520;  // divisible by 1 to 10
    const std::vector<Row> rows = rows_of(sizes, seed);
    const SortedScores sorted = by_cluster(calibration_of(rows));
    EXPECT_EQ(sorted.clusters(), sizes.size());
    for (const std::uint64_t hundredths : {50U, 80U, 90U, 95U}) {
      const Level level(static_cast<double>(hundredths) / 100);
      // The smallest score at which the weight reaches level * (clusters + 1).
      double expected = kInfinity;
      for (const Row& row : rows) {
        const bool reached = 100 * weight_up_to(rows, sizes, unit, row.score) >= hundredths * unit * (sizes.size() + 1);
        if (reached) expected = std::min(expected, row.score);
      }
      EXPECT_EQ(sorted.quantile(level), expected) << "seed " << seed << ", level " << level.to_string();
    }
  }
}

TEST(CalibrationClusters, OfOneRowAreRows) {
  const std::vector<Row> rows = rows_of(std::vector<std::size_t>(57, 1), 3);
  Calibration plain;
  for (std::size_t i = 0; i < rows.size(); ++i) plain.add(i, {.score = rows[i].score, .above = rows[i].above});
  const SortedScores with(calibration_of(rows));
  const SortedScores without(plain);
  for (const double level : {0.05, 0.5, 0.9, 0.98, 0.99}) {
    EXPECT_EQ(with.quantile(level), without.quantile(level));
    EXPECT_EQ(with.sided_quantile(level, true), without.sided_quantile(level, true));
    EXPECT_EQ(with.sided_quantile(level, false), without.sided_quantile(level, false));
    EXPECT_DOUBLE_EQ(with.p_value(30), without.p_value(30));
  }
}

TEST(CalibrationClusters, SidedQuantilesReachTheLevelOnEitherSideOfThePrediction) {
  // Shares are exact for the first sizes, and rounded for the others.
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 2, 3, 4}, {97, 101, 103, 107, 109, 113, 127, 131, 137}}) {
    const std::vector<Row> rows = rows_of(sizes, 3);
    const SortedScores sorted = by_cluster(calibration_of(rows));
    const auto place_of = [](const auto& row) { return row.above ? row.score : -row.score; };
    for (int percent = 5; percent < 90; percent += 5) {
      const Level level(percent / 100.0);
      for (const double sign : {1.0, -1.0}) {
        const double place = sign * place_of(sorted.sided_quantile(level, sign > 0));
        double up_to = 0;
        double before = 0;
        for (const Row& row : rows) {
          const double share = 1 / static_cast<double>(sizes[static_cast<std::size_t>(row.cluster)]);
          up_to += sign * place_of(row) <= place ? share : 0;
          before += sign * place_of(row) < place ? share : 0;
        }
        EXPECT_GE(up_to, 10 * level.value() - 1e-9) << percent;
        EXPECT_LT(before, 10 * level.value() + 1e-9) << percent;
      }
    }
  }
}

TEST(CalibrationClusters, AreNeeded9TimesForLevel90AsExactlyAsRows) {
  // The least common multiple of these sizes is above 2^52, so shares are rounded.
  const std::vector<std::size_t> sizes = {97, 101, 103, 107, 109, 113, 127, 131, 137};
  const std::vector<Row> rows = rows_of(sizes, 1);
  const SortedScores nine = by_cluster(calibration_of(rows));
  EXPECT_EQ(nine.quantile(0.9), std::ranges::max(rows, {}, &Row::score).score);
  const std::vector<Row> fewer(rows.begin(), rows.end() - 137);
  const SortedScores eight = by_cluster(calibration_of(fewer));
  EXPECT_EQ(eight.quantile(0.9), kInfinity);
  expect_error(ErrorCode::kTooFewRows, "level 0.9 needs 9 clusters, found 8",
               [&] { (void)eight.quantile(0.9, 0, std::nullopt, WhenTooFew::kError); });
}

TEST(CalibrationClusters, RoundNoQuantileDown) {
  const std::vector<std::size_t> sizes = {97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151};
  const std::vector<Row> rows = rows_of(sizes, 2);
  const SortedScores sorted = by_cluster(calibration_of(rows));
  for (double level = 0.02; level < 0.92; level += 0.01) {
    long double weight = 0;
    const double q = sorted.quantile(level);
    for (const Row& row : rows) {
      if (row.score <= q) weight += 1.0L / static_cast<long double>(sizes[static_cast<std::size_t>(row.cluster)]);
    }
    EXPECT_GE(weight, static_cast<long double>(level) * 13 - 1e-12L) << level;
  }
}

TEST(CalibrationClusters, CoverRowsOfNewClusters) {
  // Strong cluster effects and sizes that depend on them: a quantile of the pooled rows would be far too small.
  const double level = 0.8;
  const std::size_t trials = 4000;
  std::size_t covered = 0;
  std::size_t pooled_covered = 0;
  Random random(7);
  for (std::size_t trial = 0; trial < trials; ++trial) {
    Calibration calibration;
    Calibration pooled;
    std::uint64_t number = 0;
    const auto cluster_of = [&] { return std::abs(random.normal()); };
    for (std::int64_t k = 0; k < 12; ++k) {
      const double effect = cluster_of();
      const std::size_t size = effect > 1 ? 1 : 10;
      for (std::size_t i = 0; i < size; ++i) {
        const double score = effect + 0.1 * random.uniform();
        calibration.add(number, {.score = score, .cluster = k});
        pooled.add(number++, {.score = score});
      }
    }
    const double score = cluster_of() + 0.1 * random.uniform();
    if (score <= by_cluster(calibration).quantile(level)) ++covered;
    if (score <= SortedScores(pooled).quantile(level)) ++pooled_covered;
  }
  EXPECT_GE(covered, binomial_lower_bound(trials, level, 1e-6));
  EXPECT_LT(pooled_covered, binomial_lower_bound(trials, level, 1e-6));
}

/// The smallest score with at least level * (rows + size) rows up to it.
double quantile_of_rows(const std::vector<Row>& rows, std::uint64_t hundredths, std::uint64_t size) {
  double expected = kInfinity;
  for (const Row& row : rows) {
    const auto up_to = static_cast<std::uint64_t>(
        std::ranges::count_if(rows, [&](const Row& other) { return other.score <= row.score; }));
    if (100 * up_to >= hundredths * (rows.size() + size)) expected = std::min(expected, row.score);
  }
  return expected;
}

TEST(CalibrationClusters, WeighTheNewRowByTheSizeOfItsClusterIfRowsCount) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    std::vector<std::size_t> sizes;
    for (std::size_t k = 0; k < 20; ++k) sizes.push_back(1 + static_cast<std::size_t>(10 * random.uniform()));
    const std::vector<Row> rows = rows_of(sizes, seed);
    const SortedScores sorted(calibration_of(rows));
    const SortedScores declared(calibration_of(rows), {}, 0, {.max_size = 30});
    for (const std::uint64_t hundredths : {20U, 50U, 80U, 90U, 95U}) {
      const Level level(static_cast<double>(hundredths) / 100);
      EXPECT_EQ(sorted.quantile(level), quantile_of_rows(rows, hundredths, std::ranges::max(sizes)));
      EXPECT_EQ(declared.quantile(level), quantile_of_rows(rows, hundredths, 30));
      double narrower = 0;
      for (const std::uint64_t size : {1U, 7U, 40U}) {
        const double q = sorted.quantile(level, 0, static_cast<double>(size));
        EXPECT_EQ(q, quantile_of_rows(rows, hundredths, size));
        EXPECT_GE(q, narrower);
        narrower = q;
      }
    }
  }
}

TEST(CalibrationClusters, OfOneSizeHaveTheSameQuantilesInBothForms) {
  for (const std::size_t size : {1U, 4U, 13U}) {
    const Calibration calibration = calibration_of(rows_of(std::vector<std::size_t>(23, size), size));
    const SortedScores rows(calibration);
    const SortedScores clusters = by_cluster(calibration);
    for (double level = 0.01; level < 1; level += 0.01) {
      EXPECT_EQ(rows.quantile(level), clusters.quantile(level));
      EXPECT_EQ(rows.sided_quantile(level, true), clusters.sided_quantile(level, true));
      EXPECT_EQ(rows.sided_quantile(level, false), clusters.sided_quantile(level, false));
    }
    for (const double score : {0.0, 30.0, 100.0, 1000.0}) {
      EXPECT_DOUBLE_EQ(rows.p_value(score), clusters.p_value(score));
    }
    EXPECT_EQ(calibration.effective_clusters(), 23U);
    EXPECT_EQ(calibration.largest_cluster(), size);
  }
}

TEST(CalibrationClusters, CoverTheRowsOfNewClustersWhateverTheirSizes) {
  // Few clusters have many rows and large errors: a cluster counted once hides them.
  const double level = 0.9;
  const std::size_t trials = 2000;
  std::size_t rows = 0;
  std::size_t by_rows = 0;
  std::size_t by_clusters = 0;
  Random random(11);
  for (std::size_t trial = 0; trial < trials; ++trial) {
    Calibration calibration;
    std::uint64_t number = 0;
    for (std::int64_t k = 0; k < 60; ++k) {
      const bool hard = random.uniform() < 0.15;
      for (std::size_t i = 0; i < (hard ? 25U : 1U); ++i) {
        calibration.add(number++, {.score = (hard ? 6 : 1) * std::abs(random.normal()), .cluster = k});
      }
    }
    const double q = SortedScores(calibration).quantile(level);
    const double q_of_clusters = by_cluster(calibration).quantile(level);
    // A row of the new population: that of a hard cluster with probability 0.15 * 25 / (0.15 * 25 + 0.85).
    const bool hard = random.uniform() < 3.75 / 4.6;
    const double score = (hard ? 6 : 1) * std::abs(random.normal());
    ++rows;
    by_rows += score <= q ? 1U : 0U;
    by_clusters += score <= q_of_clusters ? 1U : 0U;
  }
  EXPECT_GE(by_rows, binomial_lower_bound(rows, level, 1e-6));
  EXPECT_LT(by_clusters, binomial_lower_bound(rows, level, 1e-6));
}

TEST(CalibrationClusters, CountRowsThatAreNotKept) {
  Calibration calibration(Calibration::Options{.capacity = 10});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    calibration.add(i, {.score = static_cast<double>(i % 100), .cluster = static_cast<std::int64_t>(i < 700 ? 1 : i)});
  }
  EXPECT_EQ(calibration.largest_cluster(), 700U);
  const SortedScores sorted(calibration);
  // 300 rows weigh 1, and the 10 that are kept of 700 weigh 70 each.
  double weight = 0;
  const double q = sorted.quantile(0.5, 0, 1.0);
  for (const CalibrationRow& row : calibration.rows(0)) {
    if (row.score <= q) weight += row.cluster == 1 ? 70 : 1;
  }
  EXPECT_GE(weight, 0.5 * 1001);
  EXPECT_EQ(sorted.quantile(0.9), kInfinity);  // 1000 rows are fewer than 9 * 700
}

TEST(CalibrationClusters, NeedRowsForTheLargestClusterIfRowsCount) {
  const Calibration calibration = calibration_of(rows_of({50, 2, 3}, 6));
  expect_error(ErrorCode::kTooFewRows, "level 0.9 needs more rows for a new cluster of 50 rows, found 55 in 3 clusters",
               [&] { (void)SortedScores(calibration).quantile(0.9, 0, std::nullopt, WhenTooFew::kError); });
  EXPECT_LT(SortedScores(calibration).quantile(0.9, 0, 6.0), kInfinity);  // 9 * 6 = 54
  EXPECT_EQ(SortedScores(calibration).quantile(0.9, 0, 7.0), kInfinity);
  EXPECT_EQ(Level(0.9).min_rows(50), 450U);
  EXPECT_EQ(Level(0.9).min_rows(), 9U);
  for (const double size : {0.0, 0.5, -1.0, std::nan("")}) {
    expect_error(ErrorCode::kInvalidArgument, "expected the number of rows of a cluster, at least 1",
                 [&] { (void)SortedScores(calibration).quantile(0.9, 0, size); });
  }
}

TEST(CalibrationClusters, AreMergedFromBatchesAndBytes) {
  const std::vector<Row> rows = rows_of({5, 1, 30, 12}, 4);
  const Calibration whole = calibration_of(rows);
  Calibration merged;
  for (std::size_t part = 0; part < 3; ++part) {
    Calibration shard;
    for (std::size_t i = part; i < rows.size(); i += 3) {
      const std::uint64_t number = i;
      shard.add(std::span(&number, 1), std::span(&rows[i].score, 1), std::span(&rows[i].above, 1), {}, {},
                std::span(&rows[i].cluster, 1));
    }
    merged.merge(Calibration::deserialise(shard.serialise()));
  }
  EXPECT_EQ(merged, whole);
  EXPECT_EQ(merged.clusters(), 4U);
  EXPECT_EQ(merged.rows_kept(), 48U);
  EXPECT_EQ(merged.rows(0).size(), 48U);
  EXPECT_EQ(merged.groups(), std::vector<std::int64_t>{0});
  EXPECT_EQ(merged.keys(), RowKeys::kClusters);
}

TEST(CalibrationClusters, KeepEveryClusterAboveTheCapacity) {
  Calibration calibration(Calibration::Options{.capacity = 10});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    calibration.add(i, {.score = static_cast<double>(i), .cluster = i < 990 ? 1 : static_cast<std::int64_t>(i)});
  }
  EXPECT_EQ(calibration.clusters(), 11U);
  EXPECT_EQ(calibration.rows_seen(), 1000U);
  EXPECT_EQ(calibration.rows_kept(), 20U);
}

TEST(CalibrationClusters, AreNotMixedWithOtherRows) {
  Calibration clustered;
  clustered.add(0, {.score = 1, .cluster = 1});
  expect_error(ErrorCode::kInvalidArgument, "these rows have no clusters", [&] { clustered.add(1, {.score = 1}); });
  expect_error(ErrorCode::kInvalidArgument, "clusters and ",
               [&] { clustered.add(1, {.score = 1, .weight = 2, .cluster = 1}); });
  expect_error(ErrorCode::kInvalidArgument, "these rows have groups",
               [&] { clustered.add(1, {.score = 1, .group = 2, .cluster = 1}); });
  expect_error(ErrorCode::kInvalidArgument, "row number 1 has no cluster",
               [&] { clustered.add(1, {.score = 1, .cluster = kNoGroup}); });
  Calibration plain;
  plain.add(0, {.score = 1});
  expect_error(ErrorCode::kInvalidArgument, "these rows have clusters", [&] { plain.merge(clustered); });
  EXPECT_EQ(clustered.rows_seen(), 1U);
  const SortedScores sorted = by_cluster(clustered);
  expect_error(ErrorCode::kInvalidArgument, "pass no test_weight", [&] { (void)sorted.quantile(0.5, 0, 1.0); });
  expect_error(ErrorCode::kInvalidArgument, "guarantee 0.95 is not available for calibration by clusters",
               [&] { (void)SortedScores(clustered, Guarantee::parse("0.95")); });
  expect_error(ErrorCode::kDuplicateRows, "to cluster 1 and to cluster 2",
               [&] { clustered.add(0, {.score = 1, .cluster = 2}); });
}

TEST(CalibrationClusters, AreRefusedInBytesThatAreInvalid) {
  const std::vector<std::byte> bytes = calibration_of(rows_of({3, 2}, 5)).serialise();
  expect_flips_are_refused(bytes, [](const std::vector<std::byte>& read) { (void)Calibration::deserialise(read); });
  const auto expect_refused = [&](std::size_t word, std::uint64_t value, const char* why) {
    std::vector<std::byte> changed = bytes;
    internal::store_word(changed, word, value);
    internal::seal_words(changed);
    expect_error(ErrorCode::kBadData, why, [&] { (void)Calibration::deserialise(changed); });
  };
  ASSERT_EQ(internal::load_word(bytes, 4), 2U);
  expect_refused(4, 0, "more than one group in a calibration without groups");
  expect_refused(5, 0, "there are no groups");
  expect_refused(6, static_cast<std::uint64_t>(kNoGroup), "reserved number");
  expect_refused(6, 2, "the groups are not in order");
  expect_refused(9, 1, "invalid mark of weights");
  expect_refused(10, 8, "a label in a calibration without groups");
}

}  // namespace
}  // namespace widthwise
