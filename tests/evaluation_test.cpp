#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include <widthwise/evaluation.hpp>
#include <widthwise/random.hpp>

namespace widthwise {
namespace {

/// n intervals [-1, 1], of which a share is missed, and one feature.
struct TestRows {
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> outcomes;
  std::vector<double> feature;
  std::vector<std::size_t> rows;

  TestRows(std::size_t n, double coverage, double coverage_at_the_end) : rows(n) {
    Random random(1);
    for (std::size_t i = 0; i < n; ++i) {
      feature.push_back(100 * random.uniform());
      lower.push_back(-1);
      upper.push_back(1);
      outcomes.push_back(random.uniform() < (feature.back() > 90 ? coverage_at_the_end : coverage) ? 0 : 2);
    }
    std::iota(rows.begin(), rows.end(), std::size_t{0});
  }

  [[nodiscard]] Evaluation evaluation(std::uint64_t calibration_rows) const {
    return evaluate({lower, upper, outcomes}, 0.9, calibration_rows, {rows, MatrixView::column(feature)});
  }
};

TEST(Evaluation, JudgesBySizeOfCalibrationAndTest) {
  EXPECT_EQ(TestRows(5000, 0.9, 0.9).evaluation(5000).verdict, Verdict::kValid);
  const Evaluation low = TestRows(5000, 0.85, 0.85).evaluation(5000);
  EXPECT_EQ(low.verdict, Verdict::kTooLow);
  EXPECT_NE(low.in_words.find("calibrate again with rows like them"), std::string::npos);
  EXPECT_EQ(TestRows(5000, 0.96, 0.96).evaluation(5000).verdict, Verdict::kTooHigh);
  // The same coverage is no surprise when a few rows calibrated.
  EXPECT_EQ(TestRows(5000, 0.85, 0.85).evaluation(100).verdict, Verdict::kValid);
  const Evaluation infinite = TestRows(5000, 1, 1).evaluation(8);
  EXPECT_EQ(infinite.verdict, Verdict::kInfinite);
  EXPECT_NE(infinite.in_words.find("until there are 9 calibration rows; the model has 8"), std::string::npos);
  for (const Verdict verdict : {Verdict::kValid, Verdict::kTooLow, Verdict::kTooHigh, Verdict::kInfinite}) {
    EXPECT_FALSE(name_of(verdict).empty());
  }
}

TEST(Evaluation, FindsWhereCoverageIsWeakest) {
  const Evaluation evaluation = TestRows(8000, 0.95, 0.5).evaluation(5000);
  ASSERT_TRUE(evaluation.weakest && evaluation.slab);
  EXPECT_NEAR(evaluation.weakest->low, 90, 3);
  EXPECT_NEAR(evaluation.weakest->coverage.share, 0.5, 0.12);
  EXPECT_NEAR(evaluation.slab->coverage.share, 0.5, 0.12);
  EXPECT_TRUE(evaluation.has_weak_range());
  EXPECT_FALSE(TestRows(8000, 0.9, 0.9).evaluation(5000).has_weak_range());
}

TEST(Evaluation, LooksForNoPlaceAmongFewRows) {
  const Evaluation evaluation = TestRows(99, 0.9, 0.9).evaluation(1000);
  EXPECT_FALSE(evaluation.weakest.has_value());
  EXPECT_FALSE(evaluation.slab.has_value());
  EXPECT_FALSE(evaluation.has_weak_range());
}

TEST(Evaluation, SaysRangesInWords) {
  EXPECT_EQ(in_words({.low = 4000, .high = 13540, .reaches_greatest = true}, "sqft"), "sqft is at least 4000");
  EXPECT_EQ(in_words({.low = 1, .high = 12384, .reaches_least = true}, "sqft"), "sqft is at most 12,384");
  EXPECT_EQ(in_words({.low = 0.25, .high = 0.5}, "x"), "x is 0.25 to 0.5");
  EXPECT_EQ(in_words({.low = 3, .high = 3}, "rooms"), "rooms is 3");
  EXPECT_EQ(in_words({.low = 0, .high = 1, .reaches_least = true, .reaches_greatest = true}, "x"), "x is anything");
}

}  // namespace
}  // namespace widthwise
