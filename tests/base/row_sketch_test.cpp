#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_sketch.hpp>

#include "base/words.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

namespace widthwise {
namespace {

std::vector<std::uint64_t> hashes_of(const std::vector<std::string>& names, const std::vector<double>& x,
                                     const std::vector<double>& y) {
  std::vector<std::uint64_t> hashes(y.size());
  RowHasher(names).hash({x.data(), y.size(), names.size()}, y, hashes);
  return hashes;
}

TEST(RowHasher, TheOrderOfColumnsDoesNotMatterAndTheirNamesDo) {
  const auto hashes = hashes_of({"a", "b"}, {1, 2, 3, 4}, {5, 6});
  EXPECT_EQ(hashes_of({"b", "a"}, {2, 1, 4, 3}, {5, 6}), hashes);
  EXPECT_NE(hashes_of({"b", "a"}, {1, 2, 3, 4}, {5, 6}), hashes);
  EXPECT_NE(hashes_of({"a", "c"}, {1, 2, 3, 4}, {5, 6}), hashes);
  EXPECT_NE(hashes[0], hashes[1]);
}

TEST(RowHasher, EqualNumbersHaveEqualHashes) {
  EXPECT_EQ(hashes_of({"a"}, {-0.0}, {0.0}), hashes_of({"a"}, {0.0}, {-0.0}));
  EXPECT_EQ(hashes_of({"a"}, {kNaN}, {1}), hashes_of({"a"}, {-kNaN}, {1}));
  EXPECT_NE(hashes_of({"a"}, {kNaN}, {1}), hashes_of({"a"}, {0}, {1}));
  EXPECT_NE(hashes_of({"a"}, {1}, {2}), hashes_of({"a"}, {2}, {1}));
  EXPECT_NE(hashes_of({"a"}, {1}, {2}), hashes_of({"a"}, {1}, {std::nextafter(2.0, 3.0)}));
}

TEST(RowHasher, HashesAreTheSameOnEveryMachine) {
  EXPECT_EQ(hashes_of({"age", "größe"}, {1.5, kNaN}, {-2}), (std::vector<std::uint64_t>{4030495988248348684U}));
}

TEST(RowHasher, RefusesShapesThatDoNotFit) {
  EXPECT_THROW(hashes_of({"a"}, {1, 2}, {}).at(0), std::out_of_range);
  RowSketch sketch;
  const std::vector<std::string> names = {"a"};
  const std::vector<double> x = {1, 2};
  EXPECT_THROW(sketch.add(RowHasher(names), {x.data(), 2, 1}, std::span(x).first(1)), Error);
  EXPECT_THROW(sketch.add(RowHasher(names), {x.data(), 1, 2}, std::span(x).first(1)), Error);
  EXPECT_TRUE(sketch.empty());
}

/// Hashes of n rows that are drawn from `contents` different ones.
std::vector<std::uint64_t> rows_of(std::size_t n, std::uint64_t contents, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> hashes(n);
  for (auto& hash : hashes) hash = mix_bits(random.below(contents) + 1);
  return hashes;
}

RowSketch sketch_of(std::span<const std::uint64_t> hashes, std::size_t capacity = RowSketch::kCapacity) {
  RowSketch sketch(capacity);
  sketch.add(hashes);
  return sketch;
}

TEST(RowSketch, KeepsTheSmallestHashesWithTheirCounts) {
  const RowSketch sketch = sketch_of(std::vector<std::uint64_t>{9, 3, 7, 3, 5, 9, 1, 3}, 3);
  EXPECT_EQ(sketch.rows(), 8U);
  EXPECT_EQ(sketch.limit(), 5U);
  EXPECT_EQ(sketch.entries(), (std::vector<RowSketch::Entry>{{1, 1}, {3, 3}, {5, 1}}));
  EXPECT_EQ(sketch_of(std::vector<std::uint64_t>{9, 3, 9}, 2).limit(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_THROW(RowSketch(0), Error);
}

TEST(RowSketch, NeitherOrderNorPartitionChangesTheBytes) {
  for (const std::uint64_t contents : {50U, 3000U, 1'000'000'000U}) {
    std::vector<std::uint64_t> rows = rows_of(20'000, contents, contents);
    const auto bytes = sketch_of(rows, 1000).serialise();
    Random random(1);
    for (int repeat = 0; repeat < 5; ++repeat) {
      random.shuffle(std::span(rows));
      RowSketch merged(1000);
      for (std::size_t first = 0; first < rows.size();) {
        const std::size_t count = std::min<std::size_t>(random.below(8000), rows.size() - first);
        merged.merge(sketch_of(std::span(rows).subspan(first, count), repeat == 0 ? 2000 : 1000));
        first += count;
      }
      EXPECT_EQ(merged.serialise(), bytes);
    }
  }
}

TEST(RowSketch, IsReadAsItWasWritten) {
  for (const std::size_t rows : {0U, 1U, 999U, 5000U}) {
    const RowSketch sketch = sketch_of(rows_of(rows, 2000, 1), 1000);
    EXPECT_EQ(RowSketch::deserialise(sketch.serialise()), sketch);
    EXPECT_EQ(RowSketch::deserialise(sketch.serialise()).limit(), sketch.limit());
  }
}

TEST(RowSketch, DamagedBytesAreRefused) {
  const auto bytes = sketch_of(rows_of(60, 30, 1), 20).serialise();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW((void)RowSketch::deserialise(std::span(bytes).first(size)), Error) << size;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= std::byte{1};
    EXPECT_THROW((void)RowSketch::deserialise(changed), Error) << i;
  }
}

/// The words of a sketch with a correct checksum, as an attacker would write them.
std::vector<std::byte> forged(const std::vector<std::uint64_t>& words) {
  internal::WordWriter writer(words.size());
  for (const std::uint64_t word : words) writer.put(word);
  return std::move(writer).finish();
}

TEST(RowSketch, ForgedBytesAreRefused) {
  constexpr std::uint64_t kMagic = 0x0048435445575752U;
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 62U;
  // Magic, version, capacity, rows, limit, hashes, repeated; hashes; places and counts.
  EXPECT_EQ(RowSketch::deserialise(forged({kMagic, 1, 9, 5, kAll, 2, 1, 3, 4, 1, 4})).rows(), 5U);
  const std::vector<std::vector<std::uint64_t>> bad = {
      {kMagic + 1, 1, 9, 5, kAll, 2, 1, 3, 4, 1, 4},    // another thing
      {kMagic, 2, 9, 5, kAll, 2, 1, 3, 4, 1, 4},        // newer
      {kMagic, 1, 0, 5, kAll, 2, 1, 3, 4, 1, 4},        // no capacity
      {kMagic, 1, 1, 5, kAll, 2, 1, 3, 4, 1, 4},        // above the capacity
      {kMagic, 1, kAll, kAll, kAll, kAll, 1, 3, 4, 1},  // more rows and hashes than there can be
      {kMagic, 1, kAll, 5, kAll, kHuge, 0, 3, 4},       // more hashes than bytes
      {kMagic, 1, 9, 5, kAll, 2, 1, 4, 4, 1, 4},        // the same hash twice
      {kMagic, 1, 9, 5, kAll, 2, 1, 3, 4, 2, 4},        // the count of no hash
      {kMagic, 1, 9, 2, kAll, 2, 1, 3, 4, 1, 1},        // a repeated row that does not
      {kMagic, 1, 9, 5, kAll, 2, 2, 3, 4, 1, 2, 1, 3},  // two counts of one hash
      {kMagic, 1, 9, 6, kAll, 2, 1, 3, 4, 1, 4},        // rows that are nowhere
      {kMagic, 1, 9, 5, 4, 2, 1, 3, 4, 1, 4},           // a limit below the capacity
      {kMagic, 1, 2, 6, 5, 2, 1, 3, 4, 1, 4},           // a limit that is no hash
      {kMagic, 1, 2, 5, 4, 2, 1, 3, 4, 1, 4},           // a limit, but all rows are there
      {kMagic, 1, 9, 5, kAll, 2, 1, 3, 4, 1, 4, 0},     // more words
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_THROW((void)RowSketch::deserialise(forged(bad[i])), Error) << i;
  }
}

// --- overlap

/// Rows of the population of all 64-bit numbers, `copies` of them taken from `known`.
std::vector<std::uint64_t> with_copies(std::size_t n, std::size_t copies, std::span<const std::uint64_t> known,
                                       std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> rows(n);
  const std::size_t first = copies == 0 || known.size() == copies ? 0 : random.below(known.size() - copies);
  for (std::size_t i = 0; i < n; ++i) rows[i] = i < copies ? known[first + i] : random.bits();
  return rows;
}

/// How often 100 copies of 20,000 rows are found among 10,000, when on average 58 of the copies are compared.
std::uint64_t times_found(std::uint64_t repeats) {
  constexpr std::size_t kCapacity = 17'400;
  const auto known = with_copies(20'000, 0, {}, 1);
  const RowSketch sketch = sketch_of(known, kCapacity);
  std::uint64_t found = 0;
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    found += overlap(sketch, sketch_of(with_copies(10'000, 100, known, repeat + 2), kCapacity)).found() ? 1U : 0U;
  }
  return found;
}

TEST(RowOverlap, FindsOnePercentOfTenThousandRows) {
  // 56 copies among the smallest hashes are enough (docs/mathematics.md): 100 of up to 450,000 rows in all.
  for (const std::size_t fitted : {1'000U, 50'000U, 440'000U}) {
    const auto known = with_copies(fitted, 0, {}, fitted);
    const RowOverlap seen = overlap(sketch_of(known), sketch_of(with_copies(10'000, 100, known, fitted + 1)));
    EXPECT_TRUE(seen.found()) << fitted;
    EXPECT_NEAR(seen.share(), 0.01, 6 * std::sqrt(0.01 / static_cast<double>(seen.rows)));
  }
  EXPECT_GE(times_found(100), binomial_lower_bound(100, 0.999, 1e-6));
}

TEST(RowOverlap, ThirtyFourCopiesAreTheFewestFound) {
  const auto known = with_copies(500, 0, {}, 1);
  const auto found = [&](std::size_t copies) {
    return overlap(sketch_of(known), sketch_of(with_copies(500, copies, known, 2))).found();
  };
  EXPECT_FALSE(found(33));
  EXPECT_TRUE(found(34));
}

TEST(RowOverlap, NoRowsAreNoOverlap) {
  const RowSketch some = sketch_of(rows_of(100, 1000, 1));
  EXPECT_FALSE(overlap(some, RowSketch()).found());
  EXPECT_FALSE(overlap(RowSketch(), some).found());
  EXPECT_EQ(overlap(RowSketch(), RowSketch()).share(), 0);
}

/// A row of three binary features and a Poisson outcome that depends on them.
class CountSketchedRows {
 public:
  explicit CountSketchedRows(std::uint64_t seed) : engine_(seed) {}

  std::vector<std::uint64_t> operator()(std::size_t n) {
    std::vector<std::uint64_t> rows(n);
    for (auto& row : rows) {
      const std::uint64_t x = engine_() % 8;
      std::poisson_distribution<std::uint64_t> count(1 + 2 * static_cast<double>(x));
      row = mix_bits(1 + x + 8 * count(engine_));
    }
    return rows;
  }

 private:
  std::mt19937_64 engine_;
};

/// Rows of which about a half repeat in a sample of n: a half is of few contents, a half of many.
std::vector<std::uint64_t> half_repeated(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> rows(n);
  for (auto& row : rows) row = mix_bits(random.below(2) == 0 ? random.below(n / 4) : n + random.bits() % (1U << 30U));
  return rows;
}

/// P-values of tables from one population: at most the share t of them may be at most t.
void expect_no_alarm(std::vector<double> log_probabilities) {
  for (const double t : {1e-1, 1e-2, 1e-3}) {
    const auto below = std::ranges::count_if(log_probabilities, [&](double p) { return p <= std::log(t); });
    EXPECT_LE(below, binomial_upper_bound(log_probabilities.size(), t, 1e-6)) << t;
  }
}

TEST(RowOverlap, RepeatsInThePopulationAreNoAlarm) {
  std::vector<double> counts;
  std::vector<double> halves;
  std::vector<double> shifted;
  for (std::uint64_t repeat = 0; repeat < 100; ++repeat) {
    CountSketchedRows table(repeat);
    counts.push_back(overlap(sketch_of(table(400)), sketch_of(table(200 + repeat))).log_probability);
    halves.push_back(overlap(sketch_of(half_repeated(2000, 2 * repeat)), sketch_of(half_repeated(2000, 2 * repeat + 1)))
                         .log_probability);
    // New rows from where the repeats are: not exchangeable with the fitted ones, but not copies of them either.
    shifted.push_back(
        overlap(sketch_of(half_repeated(4000, 2 * repeat)), sketch_of(rows_of(500, 1000, 7 * repeat))).log_probability);
  }
  expect_no_alarm(counts);
  expect_no_alarm(halves);
  expect_no_alarm(shifted);
}

TEST(RowOverlap, ReuseIsFoundAmongRepeats) {
  for (std::uint64_t repeat = 0; repeat < 20; ++repeat) {
    for (std::vector<std::uint64_t> rows : {CountSketchedRows(repeat)(1000), half_repeated(2000, repeat)}) {
      const RowSketch known = sketch_of(rows);
      EXPECT_TRUE(overlap(known, sketch_of(rows)).found());
      Random random(repeat);
      random.shuffle(std::span(rows));
      rows.pop_back();
      EXPECT_TRUE(overlap(known, sketch_of(rows)).found());
    }
  }
}

TEST(RowOverlap, AFewRowsOfAHugeTableAreFoundByTheirShare) {
  // A sketch of 1000 of 100,000 rows: 60 of 1000 rows with small hashes are needed, 6,000 in all.
  Random random(1);
  std::vector<std::uint64_t> known(100'000);
  for (auto& row : known) row = random.bits();
  const RowSketch sketch = sketch_of(known, 1000);
  EXPECT_TRUE(overlap(sketch, sketch_of(with_copies(50'000, 20'000, known, 2), 1000)).found());
  EXPECT_FALSE(overlap(sketch, sketch_of(with_copies(50'000, 200, known, 2), 1000)).found());
}

/// 5,000 tables of each population, and p-values as small as they can show.
TEST(SlowRowOverlap, RepeatsInThePopulationAreNoAlarm) {
  std::vector<double> counts;
  std::vector<double> halves;
  for (std::uint64_t repeat = 0; repeat < slow_repeats(5'000); ++repeat) {
    CountSketchedRows table(repeat);
    counts.push_back(overlap(sketch_of(table(400)), sketch_of(table(400))).log_probability);
    halves.push_back(overlap(sketch_of(half_repeated(1000, 2 * repeat)), sketch_of(half_repeated(1000, 2 * repeat + 1)))
                         .log_probability);
  }
  expect_no_alarm(counts);
  expect_no_alarm(halves);
  EXPECT_GT(*std::ranges::min_element(counts), std::log(1e-9));
  EXPECT_GT(*std::ranges::min_element(halves), std::log(1e-9));
}

TEST(SlowRowOverlap, FindsOnePercentOfTenThousandRows) {
  const std::uint64_t repeats = slow_repeats(10'000);
  EXPECT_GE(times_found(repeats), binomial_lower_bound(repeats, 0.999, 1e-6));
}

}  // namespace
}  // namespace widthwise
