#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/words.hpp"
#include "support/bit_flips.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

// Rows with groups and clusters: each group is calibrated by the parts of clusters in it.
namespace widthwise {
namespace {

struct GroupedRow {
  std::int64_t group;
  std::int64_t cluster;
  double score;
  bool above;
};

std::size_t number_below(Random& random, std::size_t end) {
  return static_cast<std::size_t>(random.uniform() * static_cast<double>(end));
}

/// Few rows with ties and infinite scores, whose clusters are in several groups.
std::vector<GroupedRow> random_grouped_rows(std::uint64_t seed) {
  Random random(seed);
  const std::size_t groups = 1 + number_below(random, 4);
  const std::size_t clusters = 1 + number_below(random, 6);
  std::vector<GroupedRow> rows;
  for (std::size_t i = 1 + number_below(random, 20); i > 0; --i) {
    const double score = static_cast<double>(number_below(random, 6));
    rows.push_back({.group = 10 * static_cast<std::int64_t>(number_below(random, groups)),
                    .cluster = static_cast<std::int64_t>(number_below(random, clusters)),
                    .score = score == 5 ? kInfinity : score,
                    .above = random.uniform() < 0.5});
  }
  return rows;
}

/// The rows from the first on, every `step`-th one, with their positions as numbers.
Calibration calibration_of_grouped(const std::vector<GroupedRow>& rows, std::size_t first = 0, std::size_t step = 1) {
  std::vector<std::uint64_t> numbers;
  std::vector<double> scores;
  std::vector<std::uint8_t> above;
  std::vector<std::int64_t> groups;
  std::vector<std::int64_t> clusters;
  for (std::size_t i = first; i < rows.size(); i += step) {
    numbers.push_back(i);
    scores.push_back(rows[i].score);
    above.push_back(rows[i].above ? 1 : 0);
    groups.push_back(rows[i].group);
    clusters.push_back(rows[i].cluster);
  }
  Calibration calibration;
  calibration.add(numbers, scores, {reinterpret_cast<const bool*>(above.data()), above.size()}, {}, groups, clusters);
  return calibration;
}

/// The sizes of the parts of clusters in a group.
std::map<std::int64_t, std::uint64_t> part_sizes(const std::vector<GroupedRow>& rows, std::int64_t group) {
  std::map<std::int64_t, std::uint64_t> sizes;
  for (const GroupedRow& row : rows) {
    if (row.group == group) ++sizes[row.cluster];
  }
  return sizes;
}

constexpr std::uint64_t kPartWeight = 232'792'560;  // divisible by 1 to 20

/// The weight of each row of a group; rows of the same part share kPartWeight, or weigh 1 each.
std::vector<std::pair<double, std::uint64_t>> weights_in_group(const std::vector<GroupedRow>& rows, std::int64_t group,
                                                               ClusterForm form) {
  const auto sizes = part_sizes(rows, group);
  std::vector<std::pair<double, std::uint64_t>> weights;
  for (const GroupedRow& row : rows) {
    if (row.group != group) continue;
    weights.emplace_back(row.score, form == ClusterForm::kRows ? 1 : kPartWeight / sizes.at(row.cluster));
  }
  return weights;
}

/// The smallest score whose weight reaches hundredths / 100 of all weight and that of the new row, by a double loop.
double looped_quantile_in_group(const std::vector<std::pair<double, std::uint64_t>>& weights, std::uint64_t hundredths,
                                std::uint64_t new_weight) {
  std::uint64_t total = new_weight;
  for (const auto& [score, weight] : weights) total += weight;
  double smallest = kInfinity;
  for (const auto& [candidate, unused] : weights) {
    std::uint64_t reached = 0;
    for (const auto& [score, weight] : weights) reached += score <= candidate ? weight : 0;
    if (100 * reached >= hundredths * total) smallest = std::min(smallest, candidate);
  }
  return smallest;
}

double looped_p_value_in_group(const std::vector<std::pair<double, std::uint64_t>>& weights, double score,
                               std::uint64_t new_weight) {
  double total = static_cast<double>(new_weight);
  double at_least = total;
  for (const auto& [other, weight] : weights) {
    total += static_cast<double>(weight);
    at_least += other >= score ? static_cast<double>(weight) : 0;
  }
  return at_least / total;
}

std::uint64_t largest_part(const std::vector<GroupedRow>& rows) {
  std::uint64_t largest = 0;
  for (const GroupedRow& row : rows) {
    for (const auto& [cluster, size] : part_sizes(rows, row.group)) largest = std::max(largest, size);
  }
  return largest;
}

TEST(GroupsOfClusters, TakeTheWeightedQuantileOfADoubleLoopInEachGroup) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<GroupedRow> rows = random_grouped_rows(seed);
    const Calibration calibration = calibration_of_grouped(rows);
    for (const ClusterForm form : {ClusterForm::kRows, ClusterForm::kClusters}) {
      const SortedScores sorted(calibration, {}, 0, {.form = form});
      ASSERT_TRUE(sorted.needs_group());
      for (const std::int64_t group : {0, 10, 20, 30, 7}) {
        const auto weights = weights_in_group(rows, group, form);
        const bool counts_rows = form == ClusterForm::kRows;
        for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}}) {
          if (!counts_rows && size > 0) continue;
          const std::uint64_t bound = size > 0 ? size : largest_part(rows);
          const std::uint64_t new_weight = counts_rows ? bound : kPartWeight;
          const auto given = size > 0 ? std::optional(static_cast<double>(size)) : std::nullopt;
          for (const std::uint64_t hundredths : {5U, 31U, 50U, 66U, 75U, 80U, 90U}) {
            const Level level(static_cast<double>(hundredths) / 100);
            EXPECT_EQ(sorted.quantile(level, group, given), looped_quantile_in_group(weights, hundredths, new_weight))
                << "seed " << seed << ", group " << group << ", level " << level.to_string();
          }
          for (const double score : {-1.0, 0.0, 2.0, 2.5, 4.0, kInfinity}) {
            EXPECT_NEAR(sorted.p_value(score, group, given), looped_p_value_in_group(weights, score, new_weight), 1e-14)
                << "seed " << seed << ", group " << group << ", score " << score;
          }
        }
      }
      EXPECT_EQ(sorted.quantile(0.01, kNoGroup), kInfinity);
    }
  }
}

TEST(GroupsOfClusters, AreInEachGroupLikeACalibrationOfItsRows) {
  for (std::uint64_t seed = 300; seed < 330; ++seed) {
    const std::vector<GroupedRow> rows = random_grouped_rows(seed);
    const Calibration calibration = calibration_of_grouped(rows);
    const ClusterRule rule{.max_size = largest_part(rows)};
    const SortedScores sorted(calibration, {}, 0, rule);
    for (const std::int64_t group : calibration.groups()) {
      Calibration alone;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].group != group) continue;
        alone.add(i, {.score = rows[i].score, .above = rows[i].above, .cluster = rows[i].cluster});
      }
      const SortedScores of_group(alone, {}, 0, rule);
      for (double level = 0.05; level < 1; level += 0.05) {
        EXPECT_EQ(sorted.quantile(level, group), of_group.quantile(level));
        EXPECT_EQ(sorted.sided_quantile(level, true, group), of_group.sided_quantile(level, true));
        EXPECT_EQ(sorted.sided_quantile(level, false, group), of_group.sided_quantile(level, false));
      }
      const ClusterSizes sizes = calibration.cluster_sizes().at(group);
      EXPECT_EQ(sizes.clusters, alone.clusters());
      EXPECT_EQ(sizes.rows, alone.rows_seen());
      EXPECT_EQ(sizes.largest, alone.largest_cluster());
      EXPECT_EQ(sizes.effective, alone.effective_clusters());
      EXPECT_EQ(calibration.rows_in(group), alone.rows_kept());
      EXPECT_EQ(calibration.rows_seen_in(group), alone.rows_seen());
    }
  }
}

TEST(GroupsOfClusters, AreTheSameInPartsOfAnyOrder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<GroupedRow> rows = random_grouped_rows(seed);
    const Calibration whole = calibration_of_grouped(rows);
    Calibration row_by_row;
    for (std::size_t i = rows.size(); i > 0; --i) {
      const auto& [group, cluster, score, above] = rows[i - 1];
      row_by_row.add(i - 1, {.score = score, .above = above, .group = group, .cluster = cluster});
    }
    EXPECT_EQ(row_by_row, whole);
    std::vector<std::size_t> order = {0, 1, 2};
    do {
      Calibration merged;
      for (const std::size_t part : order) {
        if (part < rows.size()) {
          merged.merge(Calibration::deserialise(calibration_of_grouped(rows, part, 3).serialise()));
        }
      }
      EXPECT_EQ(merged, whole);
      EXPECT_EQ(merged.keys(), RowKeys::kGroupsAndClusters);
    } while (std::ranges::next_permutation(order).found);
  }
}

/// Two clusters in two groups with labels, and one in one of them.
Calibration labelled_parts() {
  GroupLabels labels;
  const std::int64_t north = labels.add("Nord");
  const std::int64_t south = labels.add("a label of more than eight bytes");
  Calibration calibration;
  std::uint64_t number = 0;
  for (const auto& [group, cluster] : {std::pair(north, 1), {north, 2}, {south, 1}, {south, 2}, {south, 5}}) {
    calibration.add(number++, {.score = 1, .group = group, .cluster = cluster});
    calibration.add(number++, {.score = 2, .group = group, .cluster = cluster});
  }
  calibration.name_groups(labels);
  return calibration;
}

TEST(GroupsOfClusters, KeepTheLabelsOfGroups) {
  const Calibration calibration = labelled_parts();
  const Calibration read = Calibration::deserialise(calibration.serialise());
  EXPECT_EQ(read.serialise(), calibration.serialise());
  for (const char* label : {"Nord", "a label of more than eight bytes"}) {
    EXPECT_EQ(read.find_group(label), group_number(label));
    EXPECT_EQ(read.label(group_number(label)), label);
  }
  EXPECT_EQ(read.groups().size(), 2U);
  EXPECT_EQ(read.clusters(), 3U);
  EXPECT_EQ(read.cluster_numbers(), (std::vector<std::int64_t>{1, 2, 5}));
  EXPECT_EQ(read.rows(group_number("Nord")).size(), 4U);
  for (const CalibrationRow& row : read.rows(group_number("Nord"))) {
    EXPECT_EQ(row.group, group_number("Nord"));
    EXPECT_TRUE(row.cluster == 1 || row.cluster == 2);
  }
  Calibration unnamed;
  unnamed.add(100, {.score = 1, .group = group_number("Nord"), .cluster = 9});
  Calibration merged = calibration;
  expect_error(ErrorCode::kBadData, "have the same number", [&] { merged.merge(unnamed); });
  EXPECT_EQ(merged, calibration);
}

TEST(GroupsOfClusters, AreNotMixedWithOtherRows) {
  Calibration both;
  both.add(0, {.score = 1, .group = 3, .cluster = 4});
  const std::vector<std::byte> bytes = both.serialise();
  expect_error(ErrorCode::kInvalidArgument, "these rows have no clusters",
               [&] { both.add(1, {.score = 1, .group = 3}); });
  expect_error(ErrorCode::kInvalidArgument, "these rows have no groups",
               [&] { both.add(1, {.score = 1, .cluster = 4}); });
  expect_error(ErrorCode::kInvalidArgument, "clusters and weights cannot be combined",
               [&] { both.add(1, {.score = 1, .weight = 2, .group = 3, .cluster = 4}); });
  expect_error(ErrorCode::kDuplicateRows, "row number 0 was added twice, to cluster 4 of group 3 and to cluster 5 of",
               [&] { both.add(0, {.score = 1, .group = 3, .cluster = 5}); });
  const std::vector<double> scores = {1, 2};
  const std::vector<std::int64_t> fine = {3, 3};
  const std::vector<std::int64_t> missing = {3, kNoGroup};
  expect_error(ErrorCode::kInvalidArgument, "row number 6 has no cluster",
               [&] { both.add(5, scores, {}, {}, fine, missing); });
  expect_error(ErrorCode::kInvalidArgument, "row number 6 has no group",
               [&] { both.add(5, scores, {}, {}, missing, fine); });
  const std::vector<double> with_nan = {1, std::nan("")};
  expect_error(ErrorCode::kNotFinite, "the score is NaN", [&] { both.add(5, with_nan, {}, {}, fine, fine); });
  EXPECT_EQ(both.serialise(), bytes);
  Calibration groups;
  groups.add(0, {.score = 1, .group = 3});
  expect_error(ErrorCode::kInvalidArgument, "these rows have clusters", [&] { groups.merge(both); });
  Calibration clusters;
  clusters.add(0, {.score = 1, .cluster = 3});
  expect_error(ErrorCode::kInvalidArgument, "these rows have groups", [&] { clusters.merge(both); });
  expect_error(ErrorCode::kInvalidArgument, "not available for calibration by clusters",
               [&] { (void)SortedScores(both, Guarantee::parse("0.95")); });
  expect_error(ErrorCode::kInvalidArgument, "clusters and pooled groups cannot be combined",
               [&] { (void)SortedScores(both, {}, 5); });
}

TEST(GroupsOfClusters, KeepEveryClusterOfEveryGroupAboveTheCapacity) {
  Calibration calibration(Calibration::Options{.capacity = 10});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    calibration.add(i, {.score = static_cast<double>(i % 100),
                        .group = static_cast<std::int64_t>(i % 2),
                        .cluster = static_cast<std::int64_t>(i < 700 ? 1 : i)});
  }
  EXPECT_EQ(calibration.clusters(), 301U);
  EXPECT_EQ(calibration.largest_cluster(), 350U);
  EXPECT_EQ(calibration.rows_seen_in(0), 500U);
  EXPECT_EQ(calibration.rows_in(0), 160U);
  const SortedScores sorted(calibration);
  double weight = 0;
  const double q = sorted.quantile(0.5, 0, 1.0);
  for (const CalibrationRow& row : calibration.rows(0)) {
    if (row.score <= q) weight += row.cluster == 1 ? 35 : 1;
  }
  EXPECT_GE(weight, 0.5 * 501);
  EXPECT_EQ(sorted.quantile(0.9, 0), kInfinity);
}

TEST(GroupsOfClusters, CoverRowsOfNewClustersInEachGroup) {
  // Errors are four times as large in group 1, and rows of hard clusters, which are large, are mostly there.
  const double level = 0.9;
  const std::size_t trials = 1000;
  const std::vector<double> share_of_rows = {0.15 * 20 * 0.2 / (0.15 * 20 * 0.2 + 0.85 * 0.8),
                                             0.15 * 20 * 0.8 / (0.15 * 20 * 0.8 + 0.85 * 0.2)};
  std::vector<std::size_t> covered(2);
  std::size_t covered_without_groups = 0;
  Random random(13);
  const auto score_of = [&](bool hard, std::int64_t group) {
    return (hard ? 6 : 1) * (group == 1 ? 4 : 1) * std::abs(random.normal());
  };
  for (std::size_t trial = 0; trial < trials; ++trial) {
    Calibration calibration;
    Calibration without_groups;
    std::uint64_t number = 0;
    for (std::int64_t k = 0; k < 60; ++k) {
      const bool hard = random.uniform() < 0.15;
      for (std::size_t i = 0; i < (hard ? 20U : 1U); ++i) {
        const std::int64_t group = random.uniform() < (hard ? 0.8 : 0.2) ? 1 : 0;
        const double score = score_of(hard, group);
        calibration.add(number, {.score = score, .group = group, .cluster = k});
        without_groups.add(number++, {.score = score, .cluster = k});
      }
    }
    const SortedScores sorted(calibration, {}, 0, {.max_size = 20});
    for (const std::int64_t group : {0, 1}) {
      const auto g = static_cast<std::size_t>(group);
      const double score = score_of(random.uniform() < share_of_rows[g], group);
      covered[g] += score <= sorted.quantile(level, group) ? 1U : 0U;
      const bool of_all = score <= SortedScores(without_groups).quantile(level, 0, 1.0);  // the fault
      covered_without_groups += group == 1 && of_all ? 1U : 0U;
    }
  }
  for (const std::size_t count : covered) EXPECT_GE(count, binomial_lower_bound(trials, level, 1e-6));
  EXPECT_LT(covered_without_groups, binomial_lower_bound(trials, level, 1e-6));
}

TEST(GroupsOfClusters, AreRefusedInBytesThatAreInvalid) {
  const std::vector<std::byte> bytes = labelled_parts().serialise();
  expect_flips_are_refused(bytes, [](const std::vector<std::byte>& read) { (void)Calibration::deserialise(read); });
  // Two rows per cluster in a group of integer label: 6 words of keys and counts, 2 of priorities, 2 of scores, 1 of
  // sides.
  Calibration small;
  std::uint64_t number = 0;
  for (const auto& [group, cluster] : {std::pair(3, 1), {3, 2}, {4, 1}}) {
    small.add(number++, {.score = 1, .group = group, .cluster = cluster});
    small.add(number++, {.score = 2, .group = group, .cluster = cluster});
  }
  const std::vector<std::byte> sound = small.serialise();
  ASSERT_EQ(Calibration::deserialise(sound), small);
  constexpr std::size_t kFirst = 6;
  constexpr std::size_t kWords = 11;
  ASSERT_EQ(internal::load_word(sound, 4), 3U);
  ASSERT_EQ(internal::load_word(sound, 5), 3U);
  ASSERT_EQ(internal::load_word(sound, kFirst + kWords + 1), 2U);
  ASSERT_EQ(internal::load_word(sound, kFirst + 2 * kWords), 4U);
  const auto expect_refused = [&](std::size_t word, std::uint64_t value, const char* why) {
    std::vector<std::byte> changed = sound;
    internal::store_word(changed, word, value);
    internal::seal_words(changed);
    expect_error(ErrorCode::kBadData, why, [&] { (void)Calibration::deserialise(changed); });
  };
  expect_refused(4, 4, "invalid kind of groups");
  expect_refused(5, 0, "there are no groups");
  expect_refused(kFirst, static_cast<std::uint64_t>(kNoGroup), "reserved number");
  expect_refused(kFirst + 1, static_cast<std::uint64_t>(kNoGroup), "reserved number");
  expect_refused(kFirst + 1, 2, "the groups are not in order");
  expect_refused(kFirst + 2 * kWords, 3, "the groups are not in order");
  expect_refused(kFirst + 2, 3, "cluster 1 of group 3: the number of rows kept does not match");
  expect_refused(kFirst + 4, 1, "invalid mark of weights");
  expect_refused(kFirst + kWords + 5, 8, "the label is not that of the first cluster of its group");
  expect_refused(kFirst + 6 + kWords, internal::load_word(sound, kFirst + 6), "");
}

}  // namespace
}  // namespace widthwise
