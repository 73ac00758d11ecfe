#include <widthwise/knn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/knn.hpp>

#include "support/errors.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

/// The definition: sort all rows by distance, then by place.
double mean_of_nearest(const KnnArrays& arrays, std::span<const double> x) {
  const std::size_t inputs = arrays.centre.size();
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < arrays.values.size(); ++i) {
    double distance = 0;
    for (std::size_t j = 0; j < inputs; ++j) {
      double scaled = (x[j] - arrays.centre[j]) / arrays.scale[j];
      if (std::isnan(x[j])) scaled = 0;
      scaled = std::min(std::max(scaled, -1e6), 1e6);
      const double difference = scaled - arrays.points[i * inputs + j];
      distance += difference * difference;
    }
    order.emplace_back(distance, i);
  }
  std::sort(order.begin(), order.end());
  double mean = 0;
  for (std::size_t i = 0; i < arrays.neighbours; ++i) mean += arrays.values[order[i].second] / arrays.neighbours;
  return mean;
}

/// `coarse`: points on a grid, most of them several times, so that many distances are the same.
KnnArrays random_arrays(std::size_t rows, std::size_t inputs, std::size_t k, bool coarse, Random& random) {
  KnnArrays arrays;
  arrays.neighbours = static_cast<std::uint32_t>(k);
  for (std::size_t j = 0; j < inputs; ++j) {
    arrays.centre.push_back(coarse ? static_cast<double>(random.below(3)) : random.normal());
    arrays.scale.push_back(coarse ? 0.5 : 0.1 + random.uniform());
  }
  for (std::size_t i = 0; i < rows * inputs; ++i) {
    arrays.points.push_back(coarse ? std::round(random.normal()) : random.normal());
  }
  for (std::size_t i = 0; i < rows; ++i) arrays.values.push_back(random.normal());
  return arrays;
}

TEST(Knn, AreThoseOfBruteForceTiesIncluded) {
  Random random(1);
  for (const bool coarse : {false, true}) {
    for (const std::size_t inputs : {1U, 2U, 5U, 16U, 17U, 40U}) {
      for (const std::size_t rows : {1U, 2U, 11U, 300U}) {
        for (const std::size_t k : {1U, 2U, 7U, 32U, 300U}) {
          if (k > rows) continue;
          const KnnArrays arrays = random_arrays(rows, inputs, k, coarse, random);
          const Knn model(arrays);
          const std::size_t n = 40;
          const std::size_t stride = inputs + 2;
          std::vector<double> x(n * stride);
          for (double& value : x) {
            value = coarse ? std::round(random.normal()) / 2 : random.normal();
            if (random.below(20) == 0) value = kNaN;
            if (random.below(50) == 0) value = random.below(2) == 0 ? kInfinity : -kInfinity;
            if (random.below(50) == 0) value = 1e300;
          }
          std::vector<double> out(3 * n, 7.0);
          model.evaluate({x.data(), n, inputs, stride}, {out.data(), n, 1, 3});
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(out[3 * i], mean_of_nearest(arrays, {x.data() + i * stride, inputs}))
                << inputs << " inputs, " << rows << " rows, k " << k << ", row " << i;
            ASSERT_EQ(out[3 * i + 1], 7.0);
          }
        }
      }
    }
  }
}

TEST(Knn, AreTheFirstRowsWhereNothingTellsThemApart) {
  KnnArrays arrays;
  arrays.neighbours = 3;
  arrays.values = {1, 2, 6, 100, 1000};
  double out = 0;
  Knn(arrays).evaluate({nullptr, 1, 0}, {&out, 1, 1});
  EXPECT_DOUBLE_EQ(out, 3);
  arrays.centre = {0};
  arrays.scale = {1};
  arrays.points.assign(5, 0.5);
  const double x = 9;
  Knn(arrays).evaluate({&x, 1, 1}, {&out, 1, 1});
  EXPECT_DOUBLE_EQ(out, 3);
}

TEST(Knn, OfInfinitiesAreTheFarthestRowsOnThatSide) {
  KnnArrays arrays;
  arrays.centre = {5};
  arrays.scale = {2};
  for (int i = -50; i <= 50; ++i) {
    arrays.points.push_back(i / 10.0);
    arrays.values.push_back(i);
  }
  const Knn model(arrays);
  const std::vector<double> x{-kInfinity, -1e308, kNaN, 5, 1e308, kInfinity};
  std::vector<double> out(x.size());
  model.evaluate(MatrixView::column(x), MutableMatrixView::column(out));
  EXPECT_EQ(out, (std::vector<double>{-50, -50, 0, 0, 50, 50}));
}

// A tree that halves boxes takes a level for each of these points, column by column.
TEST(Knn, TakePointsThatHalvingPartsOneByOne) {
  KnnArrays arrays;
  const std::size_t inputs = 20;
  arrays.neighbours = 2;
  arrays.centre.assign(inputs, 0);
  arrays.scale.assign(inputs, 1);
  for (std::size_t j = 0; j < inputs; ++j) {
    for (double size = 1e6; size >= 1e-30; size /= 2) {
      for (std::size_t i = 0; i < inputs; ++i) arrays.points.push_back(i == j ? size : 0);
      arrays.values.push_back(size);
    }
  }
  const Knn model(arrays);
  Random random(2);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> x(inputs);
    x[random.below(inputs)] = std::exp(20 * random.normal());
    double out = 0;
    model.evaluate({x.data(), 1, inputs}, {&out, 1, 1});
    EXPECT_EQ(out, mean_of_nearest(arrays, x));
  }
}

TEST(Knn, RefuseArraysThatDoNotFit) {
  Random random(3);
  const KnnArrays good = random_arrays(4, 2, 3, false, random);
  EXPECT_EQ(Knn(good).inputs(), 2U);
  struct Case {
    std::function<void(KnnArrays&)> spoil;
    const char* message;
  };
  const std::vector<Case> cases{
      {[](auto& a) { a.neighbours = 0; }, "expected 1 to 4 neighbours, at most one per row, found 0"},
      {[](auto& a) { a.neighbours = 5; }, "found 5"},
      {[](auto& a) { a.values.clear(), a.points.clear(); }, "rows, found 0"},
      {[](auto& a) { a.scale.pop_back(); }, "as many scales as centres, 2, found 1"},
      {[](auto& a) { a.points.pop_back(); }, "points of 4 x 2 numbers, found 7"},
      {[](auto& a) { a.values.pop_back(); }, "points of 3 x 2 numbers, found 8"},
      {[](auto& a) { a.centre[1] = kNaN; }, "the centre of column 2 is not finite"},
      {[](auto& a) { a.scale[1] = 0; }, "the scale of column 2 is not positive"},
      {[](auto& a) { a.scale[0] = -1; }, "the scale of column 1"},
      {[](auto& a) { a.scale[0] = kInfinity; }, "the scale of column 1"},
      {[](auto& a) { a.scale[0] = kNaN; }, "the scale of column 1"},
      {[](auto& a) { a.values[2] = kInfinity; }, "row 3: the value is not finite"},
      {[](auto& a) { a.points[5] = kNaN; }, "row 3: column 2"},
      {[](auto& a) { a.points[5] = 2e6; }, "row 3: column 2"},
      {[](auto& a) { a.points[4] = -1e-31; }, "row 3: column 1"},
  };
  for (const Case& spoilt : cases) {
    KnnArrays arrays = good;
    spoilt.spoil(arrays);
    expect_error(ErrorCode::kBadData, spoilt.message, [&] { const Knn model(arrays); });
  }
  const Knn model(good);
  std::vector<double> numbers(12);
  expect_error(ErrorCode::kShapeMismatch, "Knn::evaluate",
               [&] { model.evaluate({numbers.data(), 2, 3}, {numbers.data(), 2, 1}); });
}

// ---- the trainer

/// y = 10 sin(x0) + noise; column 1 is x0 a thousand times as large and column 2 constant.
struct KnnTable {
  std::vector<double> x;
  std::vector<double> y;

  KnnTable(std::size_t n, double noise, Random& random) {
    for (std::size_t i = 0; i < n; ++i) {
      const double u = 6 * random.uniform();
      x.insert(x.end(), {u, 1000 * u, 4});
      y.push_back(10 * std::sin(u) + noise * random.normal());
    }
  }

  [[nodiscard]] MatrixView view() const { return {x.data(), y.size(), 3}; }
};

double mean_error(const RowFunction& model, const KnnTable& table) {
  std::vector<double> out(table.y.size());
  model.evaluate(table.view(), MutableMatrixView::column(out));
  double sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i) sum += std::abs(out[i] - table.y[i]);
  return sum / static_cast<double>(out.size());
}

const KnnArrays& arrays_of(const RowFunction& model) { return dynamic_cast<const Knn&>(model).arrays(); }

TEST(KnnTrainer, LearnsACurveAndTakesMoreNeighboursOfNoisierRows) {
  Random random(4);
  const auto trainer = make_knn_trainer();
  EXPECT_EQ(trainer->name(), "knn");
  const KnnTable clean(1000, 0, random);
  const KnnTable noisy(1000, 5, random);
  const auto on_clean = trainer->train(clean.view(), clean.y, "base model", {});
  const auto on_noisy = trainer->train(noisy.view(), noisy.y, "base model", {});
  EXPECT_EQ(arrays_of(*on_clean).neighbours, 2U);
  EXPECT_GE(arrays_of(*on_noisy).neighbours, 16U);
  EXPECT_LT(mean_error(*on_clean, KnnTable(500, 0, random)), 0.1);
  EXPECT_LT(mean_error(*on_noisy, KnnTable(500, 0, random)), 2);
}

TEST(KnnTrainer, StandardisesTheRowsItRemembers) {
  Random random(5);
  const KnnTable table(3000, 1, random);
  const auto model = make_knn_trainer({.max_rows = 400})->train(table.view(), table.y, "base model", {});
  const KnnArrays& arrays = arrays_of(*model);
  ASSERT_EQ(arrays.values.size(), 400U);
  for (std::size_t j = 0; j < 3; ++j) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < 400; ++i) {
      sum += arrays.points[3 * i + j];
      squares += arrays.points[3 * i + j] * arrays.points[3 * i + j];
    }
    EXPECT_NEAR(sum, 0, 1e-9);
    EXPECT_NEAR(squares, j < 2 ? 400 : 0, 1e-9);
  }
  EXPECT_EQ(arrays.scale[2], 1);
  // Remembered are rows of the table, each once.
  const std::set<double> remembered(arrays.values.begin(), arrays.values.end());
  const std::set<double> all(table.y.begin(), table.y.end());
  EXPECT_EQ(remembered.size(), 400U);
  EXPECT_TRUE(std::includes(all.begin(), all.end(), remembered.begin(), remembered.end()));
}

TEST(KnnTrainer, RemembersOtherRowsForAnotherSeedAndAllRowsWhenAsked) {
  Random random(6);
  const KnnTable table(200, 1, random);
  const auto values = [&](const KnnOptions& options) {
    return arrays_of(*make_knn_trainer(options)->train(table.view(), table.y, "base model", {})).values;
  };
  EXPECT_EQ(values({.max_rows = 50, .seed = 1}), values({.max_rows = 50, .seed = 1}));
  EXPECT_NE(values({.max_rows = 50, .seed = 1}), values({.max_rows = 50, .seed = 2}));
  EXPECT_EQ(values({.max_rows = 50}).size(), 50U);
  EXPECT_EQ(values({.max_rows = 0}).size(), 200U);
  EXPECT_EQ(values({}).size(), 200U);
}

TEST(KnnTrainer, TakesMissingInfiniteAndHugeValues) {
  Random random(7);
  KnnTable table(300, 1, random);
  for (std::size_t i = 0; i < table.x.size(); ++i) {
    if (random.below(10) == 0) table.x[i] = kNaN;
    if (random.below(20) == 0) table.x[i] = kInfinity;
    if (i % 3 == 1) table.x[i] *= 1e303;
    if (i % 3 == 2) table.x[i] = kNaN;
  }
  const auto model = make_knn_trainer()->train(table.view(), table.y, "base model", {});
  std::vector<double> out(300);
  model->evaluate(table.view(), MutableMatrixView::column(out));
  for (const double value : out) EXPECT_TRUE(std::isfinite(value));
}

TEST(KnnTrainer, DropsCandidatesThatTheRowsDoNotGive) {
  Random random(8);
  for (const std::size_t n : {2U, 3U, 5U, 20U}) {
    const KnnTable table(n, 1, random);
    const auto model = make_knn_trainer()->train(table.view(), table.y, "base model", {});
    EXPECT_EQ(arrays_of(*model).values.size(), n);
    EXPECT_LE(arrays_of(*model).neighbours, n);
  }
  const KnnTable table(5, 1, random);
  expect_error(ErrorCode::kTooFewRows, "the smallest candidate for k is 6, but there are only 5 rows",
               [&] { (void)make_knn_trainer({.candidates = {8, 6}})->train(table.view(), table.y, "base model", {}); });
}

TEST(KnnTrainer, TellsItsProgressAndStopsWhenAsked) {
  Random random(9);
  const KnnTable table(600, 1, random);
  std::vector<std::size_t> done;
  std::size_t total = 0;
  const auto trainer = make_knn_trainer();
  (void)trainer->train(table.view(), table.y, "base model, fold 2 of 5", [&](const Progress& progress) {
    EXPECT_EQ(progress.stage, "base model, fold 2 of 5");
    done.push_back(progress.done);
    total = progress.total;
    return true;
  });
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.front(), 0U);
  EXPECT_EQ(done.back(), total);
  EXPECT_GT(done.size(), 5U);
  int calls = 0;
  expect_error(ErrorCode::kCancelled, "cancelled",
               [&] { (void)trainer->train(table.view(), table.y, "s", [&](const Progress&) { return ++calls < 3; }); });
  EXPECT_EQ(calls, 3);
}

TEST(KnnTrainer, RefusesBadOptionsAndRows) {
  const auto refused = [](const KnnOptions& options, const char* message) {
    expect_error(ErrorCode::kInvalidArgument, message, [&] { (void)make_knn_trainer(options); });
  };
  refused({.candidates = {}}, "candidates is ''; expected whole numbers");
  refused({.candidates = {4, 0}}, "candidates is '4,0'");
  refused({.holdout_fraction = 0}, "holdout_fraction");
  refused({.holdout_fraction = 1}, "holdout_fraction");
  refused({.holdout_fraction = kNaN}, "holdout_fraction");
  refused({.max_rows = 1}, "max_rows");
  const auto trainer = make_knn_trainer();
  const std::vector<double> x(6);
  const auto train = [&](std::size_t rows, const std::vector<double>& y) {
    (void)trainer->train(MatrixView(x.data(), rows, 2), y, "base model", {});
  };
  expect_error(ErrorCode::kShapeMismatch, "3 rows of x but 2 of y", [&] { train(3, {1, 2}); });
  expect_error(ErrorCode::kTooFewRows, "at least 2 rows, found 1", [&] { train(1, {1}); });
  expect_error(ErrorCode::kTooFewRows, "found 0", [&] { train(0, {}); });
  expect_error(ErrorCode::kNotFinite, "y of row 2 is nan", [&] { train(3, {1, kNaN, 2}); });
}

}  // namespace
}  // namespace widthwise
