#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/level.hpp>
#include <widthwise/random.hpp>

#include "statistics.hpp"
#include "words.hpp"

namespace widthwise {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::optional<Error> error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

void expect_error(ErrorCode code, const std::string& part, const std::function<void()>& action) {
  const std::optional<Error> error = error_of(action);
  ASSERT_TRUE(error.has_value()) << "nothing was thrown; expected: " << part;
  EXPECT_EQ(error->code(), code) << error->what();
  EXPECT_NE(std::string(error->what()).find(part), std::string::npos) << error->what();
}

std::vector<Level> levels_of_two_decimals() {
  std::vector<Level> levels;
  for (int i = 1; i < 100; ++i) levels.emplace_back(i / 100.0);
  return levels;
}

std::vector<double> distinct_scores(std::size_t n, Random& random) {
  std::vector<double> scores(n);
  for (std::size_t i = 0; i < n; ++i) scores[i] = static_cast<double>(i);
  random.shuffle(std::span(scores));
  return scores;
}

Calibration calibration_of(std::span<const CalibrationRow> rows, const Calibration::Options& options = {}) {
  Calibration calibration(options);
  for (std::size_t i = 0; i < rows.size(); ++i) calibration.add(i, rows[i]);
  return calibration;
}

// ------------------------------------------------------------------------------------------- conformal_quantiles

TEST(ConformalQuantiles, AreTheScoresAtTheirRankWhateverTheirDistribution) {
  Random random(1);
  const std::vector<std::function<double(std::size_t, std::size_t)>> kinds = {
      [&](std::size_t, std::size_t) { return random.normal(); },
      [&](std::size_t, std::size_t) { return static_cast<double>(random.below(5)); },
      [&](std::size_t, std::size_t) { return 1.0; },
      [&](std::size_t i, std::size_t) { return static_cast<double>(i); },
      [&](std::size_t i, std::size_t n) { return static_cast<double>(n - i); },
      [&](std::size_t i, std::size_t n) { return static_cast<double>(std::min(i, n - i)); },
      [&](std::size_t i, std::size_t) { return static_cast<double>(i % 7) * (i % 2 == 0 ? 1 : -1); },
      [&](std::size_t, std::size_t) { return random.uniform() < 0.4 ? kInfinity : random.uniform(); },
      [&](std::size_t, std::size_t) { return random.uniform() < 0.9 ? -kInfinity : random.uniform(); },
  };
  for (const std::size_t n : {1U, 2U, 3U, 9U, 10U, 63U, 64U, 65U, 99U, 100U, 1000U, 2049U, 5000U, 50'000U}) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      std::vector<double> scores(n);
      for (std::size_t i = 0; i < n; ++i) scores[i] = kinds[kind](i, n);
      std::vector<double> sorted = scores;
      std::ranges::sort(sorted);
      for (const std::size_t count : {1U, 2U, 7U, 150U}) {
        std::vector<Level> levels;
        for (std::size_t j = 0; j < count; ++j) levels.emplace_back(static_cast<double>(1 + random.below(999)) / 1000);
        std::vector<double> work = scores;
        std::vector<double> out(count);
        conformal_quantiles(work, levels, out);
        for (std::size_t j = 0; j < count; ++j) {
          const std::uint64_t rank = levels[j].rank(n);
          ASSERT_EQ(out[j], rank > n ? kInfinity : sorted[rank - 1]) << n << " scores of kind " << kind;
        }
        std::ranges::sort(work);
        ASSERT_EQ(work, sorted);
      }
    }
  }
}

TEST(ConformalQuantiles, AreInfiniteOrAnErrorWhenThereAreTooFewScores) {
  std::vector<double> scores = {3, 1, 2};
  const std::vector<Level> levels = {0.9, 0.5};
  std::vector<double> out(2);
  conformal_quantiles(scores, levels, out);
  EXPECT_EQ(out, (std::vector<double>{kInfinity, 2}));
  expect_error(ErrorCode::kTooFewRows, "level 0.9 needs 9 rows, found 3",
               [&] { conformal_quantiles(scores, levels, out, WhenTooFew::kError); });
}

TEST(ConformalQuantiles, OfNoScoresAreInfinite) {
  std::vector<double> out(1);
  conformal_quantiles({}, std::vector<Level>{0.1}, out);
  EXPECT_EQ(out[0], kInfinity);
  conformal_quantiles({}, {}, {});
}

TEST(ConformalQuantiles, RefuseNaNWhereverItIsAndLeaveTheScoresAlone) {
  for (std::size_t n = 1; n < 40; ++n) {
    for (std::size_t position = 0; position < n; ++position) {
      std::vector<double> scores(n, kInfinity);
      for (std::size_t i = 0; i < n; i += 2) scores[i] = -static_cast<double>(i);
      scores[position] = kNaN;
      const std::vector<double> before = scores;
      std::vector<double> out(1);
      expect_error(ErrorCode::kNotFinite, "score " + std::to_string(position) + " is NaN",
                   [&] { conformal_quantiles(scores, std::vector<Level>{0.5}, out); });
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(scores[i]), std::bit_cast<std::uint64_t>(before[i]));
      }
    }
  }
}

TEST(ConformalQuantiles, NeedRoomForEveryLevel) {
  std::vector<double> scores = {1};
  std::vector<double> out(2);
  expect_error(ErrorCode::kShapeMismatch, "1 levels but room for 2",
               [&] { conformal_quantiles(scores, std::vector<Level>{0.5}, out); });
}

// --------------------------------------------------------------------------------------------------- Calibration

/// Rows of every kind: ties, both zeros, infinities, sides, weights, groups.
std::vector<CalibrationRow> assorted_rows(std::size_t n, Random& random, bool weights = true) {
  constexpr std::array<double, 6> kScores = {0.0, -0.0, 1.5, -2.0, kInfinity, -kInfinity};
  constexpr std::array<std::int64_t, 3> kGroups = {std::numeric_limits<std::int64_t>::min(), 0, 7};
  std::vector<CalibrationRow> rows(n);
  for (CalibrationRow& row : rows) {
    row.score = random.uniform() < 0.5 ? kScores[random.below(kScores.size())] : random.normal();
    row.above = random.uniform() < 0.3;
    row.weight = weights && random.uniform() < 0.5 ? 0.01 + random.uniform() : 1;
    row.group = kGroups[random.below(kGroups.size())];
  }
  return rows;
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
      EXPECT_EQ(parts[0].weighted(), reference.weighted());
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

TEST(Calibration, IsEmptyWhenBorn) {
  const Calibration calibration;
  EXPECT_EQ(calibration.options().capacity, 1'000'000U);
  EXPECT_EQ(calibration.rows_seen(), 0U);
  EXPECT_EQ(calibration.rows_kept(), 0U);
  EXPECT_TRUE(calibration.groups().empty());
  EXPECT_FALSE(calibration.weighted());
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
    EXPECT_TRUE(calibration.weighted());
    EXPECT_TRUE(SortedScores(calibration).weighted());
    EXPECT_TRUE(Calibration::deserialise(calibration.serialise()).weighted());
  }
}

TEST(Calibration, RefusesACapacityOfNothing) {
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
    const std::string where = "row " + std::to_string(5000 + bad) + ": ";
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
  refused(ErrorCode::kInvalidArgument, "more than 64 bits",
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

TEST(Calibration, TellsTheKeyThatCameTwice) {
  const std::vector<std::uint64_t> keys = {4, 0xffffffffffffffffU, 5};
  Calibration calibration;
  calibration.add(keys, std::vector<double>{1, 2, 3}, {}, {}, std::vector<std::int64_t>{1, 1, 2});
  EXPECT_EQ(calibration.duplicate(), std::nullopt);
  Calibration other;
  other.add(keys[1], {.score = 9, .group = 2});
  calibration.merge(other);
  EXPECT_EQ(calibration.duplicate(), keys[1]);
  expect_error(ErrorCode::kDuplicateRows, "18446744073709551615", [&] { (void)calibration.serialise(); });
}

TEST(Calibration, RefusesRowsWithGroupsBesideRowsWithoutAndStaysAsItWas) {
  const std::vector<double> scores = {1, 2, 3};
  const std::vector<std::int64_t> groups = {0, 0, 0};
  Calibration without;
  without.add(0, scores);
  Calibration with;
  with.add(0, scores, {}, {}, groups);
  EXPECT_FALSE(without.grouped());
  EXPECT_TRUE(with.grouped());
  EXPECT_EQ(without.rows(0)[0].group, std::nullopt);
  EXPECT_EQ(with.rows(0)[0].group, 0);
  EXPECT_NE(without, with);
  for (const Calibration& calibration : {without, with}) {
    EXPECT_EQ(Calibration::deserialise(calibration.serialise()).grouped(), calibration.grouped());
    EXPECT_EQ(Calibration::deserialise(calibration.serialise()), calibration);
    const Calibration& other = calibration.grouped() ? without : with;
    const std::string part = calibration.grouped()
                                 ? "these rows have no groups, but the 3 rows of the calibration have"
                                 : "these rows have groups, but the 3 rows of the calibration have none";
    const auto refused = [&](const std::function<void(Calibration&)>& change) {
      Calibration changed = calibration;
      expect_error(ErrorCode::kInvalidArgument, part, [&] { change(changed); });
      EXPECT_EQ(changed, calibration);
    };
    refused([&](Calibration& changed) { changed.merge(other); });
    refused([&](Calibration& changed) {
      changed.add(10, scores, {}, {}, calibration.grouped() ? std::span<const std::int64_t>() : groups);
    });
    refused([&](Calibration& changed) {
      changed.add(10, {.score = 1, .group = calibration.grouped() ? std::nullopt : std::optional<std::int64_t>(5)});
    });
    Calibration merged = calibration;
    merged.merge(Calibration());
    EXPECT_EQ(merged, calibration);
    Calibration empty;
    empty.merge(calibration);
    EXPECT_EQ(empty, calibration);
  }
}

TEST(Calibration, RefusesRowsWithoutWeightsBesideRowsWithWeights) {
  Calibration calibration;
  calibration.add(0, std::vector<double>{1, 2}, {}, std::vector<double>{100, 200});
  expect_error(ErrorCode::kInvalidArgument, "the calibration has weights, but these rows have none",
               [&] { calibration.add(2, std::vector<double>{1}); });
  EXPECT_EQ(calibration.rows_seen(), 2U);
}

TEST(Calibration, RefusesAsManyKeysAsThereAreNoRows) {
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

void expect_duplicate(const Calibration& calibration, std::uint64_t row_number, const std::string& where) {
  const std::string message = "row number " + std::to_string(row_number) + " was added twice, " + where + ";";
  expect_error(ErrorCode::kDuplicateRows, message, [&] { (void)calibration.serialise(); });
  expect_error(ErrorCode::kDuplicateRows, message, [&] { SortedScores{calibration}; });
}

TEST(Calibration, NamesTheRowThatWasAddedTwice) {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t row = i == 0 ? 0 : i == 1 ? std::numeric_limits<std::uint64_t>::max() : random.bits();
    Calibration calibration({.capacity = 2, .seed = random.bits()});
    calibration.add(row, {.score = 1, .group = -4});
    calibration.add(row, {.score = 2, .group = -4});
    expect_duplicate(calibration, row, "to group -4");
    expect_error(ErrorCode::kDuplicateRows, "row number " + std::to_string(row), [&] { (void)calibration.rows(-4); });
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
      Calibration after = whole;
      after.add(row, {.score = 0});
      expect_duplicate(after, row, "to group 0");

      Calibration before(options);
      before.add(row, {.score = 0});
      before.add(0, scores);
      expect_duplicate(before, row, "to group 0");

      Calibration resumed = Calibration::deserialise(whole.serialise());
      resumed.add(row, std::vector<double>{0});
      expect_duplicate(resumed, row, "to group 0");

      Calibration part(options);
      part.add(row, {.score = 0});
      Calibration merged = Calibration::deserialise(whole.serialise());
      merged.merge(part);
      expect_duplicate(merged, row, "to group 0");
      part.merge(whole);
      expect_duplicate(part, row, "to group 0");
    }
  }
}

TEST(Calibration, FindsTheSamePartMergedTwice) {
  Calibration calibration({.capacity = 50});
  calibration.add(100, std::vector<double>(1000, 1.0));
  Calibration twice = calibration;
  twice.merge(calibration);
  EXPECT_EQ(error_of([&] { (void)twice.serialise(); })->code(), ErrorCode::kDuplicateRows);
  calibration.merge(calibration);
  EXPECT_EQ(error_of([&] { SortedScores{calibration}; })->code(), ErrorCode::kDuplicateRows);
}

TEST(Calibration, FindsARowAddedToTwoGroups) {
  Calibration calibration;
  for (std::uint64_t i = 0; i < 100; ++i) calibration.add(i, {.score = 1, .group = static_cast<std::int64_t>(i % 5)});
  EXPECT_EQ(SortedScores(calibration).groups().size(), 5U);
  calibration.add(42, {.score = 1, .group = -1});
  expect_duplicate(calibration, 42, "to group -1 and to group 2");
}

TEST(Calibration, DoesNotMindASecondCopyOfARowItDidNotKeep) {
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

// ------------------------------------------------------------------------------------------- bytes of a calibration

/// A sample of capacity 2 and seed 7. It stays here for ever: these bytes must always be read, and written.
constexpr std::array<std::uint8_t, 192> kGolden = {
    0x57, 0x57, 0x43, 0x41, 0x4c, 0x49, 0x42, 0x00,  // "WWCALIB"
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // format 1
    0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // capacity 2
    0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // seed 7
    0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // 2 groups
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  // group -1
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // 1 row seen
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // 1 row kept
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // without weights
    0xc1, 0xbd, 0xb8, 0x66, 0xcc, 0xab, 0xb5, 0x74,  // priority of row 0
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf8, 0x3f,  // score 1.5
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // above
    0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // group 3
    0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // 3 rows seen
    0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // 2 rows kept
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // with weights
    0x17, 0xf1, 0xfc, 0x04, 0x7c, 0x25, 0x24, 0x05,  // priority of row 1
    0x42, 0xa3, 0x3d, 0x4d, 0x51, 0x84, 0x16, 0x8f,  // priority of row 3
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xd0, 0x3f,  // score 0.25
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // score 0
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // both below
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe0, 0x3f,  // weight 0.5
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40,  // weight 2
    0xb6, 0xda, 0xfd, 0xa1, 0xea, 0x29, 0x25, 0x28,  // checksum
};

std::vector<std::byte> golden_bytes() {
  std::vector<std::byte> bytes;
  for (const std::uint8_t byte : kGolden) bytes.push_back(std::byte{byte});
  return bytes;
}

TEST(CalibrationBytes, OfTheGoldenSampleNeverChange) {
  Calibration calibration({.capacity = 2, .seed = 7});
  calibration.add(0, {.score = 1.5, .above = true, .group = -1});
  calibration.add(1, {.score = 0.25, .weight = 0.5, .group = 3});
  calibration.add(2, {.score = kInfinity, .above = true, .group = 3});
  calibration.add(3, {.score = -0.0, .weight = 2, .group = 3});
  EXPECT_EQ(calibration.serialise(), golden_bytes());

  const Calibration read = Calibration::deserialise(golden_bytes());
  EXPECT_EQ(read.serialise(), golden_bytes());
  EXPECT_EQ(read.options().capacity, 2U);
  EXPECT_EQ(read.options().seed, 7U);
  EXPECT_EQ(read.rows_seen(), 4U);
  EXPECT_EQ(read.rows_kept(), 3U);
  ASSERT_EQ(read.rows(-1).size(), 1U);
  EXPECT_EQ(read.rows(-1)[0].score, 1.5);
  EXPECT_TRUE(read.rows(-1)[0].above);
  EXPECT_EQ(read.rows(-1)[0].weight, 1);
  ASSERT_EQ(read.rows(3).size(), 2U);
  EXPECT_EQ(read.rows(3)[0].score, 0.25);
  EXPECT_EQ(read.rows(3)[1].weight, 2);
}

TEST(CalibrationBytes, ReadBackTakeRowsAsIfTheyHadNeverBeenWritten) {
  Random random(6);
  for (const std::uint64_t capacity : {1U, 64U, 65U, 128U, 10'000U}) {
    const std::vector<CalibrationRow> rows = assorted_rows(1500, random);
    Calibration calibration({.capacity = capacity});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      calibration.add(i, rows[i]);
      if (i % 100 == 0) calibration = Calibration::deserialise(calibration.serialise());
    }
    EXPECT_EQ(calibration.serialise(), calibration_of(rows, {.capacity = capacity}).serialise());
  }
}

TEST(CalibrationBytes, AreRefusedWhereverTheyAreCut) {
  Random random(7);
  const std::vector<std::byte> bytes = calibration_of(assorted_rows(30, random), {.capacity = 8}).serialise();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    expect_error(ErrorCode::kBadData, "Calibration::deserialise: ", [&] { (void)Calibration::deserialise(cut); });
    if (size % 8 != 0 || size == 0) continue;
    internal::seal_words(cut);
    expect_error(ErrorCode::kBadData, "Calibration::deserialise: ", [&] { (void)Calibration::deserialise(cut); });
  }
}

/// Flip random bits; what is read must be refused or write the same bytes again.
void expect_flips_are_survived(const std::vector<std::byte>& bytes, bool repair, int repetitions, Random& random) {
  int read = 0;
  for (int i = 0; i < repetitions; ++i) {
    std::vector<std::byte> flipped = bytes;
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      flipped[random.below(flipped.size())] ^= static_cast<std::byte>(1U << random.below(8));
    }
    if (repair) internal::seal_words(flipped);
    const std::optional<Error> error = error_of([&] {
      ASSERT_EQ(Calibration::deserialise(flipped).serialise(), flipped);
      ++read;
    });
    if (error) {
      ASSERT_EQ(error->code(), ErrorCode::kBadData) << error->what();
    }
  }
  // Scores and weights have no redundancy but the checksum.
  EXPECT_EQ(read > 0, repair);
}

TEST(CalibrationBytes, WithFlippedBitsAreRefusedOrReadAsWhatTheySay) {
  Random random(8);
  for (const bool weights : {false, true}) {
    const std::vector<std::byte> bytes =
        calibration_of(assorted_rows(40, random, weights), {.capacity = 9}).serialise();
    expect_flips_are_survived(bytes, false, 10'000, random);
    expect_flips_are_survived(bytes, true, 10'000, random);
  }
}

TEST(CalibrationBytes, AreRefusedWithTheReason) {
  const auto refused = [](const std::string& part, const std::function<void(std::vector<std::byte>&)>& change) {
    std::vector<std::byte> bytes = golden_bytes();
    change(bytes);
    internal::seal_words(bytes);
    expect_error(ErrorCode::kBadData, part, [&] { (void)Calibration::deserialise(bytes); });
  };
  const auto with = [&](std::size_t index, std::uint64_t word, const std::string& part) {
    refused(part, [&](std::vector<std::byte>& bytes) { internal::store_word(bytes, index, word); });
  };
  constexpr std::uint64_t kAllBits = std::numeric_limits<std::uint64_t>::max();
  with(0, 1, "not a calibration");
  with(1, 2, "expected format 1, found 2");
  with(2, 0, "capacity is 0");
  with(2, 1, "more than the capacity");
  with(2, 3, "do not go with the rows seen");
  with(4, 1, "bytes after the last group");
  with(4, 3, "end too early");
  with(4, kAllBits, "end too early");
  with(5, 3, "groups are not in order");
  with(6, 0, "do not go with the rows seen");
  with(6, 2, "do not go with the rows seen");
  with(7, 0, "rows kept are none");
  with(8, 2, "it says that rows have groups, which shows without");
  with(8, 4, "flags");
  with(11, 2, "sides of rows that do not exist");
  with(13, kAllBits, "more than 2^63 rows");
  with(16, kAllBits, "priorities are not in order");
  with(16, 0x8f1684514d3da342U, "priorities are not in order");
  with(17, 0x74b5abcc66b8bdc1U, "row number 0 was added twice, to group -1 and to group 3");
  with(18, std::bit_cast<std::uint64_t>(kNaN), "a score is NaN");
  with(19, std::bit_cast<std::uint64_t>(-0.0), "a score is -0");
  for (const double weight : {0.0, -1.0, kInfinity, kNaN}) {
    with(21, std::bit_cast<std::uint64_t>(weight), "a weight is not positive and finite");
  }
  refused("all weights are 1", [](std::vector<std::byte>& bytes) {
    internal::store_word(bytes, 13, 2);
    internal::store_word(bytes, 21, std::bit_cast<std::uint64_t>(1.0));
    internal::store_word(bytes, 22, std::bit_cast<std::uint64_t>(1.0));
  });
  refused("end too early", [](std::vector<std::byte>& bytes) {
    // A count of rows that would need all the memory there is.
    internal::store_word(bytes, 2, kAllBits);
    internal::store_word(bytes, 6, std::uint64_t{1} << 62U);
    internal::store_word(bytes, 7, std::uint64_t{1} << 62U);
  });
  refused("whole 64-bit words", [](std::vector<std::byte>& bytes) { bytes.push_back(std::byte{0}); });
  std::vector<std::byte> changed = golden_bytes();
  changed[80] ^= std::byte{1};
  expect_error(ErrorCode::kBadData, "checksum", [&] { (void)Calibration::deserialise(changed); });
}

// -------------------------------------------------------------------------------------------------- SortedScores

TEST(SortedScores, GiveTheScoreAtTheRankOfTheLevel) {
  Random random(9);
  const std::vector<Level> levels = levels_of_two_decimals();
  for (std::size_t n = 1; n <= 200; ++n) {
    std::vector<double> scores(n);
    for (double& score : scores) score = static_cast<double>(random.below(n));
    Calibration calibration;
    calibration.add(0, scores);
    const SortedScores sorted(calibration);
    std::vector<double> expected(levels.size());
    conformal_quantiles(scores, levels, expected);
    for (std::size_t j = 0; j < levels.size(); ++j) ASSERT_EQ(sorted.quantile(levels[j]), expected[j]);
  }
}

TEST(SortedScores, GiveTheSameWithEqualWeightsAsWithout) {
  Random random(10);
  const std::vector<Level> levels = levels_of_two_decimals();
  for (const double weight : {1.0, 2.0, 0.1, 1.0 / 3, 1e-300, 1e300, 5e-324, 1.7e308, 123.456}) {
    for (std::size_t n = 1; n <= 200; ++n) {
      const std::vector<double> scores = distinct_scores(n, random);
      Calibration plain;
      plain.add(0, scores);
      Calibration weighted;
      weighted.add(0, scores, {}, std::vector<double>(n, weight));
      const SortedScores expected(plain);
      const SortedScores found(weighted);
      EXPECT_EQ(found.weighted(), weight != 1);
      for (const Level& level : levels) {
        ASSERT_EQ(found.quantile(level, 0, weight), expected.quantile(level))
            << "weight " << weight << ", " << n << " rows, level " << level.text();
        for (const bool below : {false, true}) {
          ASSERT_EQ(found.sided_quantile(level, below, 0, weight), expected.sided_quantile(level, below));
        }
      }
    }
  }
}

/// The rows of a calibration, and quantiles of them from integers alone.
struct IntegerRows {
  std::vector<CalibrationRow> rows;  // weights are integers below 2^40

  [[nodiscard]] double quantile(const Level& level, std::uint64_t test_weight,
                                const std::function<double(const CalibrationRow&)>& order) const {
    std::vector<CalibrationRow> sorted = rows;
    std::ranges::sort(sorted, {}, order);
    std::uint64_t total = test_weight;
    for (const CalibrationRow& row : sorted) total += static_cast<std::uint64_t>(row.weight);
    std::uint64_t weight = 0;
    for (const CalibrationRow& row : sorted) {
      weight += static_cast<std::uint64_t>(row.weight);
      if (Wide{weight} * level.denominator() >= Wide{level.numerator()} * total) return order(row);
    }
    return kInfinity;
  }
};

/// Orders rows from far below their prediction to far above it, for positive scores.
double signed_score(const CalibrationRow& row) { return row.above ? row.score : -row.score; }

void expect_sided(const SortedScores& sorted, const IntegerRows& rows, const Level& level, std::uint64_t test_weight) {
  const double weight = static_cast<double>(test_weight);
  const double upper = rows.quantile(level, test_weight, signed_score);
  const double below = sorted.sided_quantile(level, true, 0, weight);
  ASSERT_EQ(below, upper > 0 ? upper : -kInfinity);
  const double lower = rows.quantile(level, test_weight, [](const CalibrationRow& row) { return -signed_score(row); });
  const double above = sorted.sided_quantile(level, false, 0, weight);
  ASSERT_EQ(above, lower > 0 ? lower : -kInfinity);
}

TEST(SortedScores, AgreeWithIntegerArithmetic) {
  Random random(11);
  std::vector<Level> levels = levels_of_two_decimals();
  for (const char* text : {"0.9999999999999999999", "0.0000000000000000001", "0.3333333333333333333", "0.999"}) {
    levels.push_back(Level::parse(text));
  }
  for (int repetition = 0; repetition < 300; ++repetition) {
    IntegerRows integers;
    const std::size_t n = 1 + random.below(60);
    const std::uint64_t greatest = repetition % 3 == 0 ? 1 : repetition % 3 == 1 ? 5 : std::uint64_t{1} << 40U;
    for (std::size_t i = 0; i < n; ++i) {
      integers.rows.push_back({static_cast<double>(1 + random.below(30)), random.uniform() < 0.5,
                               static_cast<double>(1 + random.below(greatest)), 0});
    }
    const SortedScores sorted(calibration_of(integers.rows));
    for (const std::uint64_t test_weight : {std::uint64_t{1}, std::uint64_t{3}, greatest}) {
      for (const Level& level : levels) {
        ASSERT_EQ(sorted.quantile(level, 0, static_cast<double>(test_weight)),
                  integers.quantile(level, test_weight, [](const CalibrationRow& row) { return row.score; }));
        expect_sided(sorted, integers, level, test_weight);
      }
    }
  }
}

TEST(SortedScores, AreNotMovedByRoundingWhereTheWeightIsJustReached) {
  // 1 + 2^-60 is one half of all, which no double can say; one unit in the last place of the test weight decides.
  const std::vector<CalibrationRow> rows = {
      {.score = 1, .weight = 1}, {.score = 2, .weight = 0x1p-60}, {.score = 3, .weight = 0x1p-60}};
  const SortedScores sorted(calibration_of(rows));
  EXPECT_EQ(sorted.quantile(0.5, 0, 1.0), 2);
  EXPECT_EQ(sorted.quantile(0.5, 0, std::nextafter(1.0, 0.0)), 1);
  EXPECT_EQ(sorted.quantile(0.5, 0, std::nextafter(1.0, 2.0)), kInfinity);
}

TEST(SortedScores, AreExactForLevelsOfNineteenDigits) {
  // All weigh 10^19 together, so the level a / 10^19 is reached by the weight a and by nothing less.
  constexpr std::uint64_t kTotal = 10'000'000'000'000'000'000U;
  constexpr std::uint64_t kFirst = std::uint64_t{2048} * 1'500'000'000'000'001U;
  constexpr std::uint64_t kUnits = 2048;
  std::vector<CalibrationRow> rows = {{.score = 0, .weight = static_cast<double>(kFirst)}};
  for (std::uint64_t i = 1; i <= kUnits; ++i) rows.push_back({.score = static_cast<double>(i)});
  const SortedScores sorted(calibration_of(rows));
  const auto test_weight = static_cast<double>(kTotal - kFirst - kUnits);
  ASSERT_EQ(static_cast<std::uint64_t>(test_weight), kTotal - kFirst - kUnits);
  for (std::uint64_t i = 0; i <= kUnits; ++i) {
    const Level level = Level::parse("0." + std::to_string(kFirst + i));
    ASSERT_EQ(sorted.quantile(level, 0, test_weight), static_cast<double>(i)) << level.text();
  }
}

TEST(SortedScores, SurviveWeightsOfAnySize) {
  const std::vector<CalibrationRow> rows = {{.score = 1, .weight = 1e308},
                                            {.score = 2, .weight = 1.7e308},
                                            {.score = 3, .weight = 5e-324},
                                            {.score = 4, .weight = 1.7e308}};
  const SortedScores sorted(calibration_of(rows));
  EXPECT_EQ(sorted.quantile(0.2, 0, 1e-300), 1);
  EXPECT_EQ(sorted.quantile(0.5, 0, 1e-300), 2);
  EXPECT_EQ(sorted.quantile(0.9, 0, 1e-300), 4);
  EXPECT_EQ(sorted.quantile(0.9, 0, 1.7e308), kInfinity);
  EXPECT_EQ(sorted.quantile(0.1, 0, 1.7e308), 1);

  const SortedScores tiny(calibration_of(std::vector<CalibrationRow>{{.score = 1, .weight = 5e-324}}));
  EXPECT_EQ(tiny.quantile(0.5, 0, 5e-324), 1);
  EXPECT_EQ(tiny.quantile(0.51, 0, 5e-324), kInfinity);
  EXPECT_EQ(tiny.quantile(0.01, 0, 1e308), kInfinity);
  EXPECT_EQ(tiny.p_value(2, 0, 1e308), 1);
}

TEST(SortedScores, CountTheTestWeightWhenTheRowsHaveNone) {
  Calibration calibration;
  calibration.add(0, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  const SortedScores sorted(calibration);
  EXPECT_EQ(sorted.quantile(0.5, 0, 8), 8);
  EXPECT_EQ(sorted.quantile(0.5, 0, 8.001), kInfinity);
  EXPECT_EQ(sorted.quantile(0.5, 0, 0.001), 5);
  EXPECT_EQ(sorted.p_value(8, 0, 2), 0.3);
}

TEST(SortedScores, ATestWeightIsPositive) {
  for (const double row_weight : {1.0, 2.0}) {
    const SortedScores sorted(calibration_of(std::vector<CalibrationRow>(50, {.score = 1, .weight = row_weight})));
    for (const double weight : {0.0, -1.0, kNaN, -kInfinity}) {
      for (const std::int64_t group : {0, 1}) {
        expect_error(ErrorCode::kInvalidArgument, "positive test weight",
                     [&] { (void)sorted.quantile(0.5, group, weight); });
        expect_error(ErrorCode::kInvalidArgument, "positive test weight",
                     [&] { (void)sorted.sided_quantile(0.5, true, group, weight); });
        expect_error(ErrorCode::kInvalidArgument, "positive test weight",
                     [&] { (void)sorted.p_value(0.5, group, weight); });
      }
    }
    EXPECT_EQ(sorted.quantile(0.01, 0, kInfinity), kInfinity);
    EXPECT_EQ(sorted.sided_quantile(0.01, true, 0, kInfinity), kInfinity);
    EXPECT_EQ(sorted.p_value(100, 0, kInfinity), 1);
  }
}

TEST(SortedScores, ACalibrationWithWeightsNeedsATestWeight) {
  const SortedScores sorted(calibration_of(std::vector<CalibrationRow>(50, {.score = 1, .weight = 2})));
  const char* const remedy = "the row to predict needs one: give its likelihood ratio as test_weight";
  expect_error(ErrorCode::kInvalidArgument, remedy, [&] { (void)sorted.quantile(0.5); });
  expect_error(ErrorCode::kInvalidArgument, remedy, [&] { (void)sorted.sided_quantile(0.5, true); });
  expect_error(ErrorCode::kInvalidArgument, remedy, [&] { (void)sorted.p_value(0.5); });
}

TEST(SortedScores, GroupsAnswerForThemselves) {
  Calibration calibration;
  for (std::uint64_t i = 0; i < 19; ++i) {
    calibration.add(i, {.score = static_cast<double>(i), .group = i < 10 ? -2 : 30});
  }
  const SortedScores sorted(calibration);
  EXPECT_EQ(sorted.groups(), (std::vector<std::int64_t>{-2, 30}));
  EXPECT_EQ(sorted.rows(-2), 10U);
  EXPECT_EQ(sorted.rows(30), 9U);
  EXPECT_EQ(sorted.rows(0), 0U);
  EXPECT_TRUE(sorted.has_group(30));
  EXPECT_FALSE(sorted.has_group(0));
  EXPECT_EQ(sorted.quantile(0.5, -2), 5);
  EXPECT_EQ(sorted.quantile(0.9, 30), 18);
}

TEST(SortedScores, AGroupNeverSeenHasAnInfiniteInterval) {
  const SortedScores sorted(calibration_of(std::vector<CalibrationRow>(100, {.score = 1})));
  EXPECT_EQ(sorted.quantile(0.5, 1), kInfinity);
  EXPECT_EQ(sorted.quantile(0.5, 1, 1, WhenTooFew::kError), kInfinity);
  EXPECT_EQ(sorted.sided_quantile(0.5, true, 1), kInfinity);
  EXPECT_EQ(sorted.p_value(1e9, 1), 1);
  EXPECT_EQ(SortedScores().quantile(0.5), kInfinity);
}

TEST(SortedScores, TooFewRowsAreInfiniteOrAnErrorThatSaysHowManyItTakes) {
  const SortedScores sorted(calibration_of(std::vector<CalibrationRow>(8, {.score = 1})));
  EXPECT_EQ(sorted.quantile(0.9), kInfinity);
  EXPECT_EQ(sorted.quantile(Level::parse("0.88"), 0, 1, WhenTooFew::kError), 1);
  expect_error(ErrorCode::kTooFewRows, "level 0.9 needs 9 rows, found 8 in group 0",
               [&] { (void)sorted.quantile(0.9, 0, 1, WhenTooFew::kError); });
  expect_error(ErrorCode::kTooFewRows, "needs more rows for a test weight of 2.5, found 8 in group 0",
               [&] { (void)sorted.quantile(0.9, 0, 2.5, WhenTooFew::kError); });
}

TEST(SortedScores, PValuesCountTheScoresAtLeastAsGreat) {
  Random random(12);
  for (std::size_t n = 1; n < 60; ++n) {
    std::vector<CalibrationRow> rows(n);
    for (CalibrationRow& row : rows) {
      row = {.score = static_cast<double>(random.below(10)), .weight = static_cast<double>(1 + random.below(4))};
    }
    std::vector<CalibrationRow> plain_rows = rows;
    for (CalibrationRow& row : plain_rows) row.weight = 1;
    const SortedScores weighted(calibration_of(rows));
    const SortedScores plain(calibration_of(plain_rows));
    for (double score = -0.5; score <= 10.5; score += 0.5) {
      double count = 0;
      double weight = 0;
      double total = 0;
      for (const CalibrationRow& row : rows) {
        total += row.weight;
        if (row.score >= score) {
          count += 1;
          weight += row.weight;
        }
      }
      EXPECT_EQ(plain.p_value(score), (1 + count) / static_cast<double>(n + 1));
      EXPECT_EQ(weighted.p_value(score, 0, 2), (2 + weight) / (total + 2));
    }
    EXPECT_EQ(plain.p_value(kInfinity), 1 / static_cast<double>(n + 1));
    EXPECT_EQ(plain.p_value(-kInfinity), 1);
    EXPECT_EQ(plain.p_value(kNaN), 1);
  }
}

TEST(SortedScores, PValuesAndQuantilesSayTheSame) {
  Random random(13);
  const std::vector<Level> levels = levels_of_two_decimals();
  for (std::size_t n = 1; n < 120; ++n) {
    std::vector<double> scores(n);
    for (double& score : scores) score = static_cast<double>(random.below(n));
    Calibration calibration;
    calibration.add(0, scores);
    const SortedScores sorted(calibration);
    for (const Level& level : levels) {
      const double q = sorted.quantile(level);
      for (double score = 0; score <= static_cast<double>(n); ++score) {
        // p > alpha, in integers.
        const auto at_least = static_cast<std::uint64_t>(
            1 + std::ranges::count_if(scores, [score](double other) { return other >= score; }));
        const Level alpha = level.complement();
        ASSERT_EQ(score <= q, at_least * alpha.denominator() > alpha.numerator() * (n + 1));
        ASSERT_EQ(sorted.p_value(score), static_cast<double>(at_least) / static_cast<double>(n + 1));
      }
    }
  }
}

TEST(SortedScores, SidedQuantilesNeverCrossThePrediction) {
  // In order: two rows below, then three above.
  const std::vector<CalibrationRow> rows = {{.score = 5},
                                            {.score = 1},
                                            {.score = 2, .above = true},
                                            {.score = 4, .above = true},
                                            {.score = 8, .above = true}};
  const SortedScores sorted(calibration_of(rows));
  EXPECT_EQ(sorted.sided_quantile(0.3, true), -kInfinity);   // rank 2
  EXPECT_EQ(sorted.sided_quantile(0.5, true), 2);            // rank 3
  EXPECT_EQ(sorted.sided_quantile(0.8, true), 8);            // rank 5
  EXPECT_EQ(sorted.sided_quantile(0.84, true), kInfinity);   // rank 6 of 5
  EXPECT_EQ(sorted.sided_quantile(0.5, false), -kInfinity);  // rank 3
  EXPECT_EQ(sorted.sided_quantile(0.6, false), 1);           // rank 4
  EXPECT_EQ(sorted.sided_quantile(0.8, false), 5);           // rank 5
  EXPECT_EQ(sorted.sided_quantile(0.84, false), kInfinity);
}

// ------------------------------------------------------------------------------------------------------- coverage

constexpr double kFailure = 1e-6;

void expect_at_least(std::uint64_t count, std::uint64_t trials, double probability) {
  EXPECT_GE(count, binomial_lower_bound(trials, probability, kFailure)) << "of " << trials << " at " << probability;
}

void expect_exactly(std::uint64_t count, std::uint64_t trials, double probability) {
  expect_at_least(count, trials, probability);
  EXPECT_LE(count, binomial_upper_bound(trials, probability, kFailure)) << "of " << trials << " at " << probability;
}

double rank_share(const Level& level, std::uint64_t n) {
  return static_cast<double>(std::min(level.rank(n), n + 1)) / static_cast<double>(n + 1);
}

TEST(BinomialBounds, AreTheTightestThatHold) {
  for (const double probability : {0.1, 0.5, 0.9, 0.99}) {
    for (const std::uint64_t trials : {10U, 100U, 12'345U}) {
      const boost::math::binomial_distribution<double> distribution(static_cast<double>(trials), probability);
      const auto low = static_cast<double>(binomial_lower_bound(trials, probability, 1e-3));
      EXPECT_TRUE(low == 0 || boost::math::cdf(distribution, low - 1) <= 1e-3);
      EXPECT_GT(boost::math::cdf(distribution, low), 1e-3);
      const auto high = static_cast<double>(binomial_upper_bound(trials, probability, 1e-3));
      EXPECT_LE(boost::math::cdf(boost::math::complement(distribution, high)), 1e-3);
      EXPECT_TRUE(high == 0 || boost::math::cdf(boost::math::complement(distribution, high - 1)) > 1e-3);
    }
  }
}

TEST(CalibrationCoverage, IsExactlyTheRankShareOverAllChoicesOfTheTestRow) {
  Random random(14);
  const std::vector<Level> levels = levels_of_two_decimals();
  for (std::size_t n = 1; n <= 60; ++n) {
    const std::vector<double> scores = distinct_scores(n + 1, random);
    std::vector<std::uint64_t> covered(levels.size());
    for (std::size_t test = 0; test <= n; ++test) {
      Calibration calibration;
      for (std::size_t i = 0; i <= n; ++i) {
        if (i != test) calibration.add(i, {.score = scores[i]});
      }
      const SortedScores sorted(calibration);
      for (std::size_t j = 0; j < levels.size(); ++j)
        covered[j] += scores[test] <= sorted.quantile(levels[j]) ? 1U : 0U;
    }
    for (std::size_t j = 0; j < levels.size(); ++j) ASSERT_EQ(covered[j], levels[j].rank(n)) << levels[j].text();
  }
}

TEST(CalibrationCoverage, IsAtLeastTheRankShareWithTies) {
  Random random(15);
  const std::vector<Level> levels = levels_of_two_decimals();
  for (std::size_t n = 1; n <= 40; ++n) {
    std::vector<double> scores(n + 1);
    for (double& score : scores) score = static_cast<double>(random.below(4));
    std::vector<std::uint64_t> covered(levels.size());
    for (std::size_t test = 0; test <= n; ++test) {
      Calibration calibration;
      for (std::size_t i = 0; i <= n; ++i) {
        if (i != test) calibration.add(i, {.score = scores[i]});
      }
      const SortedScores sorted(calibration);
      for (std::size_t j = 0; j < levels.size(); ++j)
        covered[j] += scores[test] <= sorted.quantile(levels[j]) ? 1U : 0U;
    }
    for (std::size_t j = 0; j < levels.size(); ++j) ASSERT_GE(covered[j], levels[j].rank(n)) << levels[j].text();
  }
}

TEST(CalibrationCoverage, OfOneSideIsAtLeastTheRankShareOverAllChoicesOfTheTestRow) {
  Random random(16);
  const std::vector<Level> levels = levels_of_two_decimals();
  for (std::size_t n = 1; n <= 40; ++n) {
    std::vector<CalibrationRow> rows(n + 1);
    for (CalibrationRow& row : rows) {
      row = {.score = static_cast<double>(1 + random.below(20)), .above = random.uniform() < 0.3};
    }
    for (const bool below : {false, true}) {
      std::vector<std::uint64_t> covered(levels.size());
      for (std::size_t test = 0; test <= n; ++test) {
        Calibration calibration;
        for (std::size_t i = 0; i <= n; ++i) {
          if (i != test) calibration.add(i, rows[i]);
        }
        const SortedScores sorted(calibration);
        for (std::size_t j = 0; j < levels.size(); ++j) {
          const double q = sorted.sided_quantile(levels[j], below);
          covered[j] += rows[test].above != below || rows[test].score <= q ? 1U : 0U;
        }
      }
      for (std::size_t j = 0; j < levels.size(); ++j) ASSERT_GE(covered[j], levels[j].rank(n)) << levels[j].text();
    }
  }
}

TEST(CalibrationCoverage, OfPlainQuantilesIsTheRankShareWhateverTheTails) {
  constexpr std::uint64_t kTrials = 20'000;
  constexpr std::size_t kRows = 37;
  const std::vector<Level> levels = {0.1, 0.5, 0.8, 0.9, 0.95};
  const std::vector<std::function<double(Random&)>> distributions = {
      [](Random& random) { return std::abs(random.normal()); },
      [](Random& random) { return std::pow(std::abs(random.normal() / random.normal()), 5); },
      [](Random& random) { return random.uniform(); },
  };
  for (std::size_t d = 0; d < distributions.size(); ++d) {
    Random random(17 + d);
    std::vector<std::uint64_t> covered(levels.size());
    std::vector<double> scores(kRows);
    std::vector<double> q(levels.size());
    for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
      for (double& score : scores) score = distributions[d](random);
      conformal_quantiles(scores, levels, q);
      const double test = distributions[d](random);
      for (std::size_t j = 0; j < levels.size(); ++j) covered[j] += test <= q[j] ? 1U : 0U;
    }
    for (std::size_t j = 0; j < levels.size(); ++j) expect_exactly(covered[j], kTrials, rank_share(levels[j], kRows));
  }
}

TEST(CalibrationCoverage, OfTiedAndInfiniteScoresIsAtLeastTheRankShare) {
  constexpr std::uint64_t kTrials = 10'000;
  const Level level = 0.8;
  Random random(20);
  const auto draw = [&] {
    const double score = std::floor(3 * std::abs(random.normal()));
    return score > 6 ? kInfinity : score;
  };
  std::uint64_t covered = 0;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    Calibration calibration({.capacity = 24, .seed = trial});
    for (std::uint64_t i = 0; i < 60; ++i) calibration.add(i, {.score = draw()});
    if (draw() <= SortedScores(calibration).quantile(level)) ++covered;
  }
  expect_at_least(covered, kTrials, rank_share(level, 24));
}

TEST(CalibrationCoverage, OfASampleIsTheRankShareOfTheRowsKept) {
  constexpr std::uint64_t kTrials = 10'000;
  const std::vector<Level> levels = {0.5, 0.9};
  Random random(21);
  std::vector<std::uint64_t> covered(levels.size());
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    Calibration calibration({.capacity = 23, .seed = trial % 3});
    for (std::uint64_t i = 0; i < 150; ++i) calibration.add(i, {.score = random.normal()});
    const SortedScores sorted(calibration);
    const double test = random.normal();
    for (std::size_t j = 0; j < levels.size(); ++j) covered[j] += test <= sorted.quantile(levels[j]) ? 1U : 0U;
  }
  for (std::size_t j = 0; j < levels.size(); ++j) expect_exactly(covered[j], kTrials, rank_share(levels[j], 23));
}

// The rows are the same every time and numbered by their score: only the sampling and the choice of the test row are
// random. A sample that favoured any row numbers would be off.
TEST(CalibrationCoverage, OfASampleFromAFixedSortedPopulationIsTheRankShare) {
  constexpr std::uint64_t kTrials = 10'000;
  constexpr std::uint64_t kPopulation = 120;
  const std::vector<Level> levels = {0.2, 0.5, 0.9};
  Random random(22);
  std::vector<std::uint64_t> covered(levels.size());
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    const std::uint64_t test = random.below(kPopulation);
    Calibration calibration({.capacity = 19, .seed = random.bits()});
    for (std::uint64_t i = 0; i < kPopulation; ++i) {
      if (i != test) calibration.add(i, {.score = static_cast<double>(i)});
    }
    const SortedScores sorted(calibration);
    for (std::size_t j = 0; j < levels.size(); ++j) {
      covered[j] += static_cast<double>(test) <= sorted.quantile(levels[j]) ? 1U : 0U;
    }
  }
  for (std::size_t j = 0; j < levels.size(); ++j) expect_exactly(covered[j], kTrials, rank_share(levels[j], 19));
}

TEST(CalibrationCoverage, OfEachGroupIsTheRankShareOfItsRows) {
  constexpr std::uint64_t kTrials = 10'000;
  constexpr std::array<std::uint64_t, 3> kRows = {10, 25, 80};
  const Level level = 0.85;
  Random random(23);
  std::array<std::uint64_t, 3> covered{};
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    Calibration calibration({.capacity = 40});
    std::uint64_t row = 0;
    for (std::size_t g = 0; g < kRows.size(); ++g) {
      for (std::uint64_t i = 0; i < kRows[g]; ++i) {
        calibration.add(row++, {.score = static_cast<double>(1 + 10 * g) * std::abs(random.normal()),
                                .group = static_cast<std::int64_t>(g)});
      }
    }
    const SortedScores sorted(calibration);
    for (std::size_t g = 0; g < kRows.size(); ++g) {
      const double test = static_cast<double>(1 + 10 * g) * std::abs(random.normal());
      covered[g] += test <= sorted.quantile(level, static_cast<std::int64_t>(g)) ? 1U : 0U;
    }
  }
  expect_exactly(covered[0], kTrials, rank_share(level, 10));
  expect_exactly(covered[1], kTrials, rank_share(level, 25));
  expect_exactly(covered[2], kTrials, rank_share(level, 40));
}

TEST(CalibrationCoverage, SurvivesAKnownShiftOfTheInputsWithWeightsAndNotWithout) {
  constexpr std::uint64_t kTrials = 10'000;
  const Level level = 0.9;
  Random random(24);
  std::uint64_t weighted_covered = 0;
  std::uint64_t sampled_covered = 0;
  std::uint64_t plain_covered = 0;
  const auto score_at = [&](double x) { return std::abs(random.normal()) * (0.1 + x * x); };
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    Calibration weighted;
    Calibration sampled({.capacity = 40, .seed = trial});
    Calibration plain;
    for (std::uint64_t i = 0; i < 80; ++i) {
      const double x = 1 - random.uniform();
      const double score = score_at(x);
      // The density of x goes from 1 to 3 x^2; a constant factor must not matter.
      const double ratio = 17 * x * x;
      weighted.add(i, {.score = score, .weight = ratio});
      sampled.add(i, {.score = score, .weight = ratio});
      plain.add(i, {.score = score});
    }
    const double x = std::cbrt(1 - random.uniform());
    const double test = score_at(x);
    const double ratio = 17 * x * x;
    if (test <= SortedScores(weighted).quantile(level, 0, ratio)) ++weighted_covered;
    if (test <= SortedScores(sampled).quantile(level, 0, ratio)) ++sampled_covered;
    if (test <= SortedScores(plain).quantile(level)) ++plain_covered;
  }
  expect_at_least(weighted_covered, kTrials, level.value());
  expect_at_least(sampled_covered, kTrials, level.value());
  EXPECT_LT(plain_covered, binomial_lower_bound(kTrials, level.value(), kFailure));
}

TEST(CalibrationCoverage, WithWeightsDoesNotDependOnTheirScale) {
  // With weights times 100 and a test weight of 1, coverage was 0.8895: the test row then hardly counts.
  constexpr std::uint64_t kTrials = 10'000;
  const Level level = 0.9;
  Random random(29);
  std::uint64_t covered = 0;
  std::uint64_t covered_with_one = 0;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    Calibration small;
    Calibration large;
    const auto ratio_of = [](double x) { return 0.5 + x; };
    for (std::uint64_t i = 0; i < 15; ++i) {
      const double x = random.uniform();
      const double score = std::abs(random.normal());
      small.add(i, {.score = score, .weight = ratio_of(x)});
      large.add(i, {.score = score, .weight = 128 * ratio_of(x)});
    }
    const double ratio = ratio_of(std::sqrt(2 * random.uniform() + 0.25) - 0.5);  // density 0.5 + x
    const double test = std::abs(random.normal());
    const double q = SortedScores(large).quantile(level, 0, 128 * ratio);
    ASSERT_EQ(q, SortedScores(small).quantile(level, 0, ratio));
    ASSERT_EQ(SortedScores(large).p_value(test, 0, 128 * ratio), SortedScores(small).p_value(test, 0, ratio));
    covered += test <= q ? 1U : 0U;
    covered_with_one += test <= SortedScores(large).quantile(level, 0, 1) ? 1U : 0U;
  }
  expect_at_least(covered, kTrials, level.value());
  EXPECT_LT(covered_with_one, binomial_lower_bound(kTrials, level.value(), kFailure));
}

TEST(CalibrationCoverage, OfGroupZeroIsNotThatOfRowsWithoutGroups) {
  // Rows without groups, three quarters of them from groups with half the errors of group 0, counted as group 0: its
  // coverage was 0.805. Such a calibration is refused, and with groups for every row each has its coverage.
  constexpr std::uint64_t kTrials = 10'000;
  constexpr std::uint64_t kRows = 40;
  const Level level = 0.9;
  Random random(30);
  std::array<std::uint64_t, 4> covered{};
  std::uint64_t covered_mixed = 0;
  const auto score_of = [&](std::int64_t group) { return std::abs(random.normal()) * (group == 0 ? 1 : 0.5); };
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    Calibration mixed;  // as it was: rows without groups are those of group 0
    Calibration without;
    Calibration with;
    for (std::uint64_t i = 0; i < 2 * kRows; ++i) {
      const auto group = static_cast<std::int64_t>(i % 4);
      const double score = score_of(group);
      with.add(i, {.score = score, .group = group});
      if (i < kRows) without.add(i, {.score = score});
      mixed.add(i, {.score = score, .group = i < kRows ? 0 : group});
    }
    if (trial == 0) {
      expect_error(ErrorCode::kInvalidArgument, "mixed with those of group 0", [&] { without.merge(with); });
    }
    const SortedScores sorted(with);
    for (std::int64_t group = 0; group < 4; ++group) {
      const double test = score_of(group);
      covered.at(static_cast<std::size_t>(group)) += test <= sorted.quantile(level, group) ? 1U : 0U;
      if (group == 0) covered_mixed += test <= SortedScores(mixed).quantile(level, 0) ? 1U : 0U;
    }
  }
  for (const std::uint64_t count : covered) expect_at_least(count, kTrials, level.value());
  EXPECT_LT(covered_mixed, binomial_lower_bound(kTrials, 0.85, kFailure));
}

TEST(CalibrationCoverage, OfEachSideHoldsForAModelThatIsOff) {
  constexpr std::uint64_t kTrials = 10'000;
  const std::vector<Level> levels = {0.1, 0.5, 0.9};
  Random random(25);
  // Skewed errors whose median is not 0, and a bound for each side that is learnt apart.
  const auto draw = [&]() -> CalibrationRow {
    const double residual = -std::log(1 - random.uniform()) - 0.4;
    return {.score = residual > 0 ? residual : -5 * residual, .above = residual > 0};
  };
  std::vector<std::uint64_t> under(levels.size());
  std::vector<std::uint64_t> over(levels.size());
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    Calibration calibration({.capacity = 30, .seed = trial});
    for (std::uint64_t i = 0; i < 50; ++i) calibration.add(i, draw());
    const SortedScores sorted(calibration);
    const CalibrationRow test = draw();
    for (std::size_t j = 0; j < levels.size(); ++j) {
      under[j] += !test.above || test.score <= sorted.sided_quantile(levels[j], true) ? 1U : 0U;
      over[j] += test.above || test.score <= sorted.sided_quantile(levels[j], false) ? 1U : 0U;
    }
  }
  for (std::size_t j = 0; j < levels.size(); ++j) {
    expect_at_least(under[j], kTrials, rank_share(levels[j], 30));
    expect_at_least(over[j], kTrials, rank_share(levels[j], 30));
  }
  // P(residual > 0) is 0.67, so the upper bound of 0.9 is almost never cut at the prediction: exact there.
  EXPECT_LE(under[2], binomial_upper_bound(kTrials, rank_share(levels[2], 30) + 1e-4, kFailure));
}

TEST(CalibrationCoverage, PValuesAreUniformOnTheirGrid) {
  constexpr std::uint64_t kTrials = 20'000;
  constexpr std::size_t kRows = 19;
  Random random(26);
  std::array<std::uint64_t, kRows + 2> at_most{};
  std::vector<double> scores(kRows);
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    for (double& score : scores) score = random.normal();
    Calibration calibration;
    calibration.add(0, scores);
    const double p = SortedScores(calibration).p_value(random.normal());
    for (std::size_t j = 1; j < at_most.size(); ++j) at_most[j] += p <= static_cast<double>(j) / (kRows + 1) ? 1U : 0U;
  }
  for (std::size_t j = 1; j <= kRows; ++j) {
    expect_exactly(at_most[j], kTrials, static_cast<double>(j) / (kRows + 1));
  }
  EXPECT_EQ(at_most[kRows + 1], kTrials);
}

TEST(SlowCalibrationCoverage, OfLargeMergedSamplesIsTheRankShareOfTheRowsKept) {
  const std::uint64_t trials = slow_repeats(2000);
  constexpr std::uint64_t kParts = 4;
  constexpr std::size_t kRows = 5000;
  const std::vector<Level> levels = {0.8, 0.9, 0.95, 0.99};
  Random random(27);
  std::vector<std::uint64_t> covered(levels.size());
  std::vector<double> scores(kRows);
  const auto draw = [&] { return 1 / (1e-6 + random.uniform()); };
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    const Calibration::Options options{300, trial};
    Calibration merged(options);
    for (std::uint64_t part = 0; part < kParts; ++part) {
      for (double& score : scores) score = draw();
      Calibration calibration(options);
      calibration.add(part * kRows, scores);
      merged.merge(calibration);
    }
    const SortedScores sorted(merged);
    const double test = draw();
    for (std::size_t j = 0; j < levels.size(); ++j) covered[j] += test <= sorted.quantile(levels[j]) ? 1U : 0U;
  }
  for (std::size_t j = 0; j < levels.size(); ++j) expect_exactly(covered[j], trials, rank_share(levels[j], 300));
}

TEST(SlowCalibrationCoverage, OfWeightedSamplesHoldsForEveryLevel) {
  const std::uint64_t trials = slow_repeats(10'000);
  const std::vector<Level> levels = {0.5, 0.8, 0.9, 0.95};
  Random random(28);
  std::vector<std::uint64_t> covered(levels.size());
  std::vector<double> scores(400);
  std::vector<double> weights(400);
  // Calibration inputs are uniform, test inputs have the density e^x / (e - 1).
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double x = random.uniform();
      scores[i] = std::abs(random.normal()) * std::exp(2 * x);
      weights[i] = std::exp(x);
    }
    Calibration calibration({.capacity = 150, .seed = trial});
    calibration.add(0, scores, {}, weights);
    const SortedScores sorted(calibration);
    const double x = std::log1p(random.uniform() * std::expm1(1.0));
    const double test = std::abs(random.normal()) * std::exp(2 * x);
    for (std::size_t j = 0; j < levels.size(); ++j) {
      covered[j] += test <= sorted.quantile(levels[j], 0, std::exp(x)) ? 1U : 0U;
    }
  }
  for (std::size_t j = 0; j < levels.size(); ++j) {
    expect_at_least(covered[j], trials, levels[j].value());
    // At most the greatest share of one row more: e / (150 rows of at least 1).
    EXPECT_LE(covered[j], binomial_upper_bound(trials, levels[j].value() + std::exp(1.0) / 150, kFailure));
  }
}

}  // namespace
}  // namespace widthwise
