#include <widthwise/exchangeability.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/words.hpp"
#include "support/bit_flips.hpp"
#include "support/errors.hpp"
#include "support/forged_words.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

namespace widthwise {
namespace {

constexpr double kAlarmFailure = 1e-6;

/// Draws the score of row t of a stream; rows before the stream have t = 0.
using Scores = std::function<double(std::uint64_t t, Random& random)>;

double error(Random& random) { return std::abs(random.normal()); }

Calibration calibration_of(std::size_t rows, const Scores& scores, Random& random) {
  Calibration calibration;
  std::vector<double> drawn(rows);
  for (double& score : drawn) score = scores(0, random);
  calibration.add(0, drawn);
  return calibration;
}

struct Simulation {
  std::size_t calibration_rows = 100;
  std::uint64_t rows = 300;
  double rate = 0.1;
};

/// Number of streams with an alarm.
std::uint64_t alarms(std::uint64_t streams, const Simulation& simulation, const Scores& scores) {
  std::uint64_t found = 0;
  for (std::uint64_t s = 0; s < streams; ++s) {
    Random random(1000 + s);
    ExchangeabilityMonitor monitor(calibration_of(simulation.calibration_rows, scores, random),
                                   {.false_alarm_rate = simulation.rate, .seed = s});
    for (std::uint64_t t = 1; t <= simulation.rows && !monitor.alarm(); ++t) monitor.observe(scores(t, random));
    found += monitor.alarm() ? 1U : 0U;
  }
  return found;
}

struct Law {
  const char* name;
  Simulation simulation;
  Scores scores;
};

std::vector<Law> laws() {
  const Scores continuous = [](std::uint64_t, Random& random) { return error(random); };
  return {
      {"continuous scores", {}, continuous},
      {"few calibration rows", {.calibration_rows = 3}, continuous},
      {"no calibration rows", {.calibration_rows = 0}, continuous},
      {"a rate of 0.01", {.rate = 0.01}, continuous},
      {"ten values", {}, [](std::uint64_t, Random& random) { return static_cast<double>(random.below(10)); }},
      {"two values, one of them rare",
       {},
       [](std::uint64_t, Random& random) { return random.below(50) == 0 ? kInfinity : 0.0; }},
      {"one value", {}, [](std::uint64_t, Random&) { return 1.0; }},
      {"half ties", {}, [](std::uint64_t, Random& random) { return random.below(2) == 0 ? 0.5 : random.uniform(); }},
  };
}

TEST(ExchangeabilityMonitor, RaisesAFalseAlarmAtMostAtItsRate) {
  const std::uint64_t streams = slow_repeats(2000);
  for (const Law& law : laws()) {
    const std::uint64_t found = alarms(streams, law.simulation, law.scores);
    std::printf("%-30s %llu of %llu streams, rate %g\n", law.name, static_cast<unsigned long long>(found),
                static_cast<unsigned long long>(streams), law.simulation.rate);
    EXPECT_LE(found, binomial_upper_bound(streams, law.simulation.rate, kAlarmFailure)) << law.name;
  }
}

TEST(ExchangeabilityMonitor, RaisesFewFalseAlarmsBeyondItsMarks) {
  // More calibration rows than marks, and marks that become complete during the stream.
  for (const std::size_t rows : {std::size_t{20'000}, ExchangeabilityMonitor::kMaxMarks - 50}) {
    const std::uint64_t streams = slow_repeats(200);
    const std::uint64_t found =
        alarms(streams, {.calibration_rows = rows, .rows = 2000},
               [](std::uint64_t, Random& random) { return random.below(3) == 0 ? 0.5 : error(random); });
    EXPECT_LE(found, binomial_upper_bound(streams, 0.1, kAlarmFailure)) << rows;
  }
}

/// The correlation of the p-values of two rows of a stream, over many streams with few calibration rows.
double correlation(const std::function<void(Random& random, double& first, double& second)>& draw) {
  constexpr int kStreams = 20'000;
  double product = 0;
  Random random(5);
  for (int s = 0; s < kStreams; ++s) {
    double first = 0;
    double second = 0;
    draw(random, first, second);
    product += (first - 0.5) * (second - 0.5);
  }
  return 12 * product / kStreams;
}

TEST(ExchangeabilityMonitor, HasIndependentPValuesWhichTheCalibrationAloneDoesNotGive) {
  const Scores scores = [](std::uint64_t, Random& random) { return error(random); };
  std::uint64_t seed = 0;
  const double online = correlation([&](Random& random, double& first, double& second) {
    ExchangeabilityMonitor monitor(calibration_of(4, scores, random), {.seed = ++seed});
    first = monitor.observe(error(random));
    second = monitor.observe(error(random));
  });
  const double fixed = correlation([&](Random& random, double& first, double& second) {
    const SortedScores sorted(calibration_of(4, scores, random));
    const auto smoothed = [&](double score) { return sorted.p_value(score) - random.uniform() / 5; };
    first = smoothed(error(random));
    second = smoothed(error(random));
  });
  // Six standard deviations are 0.042.
  EXPECT_NEAR(online, 0, 0.042);
  EXPECT_GT(fixed, 0.1);
}

TEST(ExchangeabilityMonitor, HasUniformPValuesBeyondItsMarks) {
  Random random(6);
  ExchangeabilityMonitor monitor(
      calibration_of(30'000, [](std::uint64_t, Random& draws) { return error(draws); }, random));
  constexpr int kRows = 50'000;
  std::vector<std::uint64_t> bins(10);
  for (int t = 0; t < kRows; ++t) ++bins[static_cast<std::size_t>(10 * monitor.observe(error(random)))];
  for (const std::uint64_t count : bins) {
    EXPECT_GE(count, binomial_lower_bound(kRows, 0.1, kAlarmFailure));
    EXPECT_LE(count, binomial_upper_bound(kRows, 0.1, kAlarmFailure));
  }
}

TEST(ExchangeabilityMonitor, PValuesAreThoseOfAllEarlierRows) {
  Random random(7);
  Calibration calibration;
  calibration.add(0, std::vector<double>{3, 1, 2});
  ExchangeabilityMonitor monitor(calibration);
  std::vector<double> earlier = {3, 1, 2};
  for (int t = 0; t < 500; ++t) {
    const double score = static_cast<double>(random.below(30));
    const double p = monitor.observe(score);
    const auto above = static_cast<double>(std::ranges::count_if(earlier, [&](double one) { return one > score; }));
    const auto equal = static_cast<double>(std::ranges::count(earlier, score));
    const auto places = static_cast<double>(earlier.size() + 1);
    EXPECT_GT(p, above / places);
    EXPECT_LT(p, (above + equal + 1) / places);
    earlier.push_back(score);
  }
}

/// The median number of rows from a change to the alarm, over streams that change after `quiet` rows.
std::uint64_t median_delay(std::size_t calibration_rows, std::uint64_t quiet, const Scores& after) {
  constexpr std::uint64_t kStreams = 31;
  constexpr std::uint64_t kLongest = 20'000;
  std::vector<std::uint64_t> delays;
  for (std::uint64_t s = 0; s < kStreams; ++s) {
    Random random(77 + s);
    const Scores before = [](std::uint64_t, Random& draws) { return error(draws); };
    ExchangeabilityMonitor monitor(calibration_of(calibration_rows, before, random), {.seed = s});
    for (std::uint64_t t = 0; t < quiet; ++t) monitor.observe(error(random));
    std::uint64_t t = 1;
    while (t < kLongest && !(monitor.alarm() && monitor.alarm()->row > quiet)) monitor.observe(after(t++, random));
    delays.push_back(t);
  }
  std::ranges::nth_element(delays, delays.begin() + kStreams / 2);
  return delays[kStreams / 2];
}

TEST(ExchangeabilityMonitor, DetectsLargerAndSmallerErrorsAndDrift) {
  struct Change {
    const char* name;
    Scores after;
    std::uint64_t soon;  // limits of the median delay after 0 and 10,000 quiet rows
    std::uint64_t quiet;
  };
  const auto times = [](double factor) {
    return [=](std::uint64_t, Random& random) { return factor * error(random); };
  };
  const std::vector<Change> changes = {
      {"noise times 2", times(2), 40, 60},
      {"noise times 1.5", times(1.5), 100, 130},
      {"noise times 1.2", times(1.2), 500, 750},
      {"noise times 0.5", times(0.5), 70, 120},
      {"drift of 0.1% per row",
       [](std::uint64_t t, Random& random) { return (1 + 0.001 * static_cast<double>(t)) * error(random); }, 500, 550},
  };
  std::printf("median rows until the alarm, 1,000 calibration rows: at once, after 10,000 rows without a change\n");
  for (const Change& change : changes) {
    const std::uint64_t soon = median_delay(1000, 0, change.after);
    const std::uint64_t quiet = median_delay(1000, 10'000, change.after);
    std::printf("%-24s %6d %6d\n", change.name, static_cast<int>(soon), static_cast<int>(quiet));
    EXPECT_LE(soon, change.soon) << change.name;
    EXPECT_LE(quiet, change.quiet) << change.name;
  }
}

TEST(ExchangeabilityMonitor, RemembersTheFirstAlarmAndItsDirection) {
  for (const double factor : {3.0, 0.3}) {
    Random random(8);
    ExchangeabilityMonitor monitor(
        calibration_of(1000, [](std::uint64_t, Random& draws) { return error(draws); }, random));
    EXPECT_EQ(monitor.log_martingale(), 0);
    EXPECT_NE(monitor.summary().find("No alarm"), std::string::npos);
    for (int t = 0; t < 300; ++t) monitor.observe(error(random));
    EXPECT_FALSE(monitor.alarm());
    for (int t = 0; t < 300; ++t) monitor.observe(factor * error(random));
    ASSERT_TRUE(monitor.alarm());
    const ExchangeabilityAlarm first = *monitor.alarm();
    EXPECT_GT(first.row, 300U);
    EXPECT_EQ(first.larger, factor > 1);
    EXPECT_GE(monitor.highest_log_martingale(), std::log(100));
    for (int t = 0; t < 20'000; ++t) monitor.observe(error(random));
    EXPECT_EQ(monitor.alarm()->row, first.row);
    EXPECT_LT(monitor.log_martingale(), monitor.highest_log_martingale());
    EXPECT_NE(monitor.summary().find(factor > 1 ? "errors are larger" : "errors are smaller"), std::string::npos);
  }
}

TEST(ExchangeabilityMonitor, NeverOverflows) {
  Random random(9);
  ExchangeabilityMonitor monitor(
      calibration_of(100'000, [](std::uint64_t, Random& draws) { return error(draws); }, random));
  for (int t = 0; t < 5000; ++t) monitor.observe(kInfinity);
  EXPECT_TRUE(std::isfinite(monitor.log_martingale()));
  EXPECT_GT(monitor.log_martingale(), 1000);  // e^1000 is not a double
}

TEST(ExchangeabilityMonitor, RanksRowsWithinTheirGroup) {
  Random random(10);
  Calibration calibration;
  std::vector<double> scores;
  std::vector<std::int64_t> groups;
  for (int i = 0; i < 2000; ++i) {
    groups.push_back(i % 2);
    scores.push_back((i % 2 == 0 ? 1 : 10) * error(random));
  }
  calibration.add(0, scores, {}, {}, groups);
  ExchangeabilityMonitor monitor(calibration);
  // All rows are of the noisy group: not exchangeable with all calibration rows, but with those of the group.
  for (int t = 0; t < 2000; ++t) monitor.observe(10 * error(random), 1);
  EXPECT_FALSE(monitor.alarm());
  EXPECT_TRUE(std::isnan(monitor.observe(1e9, 7)));
  EXPECT_EQ(monitor.rows(), 2001U);
  for (int t = 0; t < 200; ++t) monitor.observe(10 * error(random), 0);
  EXPECT_TRUE(monitor.alarm());
}

TEST(ExchangeabilityMonitor, InvalidInputsAreRefused) {
  const Calibration empty;
  for (const double rate : {0.0, 1.0, -0.1, 2.0, kNaN}) {
    expect_error(ErrorCode::kInvalidArgument, "false-alarm rate between 0 and 1",
                 [&] { ExchangeabilityMonitor(empty, {.false_alarm_rate = rate}); });
  }
  Calibration weighted;
  weighted.add(0, {.score = 1, .weight = 2});
  expect_error(ErrorCode::kInvalidArgument, "weights", [&] { ExchangeabilityMonitor{weighted}; });
  Calibration clustered;
  clustered.add(0, std::vector<double>{1, 2}, {}, {}, {}, std::vector<std::int64_t>{5, 6});
  expect_error(ErrorCode::kInvalidArgument, "clusters", [&] { ExchangeabilityMonitor{clustered}; });
  ExchangeabilityMonitor monitor(empty);
  const ExchangeabilityMonitor before = monitor;
  expect_error(ErrorCode::kNotFinite, "NaN", [&] { monitor.observe(kNaN); });
  EXPECT_EQ(monitor, before);
}

// --- bytes

/// States with and without groups, before and after an alarm, with rows between marks.
std::vector<ExchangeabilityMonitor> some_states() {
  std::vector<ExchangeabilityMonitor> states;
  for (const std::size_t calibration_rows : {0U, 20U, 5000U}) {
    for (const int rows : {0, 1, 200}) {
      Random random(11);
      ExchangeabilityMonitor monitor(
          calibration_of(
              calibration_rows, [](std::uint64_t, Random& draws) { return error(draws); }, random),
          {.seed = 3});
      for (int t = 0; t < rows; ++t) monitor.observe(t % 50 == 3 ? kInfinity : 2 * error(random));
      states.push_back(std::move(monitor));
    }
  }
  Calibration grouped;
  grouped.add(0, std::vector<double>{1, 2, 3}, {}, {}, std::vector<std::int64_t>{-5, 9, 9});
  states.emplace_back(grouped);
  states.back().observe(2, 9);
  return states;
}

TEST(ExchangeabilityMonitorBytes, ResumeWhereTheyEnded) {
  for (ExchangeabilityMonitor& monitor : some_states()) {
    ExchangeabilityMonitor read = ExchangeabilityMonitor::deserialise(monitor.serialise());
    ASSERT_EQ(read, monitor);
    EXPECT_EQ(read.log_martingale(), monitor.log_martingale());
    Random random(12);
    for (int t = 0; t < 300; ++t) {
      const double score = error(random);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(read.observe(score)),
                std::bit_cast<std::uint64_t>(monitor.observe(score)));
    }
    EXPECT_EQ(read, monitor);
  }
}

TEST(ExchangeabilityMonitorBytes, NoFlippedBitIsRead) {
  for (const ExchangeabilityMonitor& monitor : some_states()) {
    const std::vector<std::byte> bytes = monitor.serialise();
    if (bytes.size() > 20'000) continue;
    expect_flips_are_refused(bytes, [](const auto& changed) { (void)ExchangeabilityMonitor::deserialise(changed); });
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_THROW((void)ExchangeabilityMonitor::deserialise(std::span(bytes).first(i)), Error) << i;
    }
  }
}

TEST(ExchangeabilityMonitorBytes, BytesWithTheRightChecksumAreNotTrusted) {
  Random random(15);
  int accepted = 0;
  int refused = 0;
  for (const ExchangeabilityMonitor& monitor : some_states()) {
    const std::vector<std::byte> bytes = monitor.serialise();
    std::vector<std::uint64_t> words(bytes.size() / 8);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    for (int trial = 0; trial < 500; ++trial) {
      std::vector<std::uint64_t> forged = words;
      const std::uint64_t reach = std::min<std::uint64_t>(words.size() - 1, 24);
      std::uint64_t& word = forged[random.below(random.below(3) == 0 ? words.size() - 1 : reach)];
      forge_word(word, random);
      internal::seal_words(std::as_writable_bytes(std::span(forged)));
      const auto forged_bytes = std::as_bytes(std::span(forged));
      try {
        ExchangeabilityMonitor read = ExchangeabilityMonitor::deserialise(forged_bytes);
        ++accepted;
        ASSERT_TRUE(std::ranges::equal(read.serialise(), forged_bytes));
        if (read.rows() > 1'000'000'000) continue;  // there may be no room for more
        for (const double score : {0.5, kInfinity, -kInfinity}) ASSERT_FALSE(read.observe(score) < 0);
        ASSERT_FALSE(std::isnan(read.log_martingale()));
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kBadData) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace widthwise
