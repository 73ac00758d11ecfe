#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/level.hpp>
#include <widthwise/random.hpp>

#include "support/errors.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

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
  expect_error(ErrorCode::kShapeMismatch, "1 levels but 2 output quantiles",
               [&] { conformal_quantiles(scores, std::vector<Level>{0.5}, out); });
}

}  // namespace
}  // namespace widthwise
