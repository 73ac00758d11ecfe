#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/words.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

/// Ten rows of each label, with the scores 1 to 10 times the position of the label.
Calibration labelled(const std::vector<std::string>& labels) {
  GroupLabels names;
  Calibration calibration;
  for (std::size_t g = 0; g < labels.size(); ++g) {
    const std::int64_t group = names.add(labels[g]);
    for (std::uint64_t i = 0; i < 10; ++i) {
      calibration.add(100 * g + i, {.score = static_cast<double>((i + 1) * (g + 1)), .group = group});
    }
  }
  calibration.name_groups(names);
  return calibration;
}

TEST(CalibrationGroups, KeepTheirLabelsInBytes) {
  const Calibration calibration = labelled({"Süd", "7", "a label of more than eight bytes"});
  const Calibration read = Calibration::deserialise(calibration.serialise());
  EXPECT_EQ(read.serialise(), calibration.serialise());
  for (const char* label : {"Süd", "7", "a label of more than eight bytes"}) {
    EXPECT_EQ(read.find_group(label), group_number(label));
    EXPECT_EQ(read.label(group_number(label)), label);
  }
  EXPECT_EQ(read.find_group("Nord"), kUnseenGroup);
  EXPECT_EQ(read.find_group(""), kNoGroup);
  EXPECT_EQ(read.find_group(group_number("Süd")), kUnseenGroup);  // the integer is another label
  EXPECT_TRUE(read.labelled());
}

TEST(CalibrationGroups, OfIntegersAreWrittenWithoutLabels) {
  const Calibration calibration = labelled({"1", "-2"});
  EXPECT_FALSE(calibration.labelled());
  EXPECT_EQ(internal::load_word(calibration.serialise(), 10), 0U);
}

TEST(CalibrationGroups, AreMergedByLabel) {
  Calibration merged = labelled({"a", "b"});
  Calibration more;
  GroupLabels names;
  more.add(500, {.score = 1, .group = names.add("b")});
  more.add(501, {.score = 1, .group = names.add("c")});
  more.name_groups(names);
  merged.merge(more);
  EXPECT_EQ(merged.rows_in(group_number("a")), 10U);
  EXPECT_EQ(merged.rows_in(group_number("b")), 11U);
  EXPECT_EQ(merged.label(group_number("c")), "c");
}

TEST(CalibrationGroups, OfDifferentLabelsAreNeverMixed) {
  Calibration calibration = labelled({"a"});
  Calibration integers;
  integers.add(900, {.score = 1, .group = group_number("a")});  // an integer that is the hash of a
  const std::vector<std::byte> before = calibration.serialise();
  expect_error(ErrorCode::kBadData, "have the same number", [&] { calibration.merge(integers); });
  EXPECT_EQ(calibration.serialise(), before);
}

TEST(CalibrationGroups, NeedALabel) {
  Calibration calibration;
  for (const std::int64_t group : {kNoGroup, kUnseenGroup, kRestGroup}) {
    expect_error(ErrorCode::kInvalidArgument, "row number 3 has no group",
                 [&] { calibration.add(3, {.score = 1, .group = group}); });
  }
  EXPECT_EQ(calibration.rows_seen(), 0U);
}

TEST(CalibrationGroups, NothingInTheBytesOfLabelsIsTrusted) {
  const Calibration calibration = labelled({"Süd", "Nord"});
  const std::vector<std::byte> bytes = calibration.serialise();
  constexpr std::size_t kLength = 10;  // of the first label, whose bytes follow
  constexpr std::size_t kSecond = 33;  // the second group: the first has 10 rows
  ASSERT_EQ(internal::load_word(bytes, kLength), 4U);
  ASSERT_EQ(internal::load_word(bytes, kSecond + 4), 4U);
  const auto refused = [&](const char* why, std::size_t word, std::uint64_t value) {
    std::vector<std::byte> spoilt = bytes;
    internal::store_word(spoilt, word, value);
    internal::seal_words(spoilt);
    EXPECT_TRUE(error_of([&] { (void)Calibration::deserialise(spoilt); }).has_value()) << why;
  };
  const auto word = [&](std::size_t place) { return internal::load_word(bytes, place); };
  refused("labels of clusters", 4, 2);
  refused("a group twice", kSecond, word(6));
  refused("the label of another group", kSecond, word(kSecond) + 1);
  for (const std::uint64_t length : {0U, 3U, 5U, 9U}) refused("the length of a label", kLength, length);
  refused("a label longer than the bytes", kLength, ~std::uint64_t{0});
  const std::uint64_t label = word(kLength + 1);
  refused("another label", kLength + 1, label ^ 1U);
  refused("not UTF-8", kLength + 1, label | 0xffU);
  refused("bytes after the label", kLength + 1, label | (std::uint64_t{1} << 56U));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(error_of([&] { (void)Calibration::deserialise(std::span(bytes).first(size)); }).has_value());
  }
}

TEST(PooledGroups, ShareTheRowsOfAllGroupsWithAtMostThatManyRows) {
  Calibration calibration;
  std::uint64_t row = 0;
  const auto add = [&](std::int64_t group, int rows, double score) {
    for (int i = 0; i < rows; ++i) calibration.add(row++, {.score = score + i, .group = group});
  };
  add(1, 20, 0);
  add(2, 9, 100);
  add(3, 8, 200);
  add(4, 1, 300);
  const SortedScores sorted(calibration, {}, 9);
  EXPECT_EQ(sorted.groups(), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(sorted.rows(2), 9U);
  EXPECT_EQ(sorted.quantile(0.9, 2), 108);
  for (const std::int64_t pooled : {std::int64_t{3}, std::int64_t{4}, std::int64_t{77}, kUnseenGroup, kRestGroup}) {
    EXPECT_EQ(sorted.quantile_group(pooled), kRestGroup);
    EXPECT_EQ(sorted.rows(pooled), 18U);  // of the groups 2, 3 and 4
    EXPECT_EQ(sorted.quantile(0.9, pooled), 300);
    EXPECT_EQ(sorted.p_value(300, pooled), 2.0 / 19);
  }
  EXPECT_EQ(sorted.quantile(0.9, kNoGroup), kInfinity);
  EXPECT_EQ(sorted.p_value(0, kNoGroup), 1);
  EXPECT_EQ(SortedScores(calibration).quantile(0.9, 3), kInfinity);
  EXPECT_EQ(SortedScores(calibration).quantile_group(77), kUnseenGroup);
}

TEST(PooledGroups, NeedAMarginalGuaranteeAndCompleteGroups) {
  Calibration calibration({.capacity = 5});
  calibration.add(0, {.score = 1, .group = 1});
  expect_error(ErrorCode::kInvalidArgument, "not available for pooled groups",
               [&] { (void)SortedScores(calibration, Guarantee(0.95), 3); });
  expect_error(ErrorCode::kInvalidArgument, "a calibration keeps 5 rows per group",
               [&] { (void)SortedScores(calibration, {}, 6); });
  calibration.add(1, {.score = 1, .weight = 2, .group = 1});
  expect_error(ErrorCode::kInvalidArgument, "cannot pool groups", [&] { (void)SortedScores(calibration, {}, 3); });
}

/// New rows of small groups are covered on average, also if large scores belong to a group that is small only by
/// chance.
TEST(PooledGroups, CoverTheRowsOfSmallGroups) {
  constexpr std::uint64_t kBelow = 9;
  constexpr int kRepeats = 40'000;
  const Level level(0.8);
  std::uint64_t small = 0;
  std::uint64_t covered = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    Random random(static_cast<std::uint64_t>(repeat));
    // Group 0 has 9 of 60 rows on average and large scores; the others are rarer.
    const auto draw = [&] {
      const double u = random.uniform();
      const auto group = static_cast<std::int64_t>(u < 0.15 ? 0 : 1 + 40 * random.uniform());
      return CalibrationRow{.score = random.uniform() + (group == 0 ? 1 : 0), .group = group};
    };
    Calibration calibration;
    for (std::uint64_t i = 0; i < 60; ++i) calibration.add(i, draw());
    const SortedScores sorted(calibration, {}, kBelow);
    const CalibrationRow row = draw();
    if (sorted.quantile_group(*row.group) != kRestGroup) continue;
    ++small;
    if (row.score <= sorted.quantile(level, *row.group)) ++covered;
  }
  ASSERT_GT(small, 30'000U);
  // Five standard errors below the level; pooling without the groups of exactly kBelow rows covers 0.786.
  EXPECT_GT(static_cast<double>(covered) / static_cast<double>(small),
            0.8 - 5 * std::sqrt(0.16 / static_cast<double>(small)));
}

}  // namespace
}  // namespace widthwise
