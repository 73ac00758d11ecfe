#include <widthwise/online.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model.hpp>
#include <widthwise/random.hpp>

#include "message_of.hpp"
#include "model_examples.hpp"
#include "rule_cases.hpp"

namespace widthwise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr OnlineMethod kMethods[] = {OnlineMethod::kAdaptive, OnlineMethod::kDecaying};

Calibration calibration_of(const std::vector<double>& scores) {
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
    const Calibration calibration = calibration_of(uniform_scores(n, n));
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
  OnlineCalibration online(Calibration(), {0.5}, {.window = 3});
  EXPECT_EQ(online.quantile(0), kInfinity);
  for (const double score : {1.0, 2.0, 3.0}) online.observe(score);
  EXPECT_EQ(online.coverage(0).covered, 1U);  // the first; each score after it lies above all before
  EXPECT_EQ(online.quantile(0), 3);
}

TEST(OnlineCalibration, TheQuantileIsOfTheWindowAtTheRateAimedAt) {
  Random random(1);
  const std::vector<double> start = uniform_scores(30, 2);
  OnlineCalibration online(calibration_of(start), {0.8, 0.6}, {.step = 0.05, .window = 50});
  std::deque<double> window;
  for (const CalibrationRow& row : calibration_of(start).rows(0)) window.push_back(row.score);
  std::vector<double> rates = {0.2, 0.4};
  for (int t = 0; t < 2000; ++t) {
    std::vector<double> sorted(window.begin(), window.end());
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
    window.push_back(score);
    if (window.size() > 50) window.pop_front();
  }
}

TEST(OnlineCalibration, ARateOfNoMissesIsTheWholeLineAndOneOfMissesAloneThePrediction) {
  OnlineCalibration online(calibration_of(uniform_scores(100, 3)), {0.9}, {.step = 0.2});
  online.observe(kInfinity);
  EXPECT_LE(online.miss_rate(0), 0);
  EXPECT_EQ(online.quantile(0), kInfinity);
  online.observe(kInfinity);  // no score lies above an infinite q
  EXPECT_EQ(misses(online.coverage(0)), 1);

  OnlineCalibration easy(calibration_of(uniform_scores(100, 3)), {0.1}, {.step = 0.2});
  while (easy.miss_rate(0) < 1) easy.observe(-kInfinity);
  EXPECT_EQ(easy.quantile(0), -kInfinity);
  const double before = misses(easy.coverage(0));
  easy.observe(-kInfinity);  // the set is empty: even this is a miss
  EXPECT_EQ(misses(easy.coverage(0)), before + 1);
}

/// Scores chosen by somebody who knows q and wishes the intervals ill, in [0, 1].
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
        OnlineCalibration online(calibration_of(uniform_scores(200, 4)), {value}, {.step = step, .window = 100});
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
        OnlineCalibration online(calibration_of(uniform_scores(200, 6)), {value},
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
    calibration = calibration_of(scores);
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

TEST(OnlineCalibration, LevelsDoNotKnowOfEachOther) {
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

TEST(OnlineCalibration, WhatCannotBeIsRefused) {
  const Calibration calibration = calibration_of(uniform_scores(50, 11));
  const auto refusal = [&](const std::vector<Level>& levels, const OnlineOptions& options) {
    return message_of([&] { OnlineCalibration(calibration, levels, options); }, ErrorCode::kInvalidArgument);
  };
  for (const double step : {0.0, -1.0, 10.5, kNaN, kInfinity}) {
    EXPECT_NE(refusal({0.9}, {.step = step}).find("expected a step above 0 and up to 10"), std::string::npos);
  }
  EXPECT_NE(refusal({0.9}, {.window = 0}).find("expected a window of 1 to 1,000,000 rows"), std::string::npos);
  EXPECT_NE(refusal({0.9}, {.window = 1'000'001}).find("1000001"), std::string::npos);
  EXPECT_NE(refusal({}, {}).find("at least one level"), std::string::npos);
  EXPECT_NE(refusal({0.9, 0.8, 0.9}, {}).find("twice"), std::string::npos);
  EXPECT_NE(refusal({0.99}, {.window = 98}).find("98 rows is too short for level 0.99, which needs 99 rows"),
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
    OnlineCalibration online(calibration_of(std::vector<double>(100, tied)), {0.9},
                             {.method = OnlineMethod::kDecaying});
    online.observe(tied + 1);
    EXPECT_GT(online.quantile(0), tied);
  }
}

// --- bytes

/// States of both methods, before, while and after the window fills.
std::vector<OnlineCalibration> some_states() {
  std::vector<OnlineCalibration> states;
  for (const OnlineMethod method : kMethods) {
    for (const int rows : {0, 1, 64, 90, 500}) {
      OnlineCalibration online(calibration_of(uniform_scores(60, 12)), {0.9, Level::parse("0.0500000000000000001")},
                               {.method = method, .window = 100});
      Random random(13);
      for (int t = 0; t < rows; ++t) online.observe(t % 50 == 3 ? kInfinity : 2 * random.uniform());
      states.push_back(std::move(online));
    }
  }
  return states;
}

TEST(OnlineCalibrationBytes, GoOnWhereTheyEnded) {
  for (OnlineCalibration& online : some_states()) {
    OnlineCalibration read = OnlineCalibration::deserialise(online.serialise());
    ASSERT_EQ(read, online);
    EXPECT_EQ(read.levels(), online.levels());
    EXPECT_EQ(read.coverage(0).recent_covered, online.coverage(0).recent_covered);
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

TEST(OnlineCalibrationBytes, EveryChangeOfAByteAndEveryTruncationIsRefused) {
  for (const OnlineCalibration& online : some_states()) {
    const std::vector<std::byte> bytes = online.serialise();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::vector<std::byte> changed = bytes;
      changed[i] ^= std::byte{static_cast<unsigned char>(1U << (i % 8))};
      ASSERT_THROW((void)OnlineCalibration::deserialise(changed), Error) << i;
      ASSERT_THROW((void)OnlineCalibration::deserialise(std::span(bytes).first(i)), Error) << i;
    }
  }
}

TEST(OnlineCalibrationBytes, BytesWithTheRightChecksumAreNotTrustedEither) {
  Random random(15);
  int accepted = 0;
  int refused = 0;
  for (const OnlineCalibration& online : some_states()) {
    const std::vector<std::byte> bytes = online.serialise();
    std::vector<std::uint64_t> words(bytes.size() / 8);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    for (int trial = 0; trial < 3000; ++trial) {
      std::vector<std::uint64_t> forged = words;
      std::uint64_t& word = forged[random.below(std::min<std::uint64_t>(words.size() - 1, 30))];
      constexpr double kNumbers[] = {0.0, -0.0, 1.0, -1.0, kInfinity, -kInfinity, kNaN, 1e300, 1e-300};
      switch (random.below(4)) {
        case 0:
          word = std::bit_cast<std::uint64_t>(kNumbers[random.below(std::size(kNumbers))]);
          break;
        case 1:
          word = random.below(200);
          break;
        case 2:
          word ^= std::uint64_t{1} << random.below(64);
          break;
        default:
          word += random.below(2) == 0 ? 1 : ~std::uint64_t{0};
      }
      std::uint64_t checksum = 0;
      for (std::size_t i = 0; i + 1 < forged.size(); ++i) checksum = mix_bits(checksum ^ forged[i]);
      forged.back() = checksum;
      const auto forged_bytes = std::as_bytes(std::span(forged));
      try {
        OnlineCalibration read = OnlineCalibration::deserialise(forged_bytes);
        ++accepted;
        ASSERT_TRUE(std::ranges::equal(read.serialise(), forged_bytes));
        if (read.rows() > 1'000'000'000) continue;  // there may be no room for more
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
  ModelParts parts{.features = examples::names(3), .base = examples::forest(3, 1, 4, 2, 16), .rule = rule, .unit = 0.5};
  if (rule.parameter_count() > 0) {
    parts.localizer = examples::forest(4, static_cast<std::uint32_t>(rule.parameter_count()), 4, 2, 17);
  }
  parts.range.low = -4;
  return examples::calibrated(Model(parts), examples::Table(200, 3, 18));
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
    ASSERT_EQ(lower[i * 4 + 2], -4);  // the end of the range
    ASSERT_EQ(upper[i * 4 + 2], kInfinity);
    ASSERT_EQ(lower[i * 4 + 3], std::max(predictions[i], -4.0));
    ASSERT_EQ(upper[i * 4 + 3], std::max(predictions[i], -4.0));
  }
}

TEST_P(EveryModelOnline, ARowThatIsNoMissLiesInsideItsInterval) {
  const Model model = model_of(GetParam().rule());
  const examples::Table table(300, 3, 20);
  for (const OnlineMethod method : kMethods) {
    OnlineCalibration online(model.parts().calibration, {0.9, 0.5}, {.method = method, .window = 100});
    OnlineCalibration together = online;
    const std::size_t n = table.rows();
    examples::Answers found{std::vector<double>(n), std::vector<double>(n * 2), std::vector<double>(n * 2)};
    model.track(together, table.for_model(model), table.y, found.predictions, {found.lower.data(), n, 2},
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
    EXPECT_EQ(online, together);
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryModelOnline, testing::ValuesIn(all_rules()), rule_name);

TEST(ModelOnline, RowsWithoutAnOutcomeGetIntervalsAndTeachNothing) {
  const Model model = model_of(ConformalRule(make_transform("exp")));
  examples::Table table(90, 3, 21);
  std::vector<double> taught;
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
    model.track(online, rows.for_model(model), rows.y, found.predictions, {found.lower.data(), n, 1},
                {found.upper.data(), n, 1});
    return found;
  };
  OnlineCalibration with(model.parts().calibration, {0.9});
  OnlineCalibration without = with;
  const examples::Answers all = run(table, with);
  (void)run(known, without);
  EXPECT_EQ(with, without);
  EXPECT_EQ(with.rows(), 60U);
  EXPECT_TRUE(std::ranges::none_of(all.upper, [](double bound) { return std::isnan(bound); }));

  // A state can go with its model.
  const Model later = model.with_online(with);
  EXPECT_EQ(later.parts().online, with);
  EXPECT_FALSE(later.with_online(std::nullopt).parts().online.has_value());
}

}  // namespace
}  // namespace widthwise
