#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <widthwise/model.hpp>
#include <widthwise/outcome_space.hpp>
#include <widthwise/random.hpp>

#include "conformal/outcomes.hpp"
#include "support/errors.hpp"
#include "support/model_examples.hpp"

namespace widthwise {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

/// The numbers that stand for the k-th multiple of a step, as users compute it.
std::vector<double> forms_of_multiple(double k, double step) {
  std::vector<double> forms = {k * step, std::stod(std::to_string(k * step))};
  if (std::round(1 / step) * step == 1) forms.push_back(k / std::round(1 / step));
  if (step < 1 && step != 0.5) forms.push_back(std::nextafter(k * step, 0));
  return forms;
}

TEST(OutcomeSpace, RoundedBoundsContainTheSameMultiples) {
  Random random(1);
  for (const double step : {1.0, 0.5, 5.0, 100.0, 0.1, 0.01, 0.3}) {
    const OutcomeSpace space{.step = step};
    double narrower = 0;
    for (int trial = 0; trial < 400; ++trial) {
      const double middle = 20 * step * (random.uniform() - 0.5);
      const double half = trial % 3 == 0 ? step * static_cast<double>(random.below(4)) : 5 * step * random.uniform();
      const Interval whole{middle - half, middle + half};
      const Interval rounded = space.inside(whole);
      ASSERT_LE(rounded.lower, rounded.upper);
      narrower += (whole.upper - whole.lower) - (rounded.upper - rounded.lower);
      bool any = false;
      for (int k = -20; k <= 20; ++k) {
        for (const double y : forms_of_multiple(k, step)) {
          ASSERT_TRUE(space.is_multiple(y)) << y << " of " << step;
          const bool inside = whole.lower <= y && y <= whole.upper;
          any = any || inside;
          ASSERT_TRUE(!inside || (rounded.lower <= y && y <= rounded.upper)) << y << " of " << step;
          ASSERT_EQ(whole.lower <= y, space.inside(whole.lower, false) <= y);
          ASSERT_EQ(y <= whole.upper, y <= space.inside(whole.upper, true));
        }
      }
      ASSERT_TRUE(space.is_multiple(rounded.lower) || any);
      if (any) {
        EXPECT_GE(rounded.lower, whole.lower);
        EXPECT_LE(rounded.upper, whole.upper);
        EXPECT_LT(rounded.lower - whole.lower, step);
        EXPECT_LT(whole.upper - rounded.upper, step);
      } else {  // the nearest multiple instead of an empty or inverted interval
        EXPECT_LE(std::abs(rounded.lower - middle), 0.5001 * step);
        EXPECT_NEAR(rounded.lower, rounded.upper, 1e-12 * step);
      }
    }
    EXPECT_GT(narrower / 400, 0.4 * step);
  }
}

TEST(OutcomeSpace, BoundsOfWholeNumbersAreWholeNumbersAndInfinityStays) {
  const OutcomeSpace counts{.low = 0, .step = 1};
  const auto is = [](const Interval& found, double lower, double upper) {
    EXPECT_EQ(found.lower, lower);
    EXPECT_EQ(found.upper, upper);
    EXPECT_FALSE(std::signbit(found.lower) && found.lower == 0);
  };
  is(counts.inside(Interval{2.3, 5.9}), 3, 5);
  is(counts.inside(Interval{3, 5}), 3, 5);
  is(counts.inside(Interval{-0.4, 0.4}), 0, 0);
  is(counts.inside(Interval{-7.5, -2.5}), 0, 0);
  is(counts.inside(Interval{2.6, 2.9}), 3, 3);
  is(counts.inside(Interval{-kEndless, kEndless}), 0, kEndless);
  is(OutcomeSpace{.step = 1}.inside(Interval{-kEndless, -0.5}), -kEndless, -1);
  is(OutcomeSpace{.step = 1}.inside(Interval{0x1p53, 1e300}), 0x1p53, 1e300);
  is(OutcomeSpace{.low = 1, .high = 4, .step = 0.5}.inside(Interval{0.2, 9}), 1, 4);
  EXPECT_TRUE(counts.is_multiple(1e300));
  EXPECT_FALSE(counts.is_multiple(2.5));
  EXPECT_FALSE(counts.is_multiple(std::nextafter(3.0, 4.0)));
  EXPECT_FALSE(OutcomeSpace{.step = 0.1}.is_multiple(0.1F));
  EXPECT_TRUE(OutcomeSpace{.step = 0.1}.is_multiple(0.1 * 3));
}

TEST(OutcomeSpace, IsCheckedAndDescribed) {
  for (const double step : {-1.0, std::nan(""), kEndless, 1e-300}) {
    expect_error(ErrorCode::kInvalidArgument, "the outcome step is", [&] { OutcomeSpace{.step = step}.check("fit"); });
  }
  expect_error(ErrorCode::kInvalidArgument, "ends at 0.5, which is not a multiple of the outcome step 1",
               [] { OutcomeSpace{.low = 0.5, .step = 1}.check("fit"); });
  EXPECT_EQ(OutcomeSpace().to_string(), "");
  EXPECT_EQ((OutcomeSpace{.low = 0, .step = 1}.to_string()), "at least 0, multiples of 1");
  EXPECT_EQ((OutcomeSpace{.high = 1}.to_string()), "at most 1");
  EXPECT_EQ((OutcomeSpace{.step = 0.1}.to_string()), "multiples of 0.1");
}

TEST(OutcomeSpace, EveryWayToPredictRoundsAndCoversTheSameOutcomes) {
  const examples::Table table(300, 3, 11);
  ModelParts parts{.features = examples::names(3),
                   .base = examples::trees(3, 1, 5, 2, 31),
                   .localizer = examples::trees(4, 1, 6, 2, 32),
                   .rule = ConformalRule(make_transform("exp")),
                   .unit = 0.25};
  std::vector<double> y;
  for (const double outcome : table.y) y.push_back(std::round(outcome));
  const Model bare(parts);
  Calibration calibration;
  bare.calibrate(calibration, table.for_model(bare), y, 0);
  const Model free = bare.with_calibration(calibration);
  parts.outcome_space.step = 1;
  const Model model = Model(parts).with_calibration(calibration);
  const std::vector<Level> levels = {0.3, 0.9};
  const Rows rows = table.for_model(model);
  const examples::Answers whole = examples::answers(free, rows, levels);
  const examples::Answers rounded = examples::answers(model, rows, levels);
  const std::size_t n = table.rows();
  std::vector<double> quantiles[2] = {std::vector<double>(2 * n), std::vector<double>(2 * n)};
  free.quantiles(rows, levels, {quantiles[0].data(), n, 2});
  model.quantiles(rows, levels, {quantiles[1].data(), n, 2});
  std::vector<double> p_values[2] = {std::vector<double>(n), std::vector<double>(n)};
  free.p_values(rows, y, p_values[0]);
  model.p_values(rows, y, p_values[1]);
  EXPECT_EQ(p_values[0], p_values[1]);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      const std::size_t at = 2 * i + j;
      const Interval expected = model.parts().outcome_space.inside(Interval{whole.lower[at], whole.upper[at]});
      ASSERT_EQ(rounded.lower[at], expected.lower);
      ASSERT_EQ(rounded.upper[at], expected.upper);
      const bool inside = whole.lower[at] <= y[i] && y[i] <= whole.upper[at];
      ASSERT_TRUE(!inside || (rounded.lower[at] <= y[i] && y[i] <= rounded.upper[at]));
      const Interval alone = model.interval(rows.x.row(i), levels[j]);
      ASSERT_EQ(alone.lower, rounded.lower[at]);
      ASSERT_EQ(alone.upper, rounded.upper[at]);
      ASSERT_EQ(quantiles[1][at], j == 0 ? std::ceil(quantiles[0][at]) : std::floor(quantiles[0][at]));
    }
  }
  // Outcomes between the multiples are refused, with their row, in calibrations and streams.
  y[7] += 0.25;
  const std::string why = "1 of 300 outcomes is not a multiple of the outcome step 1: row 8 is";
  expect_error(ErrorCode::kBadData, why, [&] { model.check_outcomes(y); });
  expect_error(ErrorCode::kBadData, why, [&] { model.calibrate(calibration, rows, y, 0); });
  OnlineCalibration online(calibration, levels);
  std::vector<double> unused(n);
  std::vector<double> low(2 * n);
  std::vector<double> high(2 * n);
  const std::uint64_t batch = model.issue(online, rows, unused, {low.data(), n, 2}, {high.data(), n, 2});
  EXPECT_EQ(std::round(low[0]), low[0]);
  const OnlineCalibration before = online;
  expect_error(ErrorCode::kBadData, why, [&] { model.observe(online, batch, rows, y); });
  EXPECT_EQ(online, before);
}

TEST(OutcomeHints, NameTheRangeAndTheStepThatOutcomesSuggest) {
  const auto kinds = [](const OutcomeSpace& space, double step, double shift, double half) {
    internal::OutcomeHints hints(space);
    std::vector<double> y;
    std::vector<double> lower;
    std::vector<double> upper;
    for (int i = 0; i < 100; ++i) {
      y.push_back(step * i + shift);
      lower.push_back(y.back() - half);
      upper.push_back(y.back() + half);
    }
    hints.add_outcomes(y);
    hints.add_bounds(lower, upper);
    std::string found;
    for (const internal::OutcomeHint& hint : hints.hints()) found += hint.kind + ": " + hint.text + "\n";
    return found;
  };
  const std::string counts = kinds({}, 1, 0, 10.5);
  EXPECT_NE(counts.find("Outcomes are never negative, but 11.0% of the lower bounds are"), std::string::npos) << counts;
  EXPECT_NE(counts.find("--outcome-range 0,"), std::string::npos) << counts;
  EXPECT_NE(counts.find("All outcomes are whole numbers: --outcome-step 1"), std::string::npos) << counts;
  EXPECT_EQ(kinds({.low = 0, .step = 1}, 1, 0, 10.5), "");
  EXPECT_EQ(kinds({}, 1, -1, 2000), "");        // negative ones, and a small gain
  EXPECT_EQ(kinds({}, 1.2345, 0.1, 0.05), "");  // no negative bound
  EXPECT_NE(kinds({}, 0.00987, 0, 0.1).find("outcome_range=(0, 1)"), std::string::npos);
  EXPECT_NE(kinds({.low = 0}, 0.1, 0, 0.3).find("--outcome-step 0.1"), std::string::npos);
}

}  // namespace
}  // namespace widthwise
