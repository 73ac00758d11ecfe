#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/train/xgboost.hpp>

#include "support/errors.hpp"
#include "train/engines/xgboost/booster.hpp"
#include "xgboost/library.hpp"

namespace widthwise {
namespace {

using internal::Booster;
using internal::TrainingMatrix;

constexpr std::size_t kColumns = 4;
constexpr std::uint8_t kCategorical[kColumns] = {0, 1, 1, 1};
constexpr std::size_t kCounts[kColumns] = {0, 3, 40, 300};

/// Rows of a number and three categories, on which the outcome depends; a tenth of all values is missing.
struct CategoryRows {
  std::vector<double> x;
  std::vector<double> y;

  CategoryRows(std::size_t rows, std::uint64_t seed, bool with_unseen = false) {
    Random random(seed);
    for (std::size_t i = 0; i < rows; ++i) {
      double outcome = 0;
      for (std::size_t j = 0; j < kColumns; ++j) {
        const std::size_t count = kCounts[j];
        double value = count == 0 ? random.normal() : static_cast<double>(random.below(count));
        outcome += count == 0 ? value : static_cast<double>(mix_bits(static_cast<std::uint64_t>(value)) % 100) / 20;
        if (random.below(10) == 0) value = std::numeric_limits<double>::quiet_NaN();
        if (with_unseen && count > 0 && random.below(10) == 0) value = unseen(random, count);
        x.push_back(value);
      }
      y.push_back(outcome * (1 + 0.1 * random.normal()));
    }
  }

  /// A number that no category had in training, or that none can have.
  static double unseen(Random& random, std::size_t count) {
    const double values[] = {
        static_cast<double>(count + random.below(2000)), -1.0, -0.5, 1.5, 16'777'216.0, 1e30, 3e38};
    return values[random.below(std::size(values))];
  }

  [[nodiscard]] std::size_t rows() const { return y.size(); }
  [[nodiscard]] MatrixView view() const { return {x.data(), rows(), kColumns}; }
};

class SameCategories : public ::testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(SameCategories, CoreGivesTheBitsOfXgboostOnAHundredThousandRowsWithMissingAndUnseenCategories) {
  const auto [depth, to_onehot] = GetParam();
  const CategoryRows fit(20'000, 1);
  TrainingMatrix matrix(library(), {fit.view(), kCategorical}, 2);
  matrix.set_labels(fit.y);
  const TrainingMatrix* const matrices[] = {&matrix};
  Booster booster(library(), matrices,
                  {{"tree_method", "hist"},
                   {"max_depth", std::to_string(depth)},
                   {"eta", "0.3"},
                   {"max_cat_to_onehot", to_onehot},
                   {"nthread", "2"}});
  std::vector<float> gradient(fit.rows());
  const std::vector<float> hessian(gradient.size(), 1.0F);
  for (std::size_t round = 0; round < 20; ++round) {
    const auto margins = booster.margins(matrix, true);
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = margins[i] - static_cast<float>(fit.y[i]);
    booster.update(matrix, round, gradient, hessian, 1);
  }
  const Trees trees(booster.trees(kColumns, 1, 20));
  ASSERT_GT(trees.sets(), 20U);

  const CategoryRows fresh(100'000, 2, true);
  const TrainingMatrix theirs(library(), {fresh.view(), kCategorical}, 2);
  const auto margins = booster.margins(theirs, false);
  std::vector<double> ours(fresh.rows());
  trees.evaluate(fresh.view(), {ours.data(), ours.size(), 1});
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(ours[i])), std::bit_cast<std::uint32_t>(margins[i]))
        << "row " << i;
  }
  for (std::size_t i = 0; i < 1000; ++i) {  // row by row, as a service does
    double alone = 0;
    trees.evaluate(fresh.view().slice(i, 1), {&alone, 1, 1});
    ASSERT_EQ(alone, ours[i]) << "row " << i;
  }
  const auto read = read_trees(booster.save());
  std::vector<double> again(fresh.rows());
  read->evaluate(fresh.view(), {again.data(), again.size(), 1});
  EXPECT_EQ(again, ours);
}

INSTANTIATE_TEST_SUITE_P(DepthAndSplits, SameCategories,
                         ::testing::Combine(::testing::Values(3, 9), ::testing::Values("1", "1000")));

// --- fit

Labels labels(std::size_t count) {
  Labels labels;
  for (std::size_t i = 0; i < count; ++i) labels.add("c" + std::to_string(i));
  return labels;
}

FitTable table_of(const CategoryRows& rows) {
  return {.rows = {.x = rows.view()},
          .y = rows.y,
          .features = {"n", "a", "b", "c"},
          .target = "y",
          .categories = {Labels(), labels(3), labels(40), labels(300)}};
}

TEST(FitWithCategories, UsesThemInBothModelsAndKeepsThemInTheFile) {
  const CategoryRows rows(3000, 3);
  const auto base = make_tree_base_trainer(library(), {.rounds = 30, .threads = 2});
  const auto localizer = make_tree_trainer(library(), {.max_rounds = 30, .threads = 2});
  const Model model = fit(table_of(rows), base.get(), localizer.get(), {}).model;
  EXPECT_EQ(model.categories_of(0).size(), 0U);
  EXPECT_EQ(model.categories_of(2), labels(40));
  EXPECT_GT(dynamic_cast<const Trees&>(*model.parts().base).sets(), 0U);
  EXPECT_GT(dynamic_cast<const Trees&>(*model.parts().localizer).sets(), 0U);

  const std::vector<std::byte> bytes = serialise(model);
  const Model loaded = deserialise(bytes);
  EXPECT_EQ(loaded.parts().categories, model.parts().categories);
  EXPECT_EQ(serialise(loaded), bytes);
  EXPECT_EQ(score_fingerprint(loaded), score_fingerprint(model));
  for (std::size_t i = 0; i < 100; ++i) {
    const Interval one = model.interval(rows.view().row(i), 0.9);
    const Interval other = loaded.interval(rows.view().row(i), 0.9);
    EXPECT_EQ(one.lower, other.lower);
    EXPECT_EQ(one.upper, other.upper);
  }
}

/// A base trainer that takes numbers only.
class NumbersTrainer final : public BaseTrainer {
 public:
  [[nodiscard]] std::string_view name() const override { return "numbers"; }
  [[nodiscard]] std::string engine() const override { return "none"; }
  [[nodiscard]] std::shared_ptr<const RowFunction> train(const InputRows& /*inputs*/, std::span<const double> /*y*/,
                                                         std::string_view /*stage*/,
                                                         const ProgressCallback& /*progress*/) const override {
    return nullptr;
  }
};

TEST(FitWithCategories, RefusesTrainersAndNumbersThatAreNotOfCategories) {
  const CategoryRows rows(200, 4);
  const auto base = make_tree_base_trainer(library(), {.rounds = 3});
  const NumbersTrainer numbers;
  const auto localizer = make_tree_trainer(library(), {.max_rounds = 3});
  expect_error(ErrorCode::kInvalidArgument, "the base model numbers does not take categorical features",
               [&] { (void)fit(table_of(rows), &numbers, localizer.get(), {}); });
  FitTable few = table_of(rows);
  few.categories[3] = labels(2);
  expect_error(ErrorCode::kBadData, "expected the number of one of 2 categories",
               [&] { (void)fit(few, base.get(), localizer.get(), {}); });
  FitTable short_list = table_of(rows);
  short_list.categories.pop_back();
  expect_error(ErrorCode::kShapeMismatch, "4 features but categories of 3",
               [&] { (void)fit(short_list, base.get(), localizer.get(), {}); });
  FitTable bytes = table_of(rows);
  bytes.categories[1] = Labels(std::vector<std::string>{"a", "b", "\xff"});
  expect_error(ErrorCode::kBadData, "the category '?' of 'a' is not UTF-8",
               [&] { (void)fit(bytes, base.get(), localizer.get(), {}); });
}

}  // namespace
}  // namespace widthwise
