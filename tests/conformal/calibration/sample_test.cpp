#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "support/calibration_rows.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

namespace widthwise {
namespace {

/// Numbers of a batch of n rows that begins near `first`: consecutive, or given with gaps, descending, or with a copy.
std::vector<std::uint64_t> batch_numbers(std::uint64_t first, std::size_t n, Random& random) {
  std::vector<std::uint64_t> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = first + 3 * i;
  if (random.below(2) == 0) std::ranges::reverse(numbers);
  if (random.below(4) == 0) numbers[random.below(n)] = numbers[random.below(n)];
  return numbers;
}

TEST(Calibration, FindsEveryCopyHoweverRowsAreNumbered) {
  Random random(29);
  for (int repetition = 0; repetition < 200; ++repetition) {
    Calibration calibration(Calibration::Options{.capacity = 10'000, .seed = random.bits()});
    std::set<std::uint64_t> known;
    for (int batch = 0; batch < 8; ++batch) {
      const std::size_t n = 1 + random.below(6);
      const std::uint64_t first = random.below(60);
      const std::uint64_t form = random.below(4);
      std::vector<std::uint64_t> numbers = batch_numbers(first, form == 0 ? 1 : n, random);
      if (form == 1) std::iota(numbers.begin(), numbers.end(), first);
      std::set<std::uint64_t> joined = known;
      joined.insert(numbers.begin(), numbers.end());
      const std::vector<double> scores(numbers.size(), 1.0);
      const auto add = [&] {
        Calibration other(calibration.options());
        if (form == 0) return calibration.add(numbers[0], {.score = 1});
        if (form == 1) return calibration.add(first, scores);
        if (form == 2) return calibration.add(numbers, scores);
        other.add(numbers, scores);
        calibration.merge(batch % 2 == 0 ? Calibration::deserialise(other.serialise()) : other);
      };
      if (joined.size() == known.size() + numbers.size()) {
        add();
        known = joined;
      } else {
        EXPECT_THROW(add(), DuplicateRowError);
      }
      ASSERT_EQ(calibration.rows_seen(), known.size());
      ASSERT_EQ(calibration.serialise(), Calibration::deserialise(calibration.serialise()).serialise());
      if (random.below(5) == 0) calibration = Calibration(calibration);  // without a table
    }
  }
}

TEST(Calibration, IsTheSameWhateverTheOrderAndTheSplit) {
  Random random(2);
  for (const std::uint64_t capacity : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{50}, std::uint64_t{300},
                                       std::uint64_t{5000}, std::numeric_limits<std::uint64_t>::max()}) {
    for (int repetition = 0; repetition < 12; ++repetition) {
      const std::size_t n = 1 + random.below(3000);
      const std::vector<CalibrationRow> rows = assorted_rows(n, random, repetition % 3 != 0);
      const Calibration::Options options{capacity, random.bits()};
      const Calibration reference = calibration_of(rows, options);

      std::vector<Calibration> parts(1 + random.below(6), Calibration(options));
      std::vector<std::uint64_t> order(n);
      for (std::size_t i = 0; i < n; ++i) order[i] = i;
      random.shuffle(std::span(order));
      for (const std::uint64_t i : order) parts[random.below(parts.size())].add(i, rows[i]);
      while (parts.size() > 1) {
        random.shuffle(std::span(parts));
        if (random.uniform() < 0.3) parts.back() = Calibration::deserialise(parts.back().serialise());
        parts[0].merge(parts.back());
        parts.pop_back();
      }
      ASSERT_EQ(parts[0].serialise(), reference.serialise()) << "capacity " << capacity << ", " << n << " rows";
      EXPECT_EQ(parts[0].rows_seen(), n);
      EXPECT_EQ(parts[0].has_weights(), reference.has_weights());
      EXPECT_EQ(parts[0], reference);
    }
  }
}

TEST(Calibration, AddsBatchesAsItAddsSingleRows) {
  Random random(3);
  for (const std::uint64_t capacity : {10U, 200U, 100'000U}) {
    const std::size_t n = 2000;
    const std::vector<CalibrationRow> rows = assorted_rows(n, random);
    std::vector<double> scores;
    const std::unique_ptr<bool[]> above(new bool[n]);
    std::vector<double> weights;
    std::vector<std::int64_t> groups;
    for (std::size_t i = 0; i < n; ++i) {
      scores.push_back(rows[i].score);
      above[i] = rows[i].above;
      weights.push_back(rows[i].weight);
      groups.push_back(rows[i].group.value());
    }
    for (int columns = 0; columns < 8; ++columns) {
      const bool with_above = (columns & 1) != 0;
      const bool with_weights = (columns & 2) != 0;
      const bool with_groups = (columns & 4) != 0;
      const Calibration::Options options{capacity, 4};
      Calibration one_by_one(options);
      for (std::size_t i = 0; i < n; ++i) {
        one_by_one.add(i, {rows[i].score, with_above && rows[i].above, with_weights ? rows[i].weight : 1,
                           with_groups ? rows[i].group : std::nullopt});
      }
      Calibration in_batches(options);
      for (std::size_t first = 0; first < n;) {
        const std::size_t size = std::min<std::size_t>(n - first, random.below(700));
        in_batches.add(
            first, std::span(scores).subspan(first, size),
            with_above ? std::span<const bool>(above.get() + first, size) : std::span<const bool>(),
            with_weights ? std::span<const double>(weights).subspan(first, size) : std::span<const double>(),
            with_groups ? std::span<const std::int64_t>(groups).subspan(first, size) : std::span<const std::int64_t>());
        first += size;
      }
      EXPECT_EQ(in_batches.serialise(), one_by_one.serialise());
    }
  }
}

TEST(Calibration, KeepsEveryRowUpToItsCapacity) {
  Random random(4);
  for (const std::size_t n : {1U, 99U, 100U, 101U, 1000U}) {
    const std::vector<double> scores = distinct_scores(n, random);
    Calibration calibration({.capacity = 100});
    calibration.add(0, scores);
    EXPECT_EQ(calibration.rows_seen(), n);
    EXPECT_EQ(calibration.rows_kept(), std::min<std::size_t>(n, 100));
    std::vector<double> kept;
    for (const CalibrationRow& row : calibration.rows(0)) kept.push_back(row.score);
    EXPECT_EQ(kept.size(), calibration.rows_kept());
    std::ranges::sort(kept);
    EXPECT_EQ(std::ranges::adjacent_find(kept), kept.end());
    EXPECT_EQ(SortedScores(calibration).rows(0), kept.size());
  }
}

TEST(Calibration, KeepsTheCapacityOfEachGroup) {
  Calibration calibration({.capacity = 10});
  for (std::uint64_t i = 0; i < 1000; ++i) calibration.add(i, {.score = 1, .group = i % 100 == 0 ? 5 : -3});
  EXPECT_EQ(calibration.groups(), (std::vector<std::int64_t>{-3, 5}));
  EXPECT_EQ(calibration.rows(-3).size(), 10U);
  EXPECT_EQ(calibration.rows(5).size(), 10U);
  EXPECT_EQ(calibration.rows_kept(), 20U);
  EXPECT_EQ(calibration.rows_seen(), 1000U);
  EXPECT_TRUE(calibration.rows(0).empty());
}

TEST(Calibration, ChoosesEveryRowEquallyOften) {
  constexpr std::uint64_t kRows = 40;
  constexpr std::uint64_t kKept = 7;
  constexpr std::uint64_t kSeeds = 20'000;
  std::array<std::uint64_t, kRows> chosen{};
  std::uint64_t neighbours = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Calibration calibration({kKept, seed});
    for (std::uint64_t i = 0; i < kRows; ++i) calibration.add(i, {.score = static_cast<double>(i)});
    bool first = false;
    bool second = false;
    for (const CalibrationRow& row : calibration.rows(0)) {
      ++chosen[static_cast<std::size_t>(row.score)];
      first = first || row.score == 0;
      second = second || row.score == 1;
    }
    if (first && second) ++neighbours;
  }
  const double share = static_cast<double>(kKept) / kRows;
  for (const std::uint64_t count : chosen) {
    EXPECT_GE(count, binomial_lower_bound(kSeeds, share, 1e-6));
    EXPECT_LE(count, binomial_upper_bound(kSeeds, share, 1e-6));
  }
  const double pair_share = static_cast<double>(kKept * (kKept - 1)) / (kRows * (kRows - 1));
  EXPECT_GE(neighbours, binomial_lower_bound(kSeeds, pair_share, 1e-6));
  EXPECT_LE(neighbours, binomial_upper_bound(kSeeds, pair_share, 1e-6));
}

TEST(Calibration, IsEmptyWhenConstructed) {
  const Calibration calibration;
  EXPECT_EQ(calibration.options().capacity, 1'000'000U);
  EXPECT_EQ(calibration.rows_seen(), 0U);
  EXPECT_EQ(calibration.rows_kept(), 0U);
  EXPECT_TRUE(calibration.groups().empty());
  EXPECT_FALSE(calibration.has_weights());
  Calibration with_nothing;
  with_nothing.add(0, std::span<const double>{});
  with_nothing.merge(calibration);
  EXPECT_EQ(with_nothing, calibration);
  EXPECT_EQ(SortedScores(calibration).quantile(0.5), kInfinity);
}

TEST(Calibration, RemembersWeightsOfRowsItDidNotKeep) {
  for (std::uint64_t weighted_row = 0; weighted_row < 20; ++weighted_row) {
    Calibration calibration({.capacity = 1});
    std::vector<double> weights(20, 1.0);
    weights[weighted_row] = 2;
    calibration.add(0, std::vector<double>(20, 1.0), {}, weights);
    EXPECT_TRUE(calibration.has_weights());
    EXPECT_TRUE(SortedScores(calibration).needs_test_weight());
    EXPECT_TRUE(Calibration::deserialise(calibration.serialise()).has_weights());
  }
}

TEST(Calibration, RefusesACapacityOfZero) {
  expect_error(ErrorCode::kInvalidArgument, "capacity of at least 1", [] { Calibration({.capacity = 0}); });
}

TEST(Calibration, RefusesABadBatchWholeEvenWhereItsRowsWouldNotBeKept) {
  constexpr std::size_t kRows = 1000;
  Calibration calibration({.capacity = 3});
  calibration.add(0, std::vector<double>(kRows, 1.0));
  const std::vector<std::byte> before = calibration.serialise();
  const std::vector<double> scores(kRows, 2.0);
  const auto refused = [&](ErrorCode code, const std::string& part, const std::function<void()>& action) {
    expect_error(code, part, action);
    EXPECT_EQ(calibration.serialise(), before);
    EXPECT_EQ(calibration.groups(), (std::vector<std::int64_t>{0}));
  };
  for (const std::size_t bad : {0U, 1U, 500U, 998U, 999U}) {
    std::vector<double> with_nan = scores;
    with_nan[bad] = kNaN;
    const std::string where = "row number " + std::to_string(5000 + bad) + ": ";
    const std::vector<std::int64_t> new_groups(kRows, 8);
    refused(ErrorCode::kNotFinite, where + "the score is NaN", [&] { calibration.add(5000, with_nan); });
    refused(ErrorCode::kNotFinite, where + "the score is NaN",
            [&] { calibration.add(5000, with_nan, {}, {}, new_groups); });
    refused(ErrorCode::kNotFinite, where + "the score is NaN",
            [&] { calibration.add(5000 + bad, {.score = kNaN, .group = 8}); });
    for (const double weight : {0.0, -1.0, kNaN, kInfinity, -kInfinity}) {
      std::vector<double> weights(kRows, 1.0);
      weights[bad] = weight;
      const ErrorCode code = std::isfinite(weight) ? ErrorCode::kInvalidArgument : ErrorCode::kNotFinite;
      refused(code, where + "expected a positive, finite weight",
              [&] { calibration.add(5000, scores, {}, weights, new_groups); });
      refused(code, where + "expected a positive, finite weight",
              [&] { calibration.add(5000 + bad, {.score = 1, .weight = weight}); });
    }
  }
  refused(ErrorCode::kShapeMismatch, "1000 scores but 999 values of weights",
          [&] { calibration.add(5000, scores, {}, std::vector<double>(kRows - 1, 1.0)); });
  refused(ErrorCode::kShapeMismatch, "1000 scores but 1 values of groups",
          [&] { calibration.add(5000, scores, {}, {}, std::vector<std::int64_t>(1)); });
  refused(ErrorCode::kShapeMismatch, "1000 scores but 2 values of above",
          [&] { calibration.add(5000, scores, std::array<bool, 2>{}); });
  refused(ErrorCode::kInvalidArgument, "exceed 64 bits",
          [&] { calibration.add(std::numeric_limits<std::uint64_t>::max() - kRows + 2, scores); });
  calibration.add(std::numeric_limits<std::uint64_t>::max() - kRows + 1, scores);
  EXPECT_EQ(calibration.rows_seen(), 2 * kRows);
}

TEST(Calibration, RowsUnderKeysAreTheSameInAnyOrder) {
  constexpr std::size_t kRows = 5000;
  Random random(11);
  const std::vector<double> scores = distinct_scores(kRows, random);
  std::vector<std::size_t> order(kRows);
  for (std::size_t i = 0; i < kRows; ++i) order[i] = i;
  for (const bool grouped : {false, true}) {
    const auto added = [&](std::size_t block) {
      Calibration calibration({.capacity = 700, .seed = 3});
      for (std::size_t first = 0; first < kRows; first += block) {
        std::vector<std::uint64_t> keys;
        std::vector<double> some;
        std::vector<std::int64_t> groups;
        for (std::size_t i = first; i < std::min(first + block, kRows); ++i) {
          keys.push_back(std::numeric_limits<std::uint64_t>::max() - 3 * order[i]);
          some.push_back(scores[order[i]]);
          if (grouped) groups.push_back(static_cast<std::int64_t>(order[i] % 3));
        }
        calibration.add(keys, some, {}, {}, groups);
      }
      return calibration;
    };
    const Calibration expected = added(kRows);
    for (const std::size_t block : {1U, 64U, 1999U}) {
      random.shuffle(std::span(order));
      EXPECT_EQ(added(block), expected) << block;
    }
  }
}

TEST(Calibration, KeysThatCountUpAreRowNumbers) {
  const std::vector<double> scores = {3, 1, 2};
  Calibration counted;
  counted.add(7, scores);
  Calibration keyed;
  keyed.add(std::vector<std::uint64_t>{7, 8, 9}, scores);
  EXPECT_EQ(keyed, counted);
}

TEST(Calibration, NamesADuplicateKey) {
  const std::vector<std::uint64_t> keys = {4, 0xffffffffffffffffU, 5};
  Calibration calibration;
  calibration.add(keys, std::vector<double>{1, 2, 3}, {}, {}, std::vector<std::int64_t>{1, 1, 2});
  Calibration other;
  other.add(keys[1], {.score = 9, .group = 2});
  try {
    calibration.merge(other);
    ADD_FAILURE() << "a row was added twice";
  } catch (const DuplicateRowError& error) {
    EXPECT_EQ(error.row_number(), keys[1]);
    EXPECT_EQ(error.code(), ErrorCode::kDuplicateRows);
  }
}

TEST(Calibration, RefusesToMixRowsWithAndWithoutGroupsAndIsUnchanged) {
  const std::vector<double> scores = {1, 2, 3};
  const std::vector<std::int64_t> groups = {0, 0, 0};
  Calibration without;
  without.add(0, scores);
  Calibration with;
  with.add(0, scores, {}, {}, groups);
  EXPECT_EQ(without.keys(), RowKeys::kNone);
  EXPECT_EQ(with.keys(), RowKeys::kGroups);
  EXPECT_EQ(without.rows(0)[0].group, std::nullopt);
  EXPECT_EQ(with.rows(0)[0].group, 0);
  EXPECT_NE(without, with);
  for (const Calibration& calibration : {without, with}) {
    EXPECT_EQ(Calibration::deserialise(calibration.serialise()).keys(), calibration.keys());
    EXPECT_EQ(Calibration::deserialise(calibration.serialise()), calibration);
    const Calibration& other = (calibration.keys() == RowKeys::kGroups) ? without : with;
    const std::string part = (calibration.keys() == RowKeys::kGroups)
                                 ? "these rows have no groups, but the 3 rows in the calibration set have"
                                 : "these rows have groups, but the 3 rows in the calibration set have none";
    const auto refused = [&](const std::function<void(Calibration&)>& change) {
      Calibration changed = calibration;
      expect_error(ErrorCode::kInvalidArgument, part, [&] { change(changed); });
      EXPECT_EQ(changed, calibration);
    };
    refused([&](Calibration& changed) { changed.merge(other); });
    refused([&](Calibration& changed) {
      changed.add(10, scores, {}, {},
                  (calibration.keys() == RowKeys::kGroups) ? std::span<const std::int64_t>() : groups);
    });
    refused([&](Calibration& changed) {
      changed.add(10,
                  {.score = 1,
                   .group = (calibration.keys() == RowKeys::kGroups) ? std::nullopt : std::optional<std::int64_t>(5)});
    });
    Calibration merged = calibration;
    merged.merge(Calibration());
    EXPECT_EQ(merged, calibration);
    Calibration empty;
    empty.merge(calibration);
    EXPECT_EQ(empty, calibration);
  }
}

TEST(Calibration, RefusesToMixRowsWithAndWithoutWeights) {
  Calibration calibration;
  calibration.add(0, std::vector<double>{1, 2}, {}, std::vector<double>{100, 200});
  expect_error(ErrorCode::kInvalidArgument, "the model has weights; pass the likelihood ratio of every row",
               [&] { calibration.add(2, std::vector<double>{1}); });
  EXPECT_EQ(calibration.rows_seen(), 2U);
}

TEST(Calibration, RefusesADifferentNumberOfKeysThanRows) {
  Calibration calibration;
  expect_error(ErrorCode::kShapeMismatch, "3 rows but 2 row numbers",
               [&] { calibration.add(std::vector<std::uint64_t>{1, 2}, std::vector<double>{1, 2, 3}); });
  EXPECT_EQ(calibration.rows_seen(), 0U);
}

TEST(Calibration, RefusesToMergeOtherOptions) {
  Calibration calibration({.capacity = 10, .seed = 1});
  calibration.add(0, {.score = 1});
  expect_error(ErrorCode::kInvalidArgument, "expected capacity 10 and seed 1, found capacity 10 and seed 2",
               [&] { calibration.merge(Calibration({.capacity = 10, .seed = 2})); });
  expect_error(ErrorCode::kInvalidArgument, "found capacity 11",
               [&] { calibration.merge(Calibration({.capacity = 11, .seed = 1})); });
  EXPECT_EQ(calibration.rows_seen(), 1U);
}

/// A copy of the calibration refuses rows, with the number of one of them, and stays as it was.
template <class Add>
void expect_duplicate(const Calibration& before, std::uint64_t row_number, const std::string& where, const Add& add) {
  const std::string message = "row number " + std::to_string(row_number) + " was added twice, " + where + ";";
  Calibration after = before;
  for (int attempt = 0; attempt < 2; ++attempt) {
    expect_error(ErrorCode::kDuplicateRows, message, [&] { add(after); });
    EXPECT_EQ(after.rows_seen(), before.rows_seen());
    EXPECT_EQ(after, before);
  }
  EXPECT_EQ(Calibration::deserialise(after.serialise()), before);
}

TEST(Calibration, NamesTheRowThatWasAddedTwice) {
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t row = i == 0 ? 0 : i == 1 ? std::numeric_limits<std::uint64_t>::max() : random.bits();
    Calibration calibration({.capacity = 2, .seed = random.bits()});
    calibration.add(row, {.score = 1, .group = -4});
    expect_duplicate(calibration, row, "to group -4",
                     [&](Calibration& after) { after.add(row, {.score = 2, .group = -4}); });
  }
}

TEST(Calibration, FindsEveryKeptRowThatWasAddedTwiceHoweverItCame) {
  constexpr std::uint64_t kRows = 3000;
  for (const std::uint64_t capacity : {1U, 2U, 10U, 500U}) {
    const Calibration::Options options{capacity, 9};
    std::vector<double> scores(kRows);
    for (std::size_t i = 0; i < kRows; ++i) scores[i] = static_cast<double>(i);
    Calibration whole(options);
    whole.add(0, scores);
    const std::vector<CalibrationRow> kept = whole.rows(0);
    ASSERT_EQ(kept.size(), capacity);
    for (const std::size_t which : {std::size_t{0}, kept.size() / 2, kept.size() - 1}) {
      const auto row = static_cast<std::uint64_t>(kept[which].score);
      Calibration part(options);
      part.add(row, {.score = 0});
      const Calibration resumed = Calibration::deserialise(whole.serialise());
      for (const Calibration& before : {whole, resumed}) {
        expect_duplicate(before, row, "to group 0", [&](Calibration& after) { after.add(row, {.score = 0}); });
        expect_duplicate(before, row, "to group 0",
                         [&](Calibration& after) { after.add(row, std::vector<double>{0}); });
        expect_duplicate(before, row, "to group 0", [&](Calibration& after) { after.merge(part); });
      }
      expect_duplicate(part, row, "to group 0", [&](Calibration& after) { after.add(0, scores); });
      expect_duplicate(part, row, "to group 0", [&](Calibration& after) { after.merge(whole); });
    }
  }
}

TEST(Calibration, RefusesABatchWithARowTwiceWhole) {
  const std::vector<std::uint64_t> keys = {7, 8, 7};
  const std::vector<double> scores = {1, 2, 3};
  const std::vector<std::int64_t> parts = {1, 2, 2};
  Calibration other;
  other.add(100, {.score = 1});
  for (const Calibration& before : {Calibration(), other}) {
    expect_duplicate(before, 7, "to group 0", [&](Calibration& after) { after.add(keys, scores); });
  }
  expect_duplicate(Calibration(), 7, "to group 1 and to group 2",
                   [&](Calibration& after) { after.add(keys, scores, {}, {}, parts); });
  Calibration clustered;
  clustered.add(100, {.score = 1, .cluster = 2});
  expect_duplicate(clustered, 7, "to cluster 1 and to cluster 2",
                   [&](Calibration& after) { after.add(keys, scores, {}, {}, {}, parts); });
}

TEST(Calibration, FindsTheSamePartMergedTwice) {
  Calibration calibration({.capacity = 50});
  calibration.add(100, std::vector<double>(1000, 1.0));
  const Calibration before = calibration;
  expect_error(ErrorCode::kDuplicateRows, "was added twice", [&] { calibration.merge(before); });
  expect_error(ErrorCode::kDuplicateRows, "was added twice", [&] { calibration.merge(calibration); });
  EXPECT_EQ(calibration, before);
}

TEST(Calibration, FindsARowAddedToTwoGroups) {
  Calibration calibration;
  for (std::uint64_t i = 0; i < 100; ++i) calibration.add(i, {.score = 1, .group = static_cast<std::int64_t>(i % 5)});
  EXPECT_EQ(SortedScores(calibration).groups().size(), 5U);
  expect_duplicate(calibration, 42, "to group -1 and to group 2",
                   [](Calibration& after) { after.add(42, {.score = 1, .group = -1}); });
}

TEST(Calibration, IgnoresASecondCopyOfARowItDidNotKeep) {
  Calibration calibration({.capacity = 5});
  std::vector<double> scores(1000);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<double>(i);
  calibration.add(0, scores);
  const std::vector<CalibrationRow> kept = calibration.rows(0);
  std::uint64_t row = 0;
  while (std::ranges::find(kept, static_cast<double>(row), &CalibrationRow::score) != kept.end()) ++row;
  calibration.add(row, {.score = -1});
  EXPECT_EQ(SortedScores(calibration).rows(0), 5U);
}

}  // namespace
}  // namespace widthwise
