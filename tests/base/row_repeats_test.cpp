#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <widthwise/random.hpp>
#include <widthwise/row_sketch.hpp>

namespace widthwise {
namespace {

/// A table in which content v occurs counts[v] times.
RowRepeats repeats_of(const std::vector<std::uint64_t>& counts) {
  RowSketch sketch;
  for (std::size_t v = 0; v < counts.size(); ++v) {
    sketch.add(std::vector<std::uint64_t>(counts[v], mix_bits(v + 1)));
  }
  return repeats(sketch);
}

std::vector<std::uint64_t> each(std::size_t contents, std::uint64_t times) {
  return std::vector<std::uint64_t>(contents, times);
}

std::vector<std::uint64_t> operator+(std::vector<std::uint64_t> a, const std::vector<std::uint64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(RowRepeats, CopiesAreFound) {
  EXPECT_TRUE(repeats_of(each(1500, 2)).found());
  EXPECT_TRUE(repeats_of(each(50, 2)).found());
  EXPECT_TRUE(repeats_of(each(50, 30)).found());
  EXPECT_TRUE(repeats_of(each(1000, 1) + each(500, 4)).found());
  EXPECT_TRUE(repeats_of(each(1200, 1) + each(300, 2)).found());
  EXPECT_TRUE(repeats_of(each(500, 1) + each(500, 2) + each(500, 3)).found());
  const RowRepeats found = repeats_of(each(600, 1) + each(200, 3));
  EXPECT_EQ(found.rows, 1200U);
  EXPECT_EQ(found.copies, 400U);
  EXPECT_DOUBLE_EQ(found.share(), 1.0 / 3);
}

TEST(RowRepeats, FewCopiesMayBeChance) {
  EXPECT_FALSE(repeats_of({}).found());
  EXPECT_EQ(repeats_of({}).share(), 0);
  EXPECT_FALSE(repeats_of(each(1000, 1)).found());
  EXPECT_FALSE(repeats_of(each(10, 2)).found());
  EXPECT_FALSE(repeats_of(each(1000, 1) + each(10, 2)).found());
}

/// Rows that are drawn independently, from few or many contents, equally or unequally likely, or partly continuous.
TEST(RowRepeats, IndependentDrawsOfDiscreteRowsAreNotFound) {
  Random random(1);
  double smallest = 0;
  for (int repetition = 0; repetition < 300; ++repetition) {
    const double contents = std::exp(std::log(5000.0) * random.uniform());
    const double power = 1 + 3 * random.uniform();  // 1: equally likely
    const double continuous = repetition % 2 == 0 ? 0 : random.uniform();
    std::vector<std::uint64_t> counts(5001);
    std::vector<std::uint64_t> single;
    for (int row = 0; row < 2000; ++row) {
      if (random.uniform() < continuous) {
        single.push_back(1);
      } else {
        ++counts[static_cast<std::size_t>(contents * std::pow(random.uniform(), power))];
      }
    }
    std::erase(counts, 0U);
    const RowRepeats found = repeats_of(counts + single);
    EXPECT_EQ(found.rows, 2000U);
    smallest = std::min(smallest, found.log_probability);
  }
  // 300 tables, of which the smallest bound is rarely below 1e-5 / 300.
  EXPECT_GT(smallest, std::log(1e-5 / 300));
}

TEST(RowRepeats, ASampleOfTheContentsSuffices) {
  RowSketch sketch(1024);
  for (std::uint64_t v = 0; v < 20'000; ++v) sketch.add(std::vector<std::uint64_t>(2, mix_bits(v)));
  const RowRepeats found = repeats(sketch);
  EXPECT_TRUE(found.found());
  EXPECT_EQ(found.rows, 2048U);
  EXPECT_DOUBLE_EQ(found.share(), 0.5);
}

}  // namespace
}  // namespace widthwise
