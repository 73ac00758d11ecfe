#include <widthwise/online.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model.hpp>
#include <widthwise/random.hpp>
#include <widthwise/track.hpp>

#include "base/words.hpp"
#include "support/bit_flips.hpp"
#include "support/errors.hpp"
#include "support/forged_words.hpp"
#include "support/model_examples.hpp"
#include "support/numbers.hpp"
#include "support/rule_cases.hpp"

namespace widthwise {
namespace {

constexpr OnlineMethod kMethods[] = {OnlineMethod::kAdaptive, OnlineMethod::kDecaying};

Calibration calibration_with(const std::vector<double>& scores) {
  Calibration calibration;
  calibration.add(0, scores);
  return calibration;
}

std::vector<double> uniform_scores(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> scores(n);
  for (double& score : scores) score = random.uniform();
  return scores;
}

double misses(const OnlineCoverage& coverage) { return static_cast<double>(coverage.rows - coverage.covered); }
double share(std::uint64_t part, std::uint64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

TEST(OnlineCalibration, BeginsWithTheQuantilesOfTheCalibration) {
  for (const std::size_t n : {9U, 10U, 99U, 500U, 1000U}) {
    const Calibration calibration = calibration_with(uniform_scores(n, n));
    for (const OnlineMethod method : kMethods) {
      const std::vector<Level> levels = {0.9, 0.5, 0.123};
      const OnlineCalibration online(calibration, levels, {.method = method});
      for (std::size_t j = 0; j < levels.size(); ++j) {
        EXPECT_EQ(online.quantile(j), SortedScores(calibration).quantile(levels[j])) << n;
        EXPECT_EQ(online.miss_rate(j), levels[j].complement().value());
      }
    }
  }
}

TEST(OnlineCalibration, AnAdaptiveOneNeedsNoCalibration) {
  OnlineCalibration online(Calibration(), {0.5}, {.window_rows = 3});
  EXPECT_EQ(online.quantile(0), kInfinity);
  for (const double score : {1.0, 2.0, 3.0}) online.observe(score);
  EXPECT_EQ(online.coverage(0).covered, 1U);  // the first; each score after it lies above all before
  EXPECT_EQ(online.quantile(0), 3);
}

TEST(OnlineCalibration, TheQuantileIsOfTheWindowAtTheRateAimedAt) {
  Random random(1);
  const std::vector<double> start = uniform_scores(30, 2);
  OnlineCalibration online(calibration_with(start), {0.8, 0.6}, {.step = 0.05, .window_rows = 50});
  std::deque<double> window_rows;
  for (const CalibrationRow& row : calibration_with(start).rows(0)) window_rows.push_back(row.score);
  std::vector<double> rates = {0.2, 0.4};
  for (int t = 0; t < 2000; ++t) {
    std::vector<double> sorted(window_rows.begin(), window_rows.end());
    std::ranges::sort(sorted);
    // Few values, so that there are ties; sometimes infinite.
    const double score = random.below(20) == 0 ? kInfinity : static_cast<double>(random.below(40)) / 20;
    for (std::size_t j = 0; j < 2; ++j) {
      ASSERT_NEAR(online.miss_rate(j), rates[j], 1e-9);
      // The rank where rounding does not decide it.
      const double rank = static_cast<double>(sorted.size() + 1) * (1 - rates[j]);
      const auto quantile_at = [&](double r) {
        return r > static_cast<double>(sorted.size()) ? kInfinity : sorted[static_cast<std::size_t>(r) - 1];
      };
      const double q = online.quantile(j);
      const bool sharp = std::abs(rank - std::round(rank)) > 1e-6;
      if (rates[j] > 1e-9 && rates[j] < 1 - 1e-9 && sharp) {
        ASSERT_EQ(q, quantile_at(std::ceil(rank))) << t;
      }
      rates[j] += 0.05 * ((j == 0 ? 0.2 : 0.4) - (score > q || online.miss_rate(j) >= 1 ? 1 : 0));
    }
    online.observe(score);
    window_rows.push_back(score);
    if (window_rows.size() > 50) window_rows.pop_front();
  }
}

TEST(OnlineCalibration, ARateOfNoMissesIsTheWholeLineAndOneOfMissesAloneThePrediction) {
  OnlineCalibration online(calibration_with(uniform_scores(100, 3)), {0.9}, {.step = 0.2});
  online.observe(kInfinity);
  EXPECT_LE(online.miss_rate(0), 0);
  EXPECT_EQ(online.quantile(0), kInfinity);
  online.observe(kInfinity);  // no score lies above an infinite q
  EXPECT_EQ(misses(online.coverage(0)), 1);

  OnlineCalibration easy(calibration_with(uniform_scores(100, 3)), {0.1}, {.step = 0.2});
  while (easy.miss_rate(0) < 1) easy.observe(-kInfinity);
  EXPECT_EQ(easy.quantile(0), -kInfinity);
  const double before = misses(easy.coverage(0));
  easy.observe(-kInfinity);  // the set is empty: even this is a miss
  EXPECT_EQ(misses(easy.coverage(0)), before + 1);
}

/// Adversarial scores in [0, 1], chosen with knowledge of q.
using Adversary = std::function<double(double q, std::uint64_t t, Random& random)>;

std::vector<Adversary> adversaries() {
  const auto above = [](double q) { return q < 1 ? (q < 0 ? 0.0 : std::nextafter(q, 2.0)) : 1.0; };
  const auto below = [](double q) { return std::clamp(q, 0.0, 1.0); };
  return {
      [=](double q, std::uint64_t, Random&) { return above(q); },
      [=](double q, std::uint64_t, Random&) { return below(q); },
      [](double, std::uint64_t, Random&) { return 1.0; },
      [](double, std::uint64_t, Random&) { return 0.0; },
      [](double, std::uint64_t, Random&) { return 0.5; },
      [=](double q, std::uint64_t t, Random&) { return t / 500 % 2 == 0 ? above(q) : below(q); },
      [](double, std::uint64_t t, Random&) { return t / 1000 % 2 == 0 ? 0.0 : 1.0; },
      [](double, std::uint64_t t, Random& random) { return t < 3000 ? 0.1 * random.uniform() : random.uniform(); },
      [](double, std::uint64_t t, Random&) { return static_cast<double>(t) / 6000; },
      [=](double q, std::uint64_t, Random& random) { return random.below(3) == 0 ? above(q) : below(q); },
  };
}

TEST(OnlineCalibration, AdaptiveMissesAreWithinTheirBoundWhateverTheScores) {
  for (const Adversary& adversary : adversaries()) {
    for (const double value : {0.9, 0.5, 0.05, 0.99}) {
      for (const double step : {0.001, 0.005, 0.1, 2.0}) {
        const double alpha = Level(value).complement().value();
        OnlineCalibration online(calibration_with(uniform_scores(200, 4)), {value}, {.step = step, .window_rows = 100});
        Random random(5);
        for (std::uint64_t t = 0; t < 6000; ++t) {
          online.observe(adversary(online.quantile(0), t, random));
          const double reach = std::max(alpha + step * (1 - alpha), 1 - alpha + step * alpha);
          const double rows = static_cast<double>(t + 1);
          ASSERT_LE(std::abs(misses(online.coverage(0)) / rows - alpha), reach / (step * rows) + 1e-12)
              << value << " " << step << " " << t;
        }
      }
    }
  }
}

TEST(OnlineCalibration, DecayingMissesAreWithinTheirBoundForBoundedScores) {
  for (const Adversary& adversary : adversaries()) {
    for (const double value : {0.9, 0.5, 0.05, 0.99}) {
      for (const double step : {0.1, 1.0, 5.0}) {
        const double alpha = Level(value).complement().value();
        OnlineCalibration online(calibration_with(uniform_scores(200, 6)), {value},
                                 {.method = OnlineMethod::kDecaying, .step = step});
        Random random(7);
        double first_step = 0;
        for (std::uint64_t t = 0; t < 6000; ++t) {
          const double before = online.quantile(0);
          const double missed = misses(online.coverage(0));
          online.observe(adversary(before, t, random));
          const double error = misses(online.coverage(0)) - missed - alpha;
          const double eta = (online.quantile(0) - before) / error;
          if (t == 0) first_step = eta;
          ASSERT_LE(eta, first_step * (1 + 1e-6));
          const double rows = static_cast<double>(t + 1);
          ASSERT_LE(std::abs(misses(online.coverage(0)) / rows - alpha), (1 + first_step) / (eta * rows) * (1 + 1e-6))
              << value << " " << step << " " << t;
        }
      }
    }
  }
}

/// Scores |noise| whose spread jumps, after a calibration without the jump.
struct Jump {
  Calibration calibration;
  std::vector<double> stream;

  Jump(std::size_t rows, double factor, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> scores(1000);
    for (double& score : scores) score = std::abs(random.normal());
    calibration = calibration_with(scores);
    for (std::size_t t = 0; t < rows; ++t) {
      stream.push_back((t < rows / 3 ? 1 : factor) * std::abs(random.normal()));
    }
  }
};

TEST(OnlineCalibration, AJumpInTheNoiseIsFollowed) {
  const Jump jump(10'000, 2, 8);
  for (const OnlineMethod method : kMethods) {
    const std::vector<Level> levels = {0.8, 0.9, 0.95};
    OnlineCalibration online(jump.calibration, levels, {.method = method});
    for (const double score : jump.stream) online.observe(score);
    for (std::size_t j = 0; j < levels.size(); ++j) {
      const OnlineCoverage found = online.coverage(j);
      EXPECT_NEAR(share(found.covered, found.rows), levels[j].value(), 0.01) << name_of(method);
      EXPECT_LT(share(found.covered_fixed, found.rows), levels[j].value() - 0.03);
      EXPECT_EQ(found.recent_rows, 1000U);
      EXPECT_NEAR(share(found.recent_covered, found.recent_rows), levels[j].value(), 0.03) << name_of(method);
    }
  }
}

TEST(OnlineCalibration, WithoutDriftItCoversAsTheCalibrationDoes) {
  const Jump none(10'000, 1, 9);
  for (const OnlineMethod method : kMethods) {
    OnlineCalibration online(none.calibration, {0.9}, {.method = method});
    double width = 0;
    for (const double score : none.stream) {
      width += std::min(online.quantile(0), 10.0) / 10'000;
      online.observe(score);
    }
    EXPECT_NEAR(share(online.coverage(0).covered, 10'000), 0.9, 0.01);
    EXPECT_NEAR(width, 1.6449, 0.05) << name_of(method);  // the quantile of |normal|
  }
}

TEST(OnlineCalibration, LevelsAreIndependent) {
  const Jump jump(3000, 3, 10);
  for (const OnlineMethod method : kMethods) {
    OnlineCalibration both(jump.calibration, {0.9, 0.6}, {.method = method});
    OnlineCalibration alone(jump.calibration, {0.6}, {.method = method});
    for (const double score : jump.stream) {
      ASSERT_EQ(both.quantile(1), alone.quantile(0));
      both.observe(score);
      alone.observe(score);
    }
  }
}

TEST(OnlineCalibration, RefusesInvalidOptions) {
  const Calibration calibration = calibration_with(uniform_scores(50, 11));
  const auto refusal = [&](const std::vector<Level>& levels, const OnlineOptions& options) {
    return message_of([&] { OnlineCalibration(calibration, levels, options); }, ErrorCode::kInvalidArgument);
  };
  for (const double step : {0.0, -1.0, 10.5, kNaN, kInfinity}) {
    EXPECT_NE(refusal({0.9}, {.step = step}).find("expected a step above 0 and up to 10"), std::string::npos);
  }
  EXPECT_NE(refusal({0.9}, {.window_rows = 0}).find("expected a window of 1 to 1,000,000 rows"), std::string::npos);
  EXPECT_NE(refusal({0.9}, {.window_rows = 1'000'001}).find("1000001"), std::string::npos);
  EXPECT_NE(refusal({}, {}).find("at least one level"), std::string::npos);
  EXPECT_NE(refusal({0.9, 0.8, 0.9}, {}).find("twice"), std::string::npos);
  EXPECT_NE(refusal({0.99}, {.window_rows = 98}).find("98 rows is too short for level 0.99, which needs 99 rows"),
            std::string::npos);
  EXPECT_NE(message_of([] { (void)online_method_of("fixed"); }, ErrorCode::kInvalidArgument).find("'fixed'"),
            std::string::npos);

  EXPECT_NE(message_of([&] { OnlineCalibration(calibration, {0.99}, {.method = OnlineMethod::kDecaying}); },
                       ErrorCode::kTooFewRows)
                .find("needs 99 rows, the calibration has 50"),
            std::string::npos);
  Calibration grouped;
  grouped.add(0, {.score = 1, .group = 1});
  EXPECT_NE(message_of([&] { OnlineCalibration(grouped, {0.9}); }, ErrorCode::kInvalidArgument).find("groups"),
            std::string::npos);
  Calibration weighted;
  weighted.add(0, {.score = 1, .weight = 2});
  EXPECT_NE(message_of([&] { OnlineCalibration(weighted, {0.9}); }, ErrorCode::kInvalidArgument).find("weights"),
            std::string::npos);

  OnlineCalibration online(calibration, {0.9});
  const OnlineCalibration before = online;
  EXPECT_NE(message_of([&] { online.observe(kNaN); }, ErrorCode::kNotFinite).find("NaN"), std::string::npos);
  EXPECT_EQ(online, before);
}

TEST(OnlineCalibration, TiesInTheCalibrationStillGiveADecayingStep) {
  for (const double tied : {0.0, 3.0}) {
    OnlineCalibration online(calibration_with(std::vector<double>(100, tied)), {0.9},
                             {.method = OnlineMethod::kDecaying});
    online.observe(tied + 1);
    EXPECT_GT(online.quantile(0), tied);
  }
}

// --- batches and delay

/// Issues batches of `batch` rows and observes each when `delay` more were issued; the adversary knows the quantile
/// that its rows were issued with. `check` is called after every batch observed.
template <class Check>
void follow(OnlineCalibration& online, const Adversary& adversary, std::size_t batch, std::size_t delay,
            std::uint64_t rows, const Check& check) {
  struct Batch {
    std::uint64_t number;
    std::vector<double> scores;
  };
  Random random(22);
  std::deque<Batch> waiting;
  for (std::uint64_t t = 0; t < rows; t += batch) {
    const double q = online.quantile(0);
    Batch issued{online.issue(batch), {}};
    for (std::uint64_t i = 0; i < batch; ++i) issued.scores.push_back(adversary(q, t + i, random));
    waiting.push_back(std::move(issued));
    if (waiting.size() <= delay) continue;
    online.observe(waiting.front().number, waiting.front().scores);
    waiting.pop_front();
    check();
  }
}

constexpr std::pair<std::size_t, std::size_t> kBatchesAndDelays[] = {{1, 0},  {1, 7},   {1, 300}, {24, 0},
                                                                     {24, 3}, {500, 0}, {500, 2}};

TEST(OnlineBatches, AdaptiveMissesAreWithinTheirBoundWhateverTheScores) {
  for (const auto& [batch, delay] : kBatchesAndDelays) {
    const auto longest = static_cast<double>(batch * (delay + 1));
    for (const Adversary& adversary : adversaries()) {
      for (const double value : {0.9, 0.05, 0.99}) {
        for (const double step : {0.005, 0.5}) {
          const double alpha = Level(value).complement().value();
          OnlineCalibration online(calibration_with(uniform_scores(200, 4)), {value},
                                   {.step = step, .window_rows = 100});
          const double minimum = step * std::min(1.0, 20 / longest);
          follow(online, adversary, batch, delay, 3000, [&] {
            const double excess = misses(online.coverage(0)) - alpha * static_cast<double>(online.rows());
            ASSERT_LE(excess, alpha / minimum + (1 - alpha) * longest + 1e-6) << batch << " " << delay << " " << value;
            ASSERT_GE(excess, -(1 - alpha) / minimum - alpha * longest - 1e-6) << batch << " " << delay << " " << value;
          });
          EXPECT_EQ(online.longest_delay(), batch * (delay + 1));
          EXPECT_DOUBLE_EQ(online.delay(), longest);
        }
      }
    }
  }
}

TEST(OnlineBatches, DecayingMissesAreWithinTheirBoundForBoundedScores) {
  for (const auto& [batch, delay] : kBatchesAndDelays) {
    const auto longest = static_cast<double>(batch * (delay + 1));
    const double pace = std::max(1.0, longest / 20);
    for (const Adversary& adversary : adversaries()) {
      for (const double value : {0.9, 0.05, 0.99}) {
        const double alpha = Level(value).complement().value();
        OnlineCalibration online(calibration_with(uniform_scores(200, 6)), {value},
                                 {.method = OnlineMethod::kDecaying});
        OnlineCalibration probe = online;
        probe.observe(kInfinity);
        const double scale = (probe.quantile(0) - online.quantile(0)) / (1 - alpha) * std::pow(101.0, 0.6);
        const auto eta = [&](double row) { return scale / pace * std::pow(row / pace + 101, -0.6); };
        follow(online, adversary, batch, delay, 3000, [&] {
          const auto rows = static_cast<double>(online.rows());
          ASSERT_LE(std::abs(misses(online.coverage(0)) - alpha * rows),
                    (1 + eta(0) * longest) / eta(rows - 1) * (1 + 1e-6))
              << batch << " " << delay << " " << value;
        });
      }
    }
  }
}

TEST(OnlineBatches, TheOrderInWhichOutcomesComeDoesNotChangeMissesNorTheLevel) {
  for (const OnlineMethod method : kMethods) {
    OnlineCalibration issued(calibration_with(uniform_scores(200, 23)), {0.9, 0.5},
                             {.method = method, .window_rows = 400});
    std::vector<std::pair<std::uint64_t, std::vector<double>>> batches;
    Random random(24);
    for (std::uint64_t b = 1; b <= 5; ++b) {
      batches.emplace_back(issued.issue(b), uniform_scores(b, random.bits()));
      if (b == 3) issued.observe(2.0);  // so that the batches do not all have one quantile
    }
    OnlineCalibration in_order = issued;
    for (const auto& [number, scores] : batches) in_order.observe(number, scores);
    for (int trial = 0; trial < 20; ++trial) {
      random.shuffle(std::span(batches));
      OnlineCalibration online = issued;
      for (const auto& [number, scores] : batches) online.observe(number, scores);
      for (std::size_t j = 0; j < 2; ++j) {
        EXPECT_EQ(online.coverage(j).covered, in_order.coverage(j).covered);
        EXPECT_EQ(online.coverage(j).covered_fixed, in_order.coverage(j).covered_fixed);
        EXPECT_EQ(online.miss_rate(j), in_order.miss_rate(j));
        // Decaying steps are those of the order in which outcomes came.
        if (method == OnlineMethod::kAdaptive) {
          EXPECT_EQ(online.quantile(j), in_order.quantile(j));
        }
      }
      EXPECT_EQ(online.longest_delay(), in_order.longest_delay());
      EXPECT_TRUE(online.pending().empty());
    }
  }
}

TEST(OnlineBatches, OutcomesOfABatchMayComeInAnyNumberOfCalls) {
  for (const OnlineMethod method : kMethods) {
    OnlineCalibration whole(calibration_with(uniform_scores(50, 25)), {0.9}, {.method = method, .window_rows = 30});
    OnlineCalibration parts = whole;
    for (std::uint64_t t = 0; t < 30; ++t) {
      const std::vector<double> scores = uniform_scores(100, t);
      whole.observe(whole.issue(100), scores);
      const std::uint64_t batch = parts.issue(100);
      parts.observe(batch, std::span(scores).first(3));
      parts.observe(batch, {});
      parts.observe(batch, std::span(scores).subspan(3, 70));
      EXPECT_EQ(parts.pending().at(0).rows, 27U);
      parts.observe(batch, std::span(scores).subspan(73));
      ASSERT_EQ(parts, whole);
    }
  }
}

TEST(OnlineBatches, OneRowAtATimeIsABatchOfOneRow) {
  for (const OnlineMethod method : kMethods) {
    OnlineCalibration alone(calibration_with(uniform_scores(50, 26)), {0.9, 0.3},
                            {.method = method, .window_rows = 30, .false_alarm_rate = 0});
    OnlineCalibration issued = alone;
    for (const double score : uniform_scores(500, 27)) {
      alone.observe(score);
      const std::vector<double> one = {score};
      issued.observe(issued.issue(1), one);
    }
    EXPECT_EQ(alone, issued);
  }
}

TEST(OnlineBatches, TheAlarmIsThatOfTheRowsInTheOrderObserved) {
  const Calibration calibration = calibration_with(uniform_scores(50, 26));
  OnlineCalibration online(calibration, {0.9});
  ExchangeabilityMonitor monitor(calibration);
  const std::vector<double> scores = uniform_scores(90, 27);
  const std::uint64_t first = online.issue(30);
  const std::uint64_t second = online.issue(60);
  online.observe(second, std::span(scores).first(60));
  online.observe(first, std::span(scores).last(30));
  for (const double score : scores) monitor.observe(score);
  EXPECT_EQ(*online.exchangeability(), monitor);
  for (int t = 0; t < 50; ++t) online.observe(2);
  ASSERT_TRUE(online.exchangeability()->alarm());
  EXPECT_GT(online.exchangeability()->alarm()->row, 90U);
  // The quantiles are those without an alarm.
  OnlineCalibration without(calibration, {0.9}, {.false_alarm_rate = 0});
  EXPECT_FALSE(without.exchangeability());
  OnlineCalibration with(calibration, {0.9});
  for (const double score : scores) {
    ASSERT_EQ(with.quantile(0), without.quantile(0));
    with.observe(score);
    without.observe(score);
  }
  expect_error(ErrorCode::kInvalidArgument, "false-alarm rate",
               [&] { OnlineCalibration(calibration, {0.9}, {.false_alarm_rate = 1}); });
}

TEST(OnlineBatches, RowsThatAreNeverObservedDoNotCount) {
  OnlineCalibration some(calibration_with(uniform_scores(100, 28)), {0.9});
  OnlineCalibration all = some;
  for (const double score : uniform_scores(2000, 29)) {
    (void)some.issue(1);  // its outcome is lost
    some.observe(score);
    all.observe(score);
    ASSERT_EQ(some.quantile(0), all.quantile(0));
  }
  EXPECT_EQ(some.delay(), 1);
  EXPECT_EQ(some.coverage(0).covered, all.coverage(0).covered);
  EXPECT_EQ(some.rows_issued(), 4000U);
  ASSERT_EQ(some.pending().size(), 2000U);
  for (const PendingBatch& batch : some.pending()) some.drop(batch.number);
  EXPECT_TRUE(some.pending().empty());
  EXPECT_EQ(some.rows_issued(), 4000U);
}

TEST(OnlineBatches, PendingBatchesAreBounded) {
  OnlineCalibration online(calibration_with(uniform_scores(100, 30)), {0.9});
  for (std::size_t i = 0; i < OnlineCalibration::kMaxPendingBatches + 5; ++i) (void)online.issue(2);
  EXPECT_EQ(online.pending().size(), OnlineCalibration::kMaxPendingBatches);
  EXPECT_EQ(online.pending().front().number, 10U);
  const std::string message = message_of([&] { online.drop(0); }, ErrorCode::kInvalidArgument);
  EXPECT_NE(message.find("batch 0 has no pending rows: its outcomes were observed, or it was dropped"),
            std::string::npos);
}

TEST(OnlineBatches, RefusesRowsThatWereNotIssued) {
  OnlineCalibration online(calibration_with(uniform_scores(100, 31)), {0.9, 0.8});
  const std::uint64_t batch = online.issue(3);
  const OnlineCalibration before = online;
  const std::vector<double> scores = {1, 2, 3, 4};
  const auto refusal = [&](auto&& call, ErrorCode code = ErrorCode::kInvalidArgument) {
    const std::string message = message_of(call, code);
    EXPECT_EQ(online, before);
    return message;
  };
  EXPECT_NE(refusal([&] { online.observe(batch, scores); }).find("4 rows of batch 0, which has 3 rows pending"),
            std::string::npos);
  EXPECT_NE(refusal([&] { online.observe(3, scores); }).find("batch 3 was not issued; the next batch is 3"),
            std::string::npos);
  EXPECT_NE(refusal([&] { (void)online.issue(0); }).find("at least one row"), std::string::npos);
  const std::vector<double> bad = {1, kNaN};
  EXPECT_NE(refusal([&] { online.observe(batch, bad); }, ErrorCode::kNotFinite).find("NaN"), std::string::npos);
  const std::vector<std::uint8_t> marks = {1, 1};
  EXPECT_NE(refusal([&] { online.observe(batch, std::span(scores).first(3), marks); }, ErrorCode::kShapeMismatch)
                .find("expected 6 coverage flags"),
            std::string::npos);
}

/// A sketch of a batch of rows with these hashes.
RowSketch batch_of(std::span<const std::uint64_t> hashes) {
  RowSketch rows(OnlineCalibration::kBatchCapacity);
  rows.add(hashes);
  return rows;
}

TEST(OnlineBatches, OnlyTheRowsOfABatchAreObservedEachOnce) {
  OnlineCalibration online(calibration_with(uniform_scores(100, 32)), {0.9});
  const std::vector<std::uint64_t> first = {7, 3, 3, 9};
  const std::vector<std::uint64_t> second = {11, 12};
  const std::uint64_t a = online.issue(batch_of(first));
  const std::uint64_t b = online.issue(batch_of(second));
  const std::vector<double> scores = {1, 2, 3, 4};
  const auto refusal = [&](std::uint64_t batch, std::vector<std::uint64_t> hashes) {
    const OnlineCalibration before = online;
    std::string message = message_of([&] { online.observe(batch, std::span(scores).first(hashes.size()), {}, hashes); },
                                     ErrorCode::kInvalidArgument);
    EXPECT_EQ(online, before);
    return message;
  };
  const char* const remedy =
      "; pass each row once, with the number of its batch and the features that it was issued with";
  EXPECT_EQ(refusal(a, {7, 11, 12}),
            std::string("OnlineCalibration: observe: 2 of 3 rows were issued in batch 4, not in batch 0") + remedy);
  EXPECT_EQ(refusal(b, {13}), std::string("OnlineCalibration: observe: 1 of 1 row was not issued in batch 4") + remedy);
  EXPECT_NE(refusal(a, {9, 9}).find("1 of 2 rows was already observed in batch 0"), std::string::npos);
  // A row that occurs twice is observed twice, in any order and in parts, also by a state that was saved.
  online.observe(a, std::span(scores).first(2), {}, std::vector<std::uint64_t>{3, 9});
  online = OnlineCalibration::deserialise(online.serialise());
  EXPECT_NE(refusal(a, {9}).find("1 of 1 row was already observed in batch 0"), std::string::npos);
  online.observe(a, std::span(scores).first(2), {}, std::vector<std::uint64_t>{3, 7});
  online.observe(b, std::span(scores).first(2), {}, second);
  EXPECT_TRUE(online.pending().empty());
}

TEST(OnlineBatches, LargeBatchesAreCheckedByASample) {
  OnlineCalibration online(calibration_with(uniform_scores(100, 33)), {0.9});
  Random random(34);
  const auto draw = [&] {
    std::vector<std::uint64_t> hashes(3 * OnlineCalibration::kBatchCapacity);
    for (std::uint64_t& hash : hashes) hash = random.bits();
    return hashes;
  };
  const std::vector<std::uint64_t> issued = draw();
  const std::vector<std::uint64_t> others = draw();
  const std::uint64_t batch = online.issue(batch_of(issued));
  const std::vector<double> scores(issued.size(), 0.5);
  EXPECT_NE(message_of([&] { online.observe(batch, scores, {}, others); }, ErrorCode::kInvalidArgument)
                .find("were not issued in batch 0"),
            std::string::npos);
  online.observe(batch, scores, {}, issued);
  EXPECT_EQ(online.rows(), issued.size());
}

/// The four streams of docs/mathematics.md: |normal| times a scale that depends on the row.
struct Stream {
  const char* name;
  std::function<double(double share, std::uint64_t t)> scale;
};

const std::vector<Stream>& streams() {
  static const std::vector<Stream> all = {
      {"calm", [](double, std::uint64_t) { return 1.0; }},
      {"slow growth", [](double share, std::uint64_t) { return 1 + 2 * share; }},
      {"weekly seasons",
       [](double, std::uint64_t t) {
         return 1 + 0.5 * std::sin(2 * 3.141592653589793 * static_cast<double>(t) / 168);
       }},
      {"alternating days", [](double, std::uint64_t t) { return t / 1000 % 2 == 0 ? 1.0 : 6.0; }},
  };
  return all;
}

/// The bound on misses beyond alpha T of the adaptive method at its default step.
double adaptive_bound(double alpha, double delay) {
  return alpha / (alpha / 20 * std::min(1.0, 20 / delay)) + (1 - alpha) * delay;
}

TEST(OnlineBatches, IssuedCoverageIsKeptOnFourStreams) {
  constexpr std::uint64_t kRows = 100'000;
  constexpr double kLevel = 0.9;
  std::puts("stream            batch  before: issued, reported   adaptive  infinite  decaying");
  for (const Stream& stream : streams()) {
    Random random(32);
    std::vector<double> start(1000);
    for (double& score : start) score = std::abs(random.normal());
    std::vector<double> scores(kRows);
    for (std::uint64_t t = 0; t < kRows; ++t) {
      scores[t] = stream.scale(share(t, kRows), t) * std::abs(random.normal());
    }
    const double range = *std::ranges::max_element(scores);
    // Without batches: a whole batch was issued with the quantile at its start, and scored row by row.
    OnlineCalibration before(calibration_with(start), {kLevel});
    std::map<std::uint64_t, std::pair<double, double>> issued_before;  // quantile, rows covered
    for (std::uint64_t t = 0; t < kRows; ++t) {
      for (const std::uint64_t batch : {1U, 24U, 1000U}) {
        auto& [q, covered] = issued_before[batch];
        if (t % batch == 0) q = before.quantile(0);
        covered += scores[t] <= q ? 1 : 0;
      }
      before.observe(scores[t]);
    }
    for (const std::uint64_t batch : {1U, 24U, 1000U}) {
      double coverage[2] = {};
      double infinite = 0;
      for (const OnlineMethod method : kMethods) {
        OnlineCalibration online(calibration_with(start), {kLevel}, {.method = method});
        std::uint64_t covered = 0;
        for (std::uint64_t t = 0; t < kRows; t += batch) {
          const auto part = std::span(scores).subspan(t, std::min(batch, kRows - t));
          const double issued = online.quantile(0);
          covered +=
              static_cast<std::uint64_t>(std::ranges::count_if(part, [&](double score) { return score <= issued; }));
          if (std::isinf(issued)) infinite += static_cast<double>(part.size());
          online.observe(online.issue(part.size()), part);
        }
        // The reported coverage is that of the issued intervals.
        ASSERT_EQ(online.coverage(0).covered, covered);
        ASSERT_EQ(online.rows(), kRows);
        const double found = share(covered, kRows);
        coverage[method == OnlineMethod::kAdaptive ? 0 : 1] = found;
        double bound = adaptive_bound(1 - kLevel, static_cast<double>(batch)) / kRows;
        if (method == OnlineMethod::kDecaying) {
          const double pace = std::max(1.0, static_cast<double>(batch) / 20);
          const double scale = 5.2;  // of |normal| near 0.9, the slope of its quantile function
          const auto eta = [&](double row) { return scale / pace * std::pow(row / pace + 101, -0.6); };
          bound = (range + eta(0) * static_cast<double>(batch)) / (eta(kRows) * kRows);
        }
        EXPECT_NEAR(found, kLevel, std::max(0.01, bound)) << stream.name << " " << batch << " " << name_of(method);
        // Stricter than the bound: the values measured on these streams.
        EXPECT_NEAR(found, kLevel, method == OnlineMethod::kAdaptive ? 0.005 : 0.02) << stream.name << " " << batch;
      }
      std::printf("%-16s %6d           %.3f     %.3f        %.3f     %.3f     %.3f\n", stream.name,
                  static_cast<int>(batch), issued_before[batch].second / kRows,
                  share(before.coverage(0).covered, kRows), coverage[0], infinite / kRows, coverage[1]);
    }
  }
}

// --- bytes

/// States of both methods, before, while and after the window fills, with and without an alarm.
std::vector<OnlineCalibration> some_calibrations() {
  std::vector<OnlineCalibration> states;
  for (const OnlineMethod method : kMethods) {
    for (const int rows : {0, 1, 64, 90, 500}) {
      OnlineCalibration online(calibration_with(uniform_scores(60, 12)), {0.9, Level::parse("0.0500000000000000001")},
                               {.method = method, .window_rows = 100, .false_alarm_rate = rows == 64 ? 0.01 : 0.0});
      Random random(13);
      for (int t = 0; t < rows; ++t) online.observe(t % 50 == 3 ? kInfinity : 2 * random.uniform());
      states.push_back(std::move(online));
    }
    // In batches, some of them pending, with intervals that cover more than their sets.
    for (const std::uint64_t batch : {1U, 40U}) {
      OnlineCalibration online(
          calibration_with(uniform_scores(60, 12)), {0.9, Level::parse("0.0500000000000000001")},
          {.method = method, .step = 0.5, .window_rows = 100, .false_alarm_rate = batch == 40 ? 0.01 : 0.0});
      Random random(13);
      for (int t = 0; t < 12; ++t) {
        const std::uint64_t number = online.issue(batch);
        const std::vector<double> scores(batch - (t % 3 == 0 ? 1 : 0), t % 5 == 0 ? -1.0 : random.uniform());
        online.observe(number, scores, std::vector<std::uint8_t>(2 * scores.size(), t % 2 == 0 ? 1 : 0));
      }
      states.push_back(std::move(online));
    }
    // With hashes of rows, with and without an alarm.
    for (const double rate : {0.0, 0.01}) {
      OnlineCalibration online(calibration_with(uniform_scores(60, 12)), {0.9, 0.5},
                               {.method = method, .window_rows = 20, .false_alarm_rate = rate});
      const std::vector<std::uint64_t> hashes = {5, 1, 5, 8};
      const std::uint64_t number = online.issue(batch_of(hashes));
      (void)online.issue(2);
      online.observe(number, std::vector<double>{0.3, 0.4}, {}, std::span(hashes).first(2));
      online.add_observed(std::span(hashes).first(2));
      states.push_back(std::move(online));
    }
  }
  return states;
}

TEST(OnlineCalibrationBytes, ResumeWhereTheyEnded) {
  for (OnlineCalibration& online : some_calibrations()) {
    OnlineCalibration read = OnlineCalibration::deserialise(online.serialise());
    ASSERT_EQ(read, online);
    EXPECT_EQ(read.levels(), online.levels());
    EXPECT_EQ(read.coverage(0).recent_covered, online.coverage(0).recent_covered);
    EXPECT_EQ(read.rows_issued(), online.rows_issued());
    for (const PendingBatch& batch : online.pending()) {
      double quantiles[2][2] = {};
      read.issued_quantiles(batch.number, quantiles[0]);
      online.issued_quantiles(batch.number, quantiles[1]);
      EXPECT_TRUE(std::ranges::equal(quantiles[0], quantiles[1]));
      const std::vector<double> scores(batch.rows, 0.7);
      read.observe(batch.number, scores);
      online.observe(batch.number, scores);
      ASSERT_EQ(read, online);
    }
    Random random(14);
    for (int t = 0; t < 300; ++t) {
      const double score = 3 * random.uniform();
      for (std::size_t j = 0; j < 2; ++j) ASSERT_EQ(read.quantile(j), online.quantile(j));
      read.observe(score);
      online.observe(score);
    }
    EXPECT_EQ(read, online);
  }
}

TEST(OnlineCalibrationBytes, EveryTruncationIsRefused) {
  for (const OnlineCalibration& online : some_calibrations()) {
    const std::vector<std::byte> bytes = online.serialise();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_THROW((void)OnlineCalibration::deserialise(std::span(bytes).first(i)), Error) << i;
    }
  }
}

TEST(OnlineCalibrationBytes, NoFlippedBitIsRead) {
  for (const OnlineCalibration& online : some_calibrations()) {
    expect_flips_are_refused(online.serialise(),
                             [](const auto& bytes) { (void)OnlineCalibration::deserialise(bytes); });
  }
}

TEST(OnlineCalibrationBytes, BytesWithTheRightChecksumAreNotTrustedEither) {
  Random random(15);
  int accepted = 0;
  int refused = 0;
  for (const OnlineCalibration& online : some_calibrations()) {
    const std::vector<std::byte> bytes = online.serialise();
    std::vector<std::uint64_t> words(bytes.size() / 8);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    for (int trial = 0; trial < 3000; ++trial) {
      std::vector<std::uint64_t> forged = words;
      // Of the beginning or, where batches are, of anywhere.
      const std::uint64_t reach =
          random.below(3) == 0 ? words.size() - 1 : std::min<std::uint64_t>(words.size() - 1, 30);
      std::uint64_t& word = forged[random.below(reach)];
      forge_word(word, random);
      internal::seal_words(std::as_writable_bytes(std::span(forged)));
      const auto forged_bytes = std::as_bytes(std::span(forged));
      try {
        OnlineCalibration read = OnlineCalibration::deserialise(forged_bytes);
        ++accepted;
        ASSERT_TRUE(std::ranges::equal(read.serialise(), forged_bytes));
        if (read.rows_issued() > 1'000'000'000) continue;  // there may be no room for more
        for (const double score : {0.5, kInfinity, -kInfinity}) {
          for (std::size_t j = 0; j < read.levels().size(); ++j) ASSERT_FALSE(std::isnan(read.quantile(j)));
          read.observe(score);
        }
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kBadData) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 10'000);
}

// --- models

Model model_of(const ConformalRule& rule) {
  ModelParts parts{.features = examples::names(3), .base = examples::trees(3, 1, 4, 2, 16), .rule = rule, .unit = 0.5};
  if (rule.parameter_count() > 0) {
    parts.localizer = examples::trees(4, static_cast<std::uint32_t>(rule.parameter_count()), 4, 2, 17);
  }
  parts.outcome_space.low = -40;
  return examples::calibrated(Model(parts), examples::Table(200, 3, 18));
}

/// The coverage that is reported is that of the intervals, counted.
void expect_coverage_as_issued(const OnlineCalibration& online, const std::vector<double>& y,
                               const examples::Answers& issued) {
  const std::size_t k = online.levels().size();
  for (std::size_t j = 0; j < k; ++j) {
    std::uint64_t covered = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      covered += issued.lower[i * k + j] <= y[i] && y[i] <= issued.upper[i * k + j] ? 1U : 0U;
    }
    EXPECT_EQ(online.coverage(j).covered, covered);
    EXPECT_EQ(online.coverage(j).rows, y.size());
  }
}

class EveryModelOnline : public testing::TestWithParam<RuleCase> {};

TEST_P(EveryModelOnline, ItsRuleTurnsAQuantileIntoAnIntervalAsForALevel) {
  const Model model = model_of(GetParam().rule());
  const examples::Table table(300, 3, 19);
  const std::size_t n = table.rows();
  const std::vector<Level> levels = {0.9, 0.5};
  const examples::Answers expected = examples::answers(model, table.for_model(model), levels);
  const SortedScores sorted(model.parts().calibration);
  const double quantiles[] = {sorted.quantile(0.9), sorted.quantile(0.5), kInfinity, -kInfinity};
  std::vector<double> predictions(n);
  std::vector<double> lower(n * 4);
  std::vector<double> upper(n * 4);
  model.intervals_at(table.for_model(model), {quantiles, n, 4, 0}, predictions, {lower.data(), n, 4},
                     {upper.data(), n, 4});
  EXPECT_EQ(predictions, expected.predictions);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      ASSERT_EQ(lower[i * 4 + j], expected.lower[i * 2 + j]);
      ASSERT_EQ(upper[i * 4 + j], expected.upper[i * 2 + j]);
    }
    ASSERT_EQ(lower[i * 4 + 2], -40);  // the end of the range
    ASSERT_EQ(upper[i * 4 + 2], kInfinity);
    ASSERT_EQ(lower[i * 4 + 3], std::max(predictions[i], -40.0));
    ASSERT_EQ(upper[i * 4 + 3], std::max(predictions[i], -40.0));
  }
}

TEST_P(EveryModelOnline, ARowThatIsNoMissLiesInsideItsInterval) {
  const Model model = model_of(GetParam().rule());
  const examples::Table table(300, 3, 20);
  for (const OnlineMethod method : kMethods) {
    OnlineCalibration online(model.parts().calibration, {0.9, 0.5}, {.method = method, .window_rows = 100});
    OnlineCalibration together = online;
    const std::size_t n = table.rows();
    examples::Answers found{std::vector<double>(n), std::vector<double>(n * 2), std::vector<double>(n * 2)};
    Tracker(model, together)
        .track(table.for_model(model), table.y, found.predictions, {found.lower.data(), n, 2},
               {found.upper.data(), n, 2});
    std::vector<double> scores(n);
    model.scores(table.for_model(model), table.y, scores);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        // The interval was made before the outcome was seen.
        const double q = online.quantile(j);
        double prediction = 0;
        Interval alone;
        model.intervals_at({.x = table.matrix().slice(i, 1)}, {&q, 1, 1}, {&prediction, 1}, {&alone.lower, 1, 1},
                           {&alone.upper, 1, 1});
        ASSERT_EQ(alone.lower, found.lower[i * 2 + j]);
        ASSERT_EQ(alone.upper, found.upper[i * 2 + j]);
        if (scores[i] <= q) {
          ASSERT_LE(alone.lower, std::max(table.y[i], -4.0));
          ASSERT_GE(alone.upper, table.y[i]);
        }
      }
      online.observe(scores[i]);
    }
    EXPECT_EQ(online.quantile(0), together.quantile(0));
    EXPECT_EQ(online.miss_rate(1), together.miss_rate(1));
    expect_coverage_as_issued(together, table.y, found);
  }
}

TEST_P(EveryModelOnline, TheCoverageReportedIsThatOfTheIntervalsIssued) {
  const Model model = model_of(GetParam().rule());
  const examples::Table table(300, 3, 33);
  const std::size_t n = table.rows();
  for (const OnlineMethod method : kMethods) {
    OnlineCalibration online(model.parts().calibration, {0.9, 0.5}, {.method = method, .window_rows = 100});
    examples::Answers found{std::vector<double>(n), std::vector<double>(n * 2), std::vector<double>(n * 2)};
    const MutableMatrixView lower(found.lower.data(), n, 2);
    const MutableMatrixView upper(found.upper.data(), n, 2);
    const Rows rows = table.for_model(model);
    constexpr std::size_t kBatch = 30;
    std::vector<std::pair<std::uint64_t, std::size_t>> waiting;  // number, first row
    Random random(34);
    for (std::size_t first = 0; first < n; first += kBatch) {
      waiting.emplace_back(
          model.issue(online, rows.slice(first, kBatch), std::span(found.predictions).subspan(first, kBatch),
                      lower.slice(first, kBatch), upper.slice(first, kBatch)),
          first);
      // Outcomes arrive late and out of order, some batches only at the end.
      while (waiting.size() > (first + kBatch == n ? 0U : 3U)) {
        const auto next = waiting.begin() + static_cast<std::ptrdiff_t>(random.below(waiting.size()));
        model.observe(online, next->first, rows.slice(next->second, kBatch),
                      std::span(table.y).subspan(next->second, kBatch));
        waiting.erase(next);
      }
    }
    EXPECT_EQ(online.rows(), n);
    EXPECT_TRUE(online.pending().empty());
    expect_coverage_as_issued(online, table.y, found);
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryModelOnline, testing::ValuesIn(all_rules()), rule_name);

TEST(ModelOnline, RowsWithoutAnOutcomeGetIntervalsAndAreNotRecorded) {
  const Model model = model_of(ConformalRule(make_transform("exp")));
  examples::Table table(90, 3, 21);
  std::vector<double> observed;
  examples::Table known(0, 3, 0);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    if (i % 3 == 0) {
      table.y[i] = kNaN;
      continue;
    }
    known.y.push_back(table.y[i]);
    for (const double x : table.matrix().row(i)) known.x.push_back(x);
  }
  const auto run = [&](const examples::Table& rows, OnlineCalibration& online) {
    const std::size_t n = rows.rows();
    examples::Answers found{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
    Tracker(model, online)
        .track(rows.for_model(model), rows.y, found.predictions, {found.lower.data(), n, 1},
               {found.upper.data(), n, 1});
    return found;
  };
  OnlineCalibration with(model.parts().calibration, {0.9});
  OnlineCalibration without = with;
  examples::Answers all = run(table, with);
  (void)run(known, without);
  EXPECT_EQ(with, without);
  EXPECT_EQ(with.rows(), 60U);
  EXPECT_TRUE(std::ranges::none_of(all.upper, [](double bound) { return std::isnan(bound); }));

  // In a batch that was issued they stay pending.
  const std::uint64_t batch =
      model.issue(with, table.for_model(model), all.predictions, {all.lower.data(), 90, 1}, {all.upper.data(), 90, 1});
  model.observe(with, batch, table.for_model(model), table.y);
  EXPECT_EQ(with.rows(), 120U);
  EXPECT_EQ(with.pending().at(0).rows, 30U);

  // A state can be stored with its model.
  const Model later = model.with_online(with);
  EXPECT_EQ(later.parts().online, with);
  EXPECT_FALSE(later.with_online(std::nullopt).parts().online.has_value());
}

TEST(Tracker, BatchesAndDelaysAreAsIssuedAndObservedByHand) {
  const Model model = model_of(ConformalRule(make_transform("exp")));
  const examples::Table table(500, 3, 35);
  const std::size_t n = table.rows();
  const Rows rows = table.for_model(model);
  for (const OnlineMethod method : kMethods) {
    for (const std::uint64_t batch : {1U, 7U, 100U, 1000U}) {
      for (const std::uint64_t delay : {0U, 2U}) {
        OnlineCalibration by_hand(model.parts().calibration, {0.9}, {.method = method, .window_rows = 50});
        OnlineCalibration tracked = by_hand;
        examples::Answers expected{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
        examples::Answers found = expected;
        const auto part = [&](examples::Answers& answers, std::size_t first, std::size_t count, const auto& use) {
          return use(rows.slice(first, count), std::span(answers.predictions).subspan(first, count),
                     MutableMatrixView(answers.lower.data() + first, count, 1),
                     MutableMatrixView(answers.upper.data() + first, count, 1));
        };
        std::deque<std::pair<std::uint64_t, std::size_t>> waiting;
        const auto observe_until = [&](std::size_t left) {
          for (; waiting.size() > left; waiting.pop_front()) {
            const auto [number, first] = waiting.front();
            const std::size_t count = std::min<std::size_t>(batch, n - first);
            model.observe(by_hand, number, rows.slice(first, count), std::span(table.y).subspan(first, count));
          }
        };
        for (std::size_t first = 0; first < n; first += batch) {
          part(expected, first, std::min<std::size_t>(batch, n - first),
               [&](const auto&... arguments) { waiting.emplace_back(model.issue(by_hand, arguments...), first); });
          observe_until(delay);
        }
        observe_until(0);

        // The same rows, passed to the tracker in chunks that differ from its batches.
        Tracker tracker(model, tracked, {.batch_size = batch, .delay = delay});
        for (std::size_t first = 0; first < n; first += 60) {
          const std::size_t count = std::min<std::size_t>(60, n - first);
          part(found, first, count, [&](const Rows& some, const auto&... places) {
            tracker.track(some, std::span(table.y).subspan(first, count), places...);
          });
        }
        tracker.finish();
        EXPECT_EQ(found.lower, expected.lower);
        EXPECT_EQ(found.upper, expected.upper);
        EXPECT_EQ(tracked, by_hand) << name_of(method) << " " << batch << " " << delay;
        expect_coverage_as_issued(tracked, table.y, found);
      }
    }
  }
  OnlineCalibration online(model.parts().calibration, {0.9});
  EXPECT_NE(message_of([&] { Tracker(model, online, {.batch_size = 0}); }, ErrorCode::kInvalidArgument)
                .find("batch_size of at least 1"),
            std::string::npos);
}

/// A tracker over a table, in batches.
struct Tracked {
  const Model& model;
  OnlineCalibration& online;

  /// Track rows and return the warning.
  std::string operator()(const examples::Table& table, const TrackOptions& options) const {
    const std::size_t n = table.rows();
    examples::Answers found{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
    Tracker tracker(model, online, options);
    tracker.track(table.for_model(model), table.y, found.predictions, {found.lower.data(), n, 1},
                  {found.upper.data(), n, 1});
    tracker.finish();
    return tracker.warning();
  }
};

TEST(Tracker, RefusesRowsThatWereObservedBefore) {
  const Model model = model_of(ConformalRule(make_transform("exp")));
  const examples::Table table(200, 3, 41);
  OnlineCalibration online(model.parts().calibration, {0.9});
  const Tracked track{model, online};
  EXPECT_EQ(track(table, {}), "");
  EXPECT_EQ(track(examples::Table(200, 3, 42), {}), "");
  const OnlineCalibration before = OnlineCalibration::deserialise(online.serialise());
  online = before;
  EXPECT_NE(message_of([&] { (void)track(table, {.batch_size = 20}); }, ErrorCode::kDuplicateRows)
                .find("100% of these rows were already observed with the same outcomes"),
            std::string::npos);
  EXPECT_EQ(online, before);

  // The same rows issued again as a batch.
  std::vector<double> f(200);
  std::vector<double> lower(200);
  std::vector<double> upper(200);
  const Rows rows = table.for_model(model);
  const std::uint64_t batch = model.issue(online, rows, f, {lower.data(), 200, 1}, {upper.data(), 200, 1});
  EXPECT_NE(message_of([&] { model.observe(online, batch, rows, table.y); }, ErrorCode::kDuplicateRows)
                .find("already observed"),
            std::string::npos);
  EXPECT_EQ(online.rows(), before.rows());
}

TEST(Tracker, WarnsIfNoOutcomeArrivesBeforeTheLastBatch) {
  const Model model = model_of(ConformalRule(make_transform("exp")));
  const examples::Table table(60, 3, 43);
  const auto warning = [&](const TrackOptions& options) {
    OnlineCalibration online(model.parts().calibration, {0.9});
    return Tracked{model, online}(table, options);
  };
  const std::string none = "no outcome was observed before the last batch, so no interval was updated: these rows are ";
  EXPECT_EQ(warning({.batch_size = 10, .delay = 4}), "");
  EXPECT_EQ(
      warning({.batch_size = 10, .delay = 5}),
      none + "6 batches, and outcomes arrive 5 batches later; use a shorter delay, which counts batches, not rows");
  EXPECT_EQ(warning({.batch_size = 1, .delay = 58}), "");
  EXPECT_NE(warning({.batch_size = 1, .delay = 60}), "");
  EXPECT_EQ(warning({.batch_size = 60}), none + "1 batch; use a smaller batch size");
}

TEST(ModelOnline, RowsOfAnotherBatchAreRefusedAndNoneIsObserved) {
  const Model model = model_of(ConformalRule(make_transform("exp")));
  const examples::Table monday(20, 3, 44);
  const examples::Table tuesday(20, 3, 45);
  OnlineCalibration online(model.parts().calibration, {0.9});
  std::vector<double> f(20);
  std::vector<double> lower(20);
  std::vector<double> upper(20);
  const auto issue = [&](const examples::Table& table) {
    return model.issue(online, table.for_model(model), f, {lower.data(), 20, 1}, {upper.data(), 20, 1});
  };
  const std::uint64_t first = issue(monday);
  const std::uint64_t second = issue(tuesday);
  const OnlineCalibration before = online;
  EXPECT_NE(message_of([&] { model.observe(online, first, tuesday.for_model(model), tuesday.y); },
                       ErrorCode::kInvalidArgument)
                .find("20 of 20 rows were issued in batch 20, not in batch 0"),
            std::string::npos);
  EXPECT_EQ(online, before);
  const Rows rows = monday.for_model(model);
  model.observe(online, first, rows.slice(0, 5), std::span(monday.y).first(5));
  EXPECT_NE(message_of([&] { model.observe(online, first, rows.slice(3, 10), std::span(monday.y).subspan(3, 10)); },
                       ErrorCode::kInvalidArgument)
                .find("2 of 10 rows were already observed in batch 0"),
            std::string::npos);
  EXPECT_EQ(online.rows(), 5U);
  model.observe(online, second, tuesday.for_model(model), tuesday.y);
  EXPECT_EQ(online.rows(), 25U);
}

TEST(Tracker, InfiniteOutcomesAreRefusedWithTheirRow) {
  const Model model = model_of(ConformalRule(make_transform("exp")));
  const examples::Table table(5, 3, 35);
  const Rows rows = table.for_model(model);
  std::vector<double> y = table.y;
  y[2] = -kInfinity;
  OnlineCalibration online(model.parts().calibration, {0.9});
  const OnlineCalibration before = online;
  std::vector<double> f(5);
  std::vector<double> lower(5);
  std::vector<double> upper(5);
  const auto track = [&] { Tracker(model, online, {}).track(rows, y, f, {lower.data(), 5, 1}, {upper.data(), 5, 1}); };
  EXPECT_NE(message_of(track, ErrorCode::kNotFinite).find("the outcome of row 3 is infinite"), std::string::npos);
  EXPECT_EQ(online, before);
  const std::uint64_t batch = online.issue(5);
  const auto observe = [&] { model.observe(online, batch, rows, y); };
  EXPECT_NE(message_of(observe, ErrorCode::kNotFinite).find("the outcome of row 3 is infinite"), std::string::npos);
  EXPECT_EQ(online.rows(), 0U);
}

}  // namespace
}  // namespace widthwise
