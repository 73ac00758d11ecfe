#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <widthwise/error.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/model.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/random.hpp>

#include "model/list_selection.hpp"
#include "support/errors.hpp"
#include "support/model_examples.hpp"
#include "support/numbers.hpp"
#include "support/rule_cases.hpp"

namespace widthwise {
namespace {

using examples::Answers;

/// Parameters that depend on x and differ between folds.
class FoldWaves final : public RowFunction {
 public:
  FoldWaves(std::size_t outputs, double shift) : outputs_(outputs), shift_(shift) {}
  [[nodiscard]] std::size_t inputs() const override { return 3; }
  [[nodiscard]] std::size_t outputs() const override { return outputs_; }
  void evaluate(MatrixView x, MutableMatrixView out) const override {
    for (std::size_t i = 0; i < x.rows(); ++i) {
      for (std::size_t j = 0; j < outputs_; ++j) {
        const double first = std::isnan(x(i, 0)) ? 0 : x(i, 0);
        out(i, j) = 0.3 * std::sin(first + shift_ + static_cast<double>(j));
      }
    }
  }

 private:
  std::size_t outputs_;
  double shift_;
};

/// A fold with a rule of its own and rows of its own, of which many have the same residual; `extreme` also adds scores
/// of infinity.
Model fold_model(const ConformalRule& rule, std::size_t fold, std::size_t rows, bool extreme) {
  ModelParts parts{.features = examples::names(2),
                   .target = "y",
                   .prediction = fold_prediction("f", fold),
                   .rule = rule,
                   .unit = std::ldexp(1.0, static_cast<int>(fold % 3)),
                   .levels = {0.5, 0.9}};
  const auto shift = static_cast<double>(fold);
  if (rule.parameter_count() > 0) parts.localizer = std::make_shared<FoldWaves>(rule.parameter_count(), shift);
  const Model model(parts);
  examples::Table table(rows, 2, 100 + fold);
  for (std::size_t i = 0; i < rows; i += 3) {
    table.x[2 * i] = 0.5;
    table.y[i] = table.predictions[i] + 2;
  }
  Calibration calibration;
  model.calibrate(calibration, table.for_model(model), table.y, 0);
  if (extreme) calibration.add(rows, {.score = kInfinity});
  return model.with_calibration(std::move(calibration));
}

Model cross_model(const ConformalRule& rule, std::span<const std::size_t> sizes, bool extreme = true) {
  std::vector<Model> folds;
  for (std::size_t k = 0; k < sizes.size(); ++k) folds.push_back(fold_model(rule, k, sizes[k], extreme && k == 1));
  return Model::of_folds(std::move(folds), "f", RowSketch());
}

/// Rows with a prediction per fold; some predictions are missing.
struct FoldTable {
  examples::Table table;
  std::vector<double> predictions;

  FoldTable(std::size_t rows, std::size_t folds, bool missing) : table(rows, 2, 7) {
    Random random(8);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < folds; ++k) predictions.push_back(table.predictions[i] + 0.2 * random.normal());
      if (missing && i % 11 == 5) predictions[i * folds + i % folds] = i % 2 == 0 ? kNaN : kInfinity;
    }
  }
  [[nodiscard]] Rows rows() const { return {.x = table.matrix(), .predictions = predictions}; }
};

/// The bounds of all calibration scores with their fold models, sorted.
struct AllBounds {
  std::vector<double> lower;
  std::vector<double> upper;

  AllBounds(const Model& model, const FoldTable& rows, std::size_t row) {
    const std::size_t folds = model.parts().folds.size();
    for (std::size_t k = 0; k < folds; ++k) {
      const Model& fold = *model.parts().folds[k];
      const double prediction = rows.predictions[row * folds + k];
      for (const CalibrationRow& scored : fold.parts().calibration.rows(0)) {
        double f = 0;
        double low = 0;
        double high = 0;
        fold.intervals_at({.x = rows.table.matrix().slice(row, 1), .predictions = {&prediction, 1}},
                          {&scored.score, 1, 1}, {&f, 1}, {&low, 1, 1}, {&high, 1, 1});
        lower.push_back(low);
        upper.push_back(high);
      }
    }
    std::ranges::sort(lower);
    std::ranges::sort(upper);
  }
};

class EveryCrossCalibration : public testing::TestWithParam<RuleCase> {};

TEST_P(EveryCrossCalibration, SelectsTheBoundsOfAllRowsInOrder) {
  const std::vector<std::size_t> sizes = {40, 17, 55, 1};
  const Model model = cross_model(GetParam().rule(), sizes);
  const FoldTable rows(40, sizes.size(), true);
  const std::vector<Level> levels = {0.1, 0.5, 0.8, 0.9, 0.99, 0.999};
  const Answers found = examples::answers(model, rows.rows(), levels);
  const auto expect_same = [&](double bound, double sorted) {
    if (GetParam().transform != "mixture") {
      EXPECT_EQ(bound, sorted);
    } else if (bound != sorted) {  // its inverse is found by bisection, and increases except for its last bits
      EXPECT_NEAR(bound, sorted, 1e-12 * std::abs(sorted));
    }
  };
  for (std::size_t i = 0; i < rows.table.rows(); ++i) {
    const AllBounds all(model, rows, i);
    const std::size_t n = all.lower.size();
    for (std::size_t j = 0; j < levels.size(); ++j) {
      const std::uint64_t rank = levels[j].rank(n);
      double low = rank > n ? -kInfinity : all.lower[n - rank];  // the floor(alpha (n + 1))-th smallest
      double high = rank > n ? kInfinity : all.upper[rank - 1];
      if (low > high) low = high = found.predictions[i];
      expect_same(found.lower[i * levels.size() + j], low);
      expect_same(found.upper[i * levels.size() + j], high);
      if (levels[j] >= Level(0.5) && !std::isnan(found.predictions[i])) {
        EXPECT_LE(low, found.predictions[i]);
        EXPECT_GE(high, found.predictions[i]);
      }
    }
  }
}

TEST_P(EveryCrossCalibration, HasPValuesThatAgreeWithItsIntervals) {
  const std::vector<std::size_t> sizes = {40, 17, 55};
  const Model model = cross_model(GetParam().rule(), sizes, false);
  const FoldTable rows(60, sizes.size(), false);
  const Answers found = examples::answers(model, rows.rows(), {0.9});
  std::vector<double> p(rows.table.rows());
  model.p_values(rows.rows(), rows.table.y, p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    // The interval contains every outcome with a p-value above alpha.
    if (p[i] > 0.1) {
      EXPECT_LE(found.lower[i], rows.table.y[i]);
      EXPECT_GE(found.upper[i], rows.table.y[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllRules, EveryCrossCalibration, testing::ValuesIn(all_rules()), rule_name);

TEST(ListSelection, EqualsSortingForListsOfAnySize) {
  Random random(1);
  for (std::size_t trial = 0; trial < 300; ++trial) {
    std::vector<std::vector<double>> lists(1 + random.below(6));
    std::vector<double> all;
    for (std::size_t k = 0; k < lists.size(); ++k) {
      const std::size_t size = random.below(4) == 0 ? 0 : random.below(400);
      for (std::size_t i = 0; i < size; ++i) {
        lists[k].push_back(random.below(10) == 0 ? kInfinity : static_cast<double>(random.below(1 + trial)));
      }
      std::ranges::sort(lists[k]);
      for (const double number : lists[k]) all.push_back(number + static_cast<double>(k));
    }
    if (all.empty()) continue;
    std::ranges::sort(all);
    internal::ListSelection selection({lists.begin(), lists.end()});
    ASSERT_EQ(selection.size(), all.size());
    for (std::size_t rank = 1; rank <= all.size(); rank += 1 + random.below(20)) {
      const double found =
          selection.select(rank, [](std::size_t k, double number) { return number + static_cast<double>(k); });
      EXPECT_EQ(found, all[rank - 1]);
    }
  }
}

TEST(CrossCalibration, PredictsTheMedianOfItsFoldsWeightedByRows) {
  const ConformalRule rule(make_transform("identity"));
  const std::vector<std::size_t> sizes = {10, 10, 30};
  const Model model = cross_model(rule, sizes, false);
  const double x[2] = {0, 0};
  const double predictions[3] = {1, 2, 5};
  double found = 0;
  model.predictions({.x = {x, 1, 2}, .predictions = predictions}, {&found, 1});
  EXPECT_EQ(found, 5);
  const std::vector<std::size_t> equal = {10, 10};
  const Model halves = cross_model(rule, equal, false);
  halves.predictions({.x = {x, 1, 2}, .predictions = std::span(predictions).first(2)}, {&found, 1});
  EXPECT_EQ(found, 1.5);
  EXPECT_EQ(halves.prediction_columns(), (std::vector<std::string>{"f.0", "f.1"}));
}

TEST(CrossCalibration, SurvivesAFile) {
  const std::vector<std::size_t> sizes = {40, 17, 55};
  // FoldWaves are not stored in files.
  const Model model = cross_model(ConformalRule(make_transform("identity")), sizes);
  const Model read = deserialise(serialise(model));
  EXPECT_EQ(serialise(read), serialise(model));
  const FoldTable rows(20, sizes.size(), true);
  const Answers before = examples::answers(model, rows.rows(), {0.8, 0.9});
  const Answers after = examples::answers(read, rows.rows(), {0.8, 0.9});
  EXPECT_EQ(before.lower, after.lower);
  EXPECT_EQ(before.upper, after.upper);
  EXPECT_EQ(read.calibration_rows(), 113U);
  EXPECT_TRUE(examples::check_model_bytes(serialise(model)));
}

TEST(CrossCalibration, RefusesFoldsThatDoNotBelongTogether) {
  const std::vector<std::size_t> sizes = {10, 12};
  const Model model = cross_model(ConformalRule(make_transform("identity")), sizes, false);
  const auto refusal = [&](const std::string& part, const std::function<void(ModelParts&)>& spoil_model,
                           const std::function<void(ModelParts&)>& spoil_fold = {}) {
    ModelParts parts = model.parts();
    if (spoil_fold) {
      ModelParts fold = parts.folds[1]->parts();
      spoil_fold(fold);
      parts.folds[1] = std::make_shared<const Model>(std::move(fold));
    }
    if (spoil_model) spoil_model(parts);
    expect_error(ErrorCode::kInvalidArgument, part, [&] { (void)Model(parts); });
  };
  const auto keep = std::function<void(ModelParts&)>();
  refusal("expected 2 to", [](ModelParts& parts) { parts.folds.pop_back(); });
  refusal("has no model", [](ModelParts& parts) { parts.folds[0] = nullptr; });
  refusal("is a cross-calibrated model",
          [&](ModelParts& parts) { parts.folds[1] = std::make_shared<const Model>(model); });
  refusal("other features", keep, [](ModelParts& fold) { fold.features[0] = "other"; });
  refusal("another target", keep, [](ModelParts& fold) { fold.target = "other"; });
  refusal("other levels", keep, [](ModelParts& fold) { fold.levels = {0.7}; });
  refusal("another range", keep, [](ModelParts& fold) { fold.outcome_space.low = -100; });
  refusal("another range or step", keep, [](ModelParts& fold) { fold.outcome_space.step = 1; });
  refusal("no calibration rows", keep, [](ModelParts& fold) { fold.calibration = Calibration(); });
  refusal("prediction column", keep, [](ModelParts& fold) { fold.prediction = "f.7"; });
  refusal("training-conditional", keep, [](ModelParts& fold) { fold.guarantee = Guarantee(0.95); });
  refusal("not that of the first fold",
          [](ModelParts& parts) { parts.rule = ConformalRule(make_transform("identity"), Score::kSquared); });
  refusal("in its folds only", [&](ModelParts& parts) { parts.calibration = parts.folds[0]->parts().calibration; });
  refusal("use split calibration", [](ModelParts& parts) { parts.columns[Role::kGroup] = "g"; });
  refusal("no guarantee 0.95", [](ModelParts& parts) { parts.guarantee = Guarantee(0.95); });
}

TEST(CrossCalibration, RefusesOperationsThatNeedOneCalibration) {
  const std::vector<std::size_t> sizes = {10, 12};
  const Model model = cross_model(ConformalRule(make_transform("identity")), sizes, false);
  const FoldTable rows(5, 2, false);
  std::vector<double> out(5);
  const std::vector<Level> half = {0.5};
  Calibration calibration;
  const auto refuses = [](const std::function<void()>& action) {
    expect_error(ErrorCode::kInvalidArgument, "fit with split calibration", action);
  };
  refuses([&] { model.quantiles(rows.rows(), half, {out.data(), 5, 1}); });
  refuses([&] { model.scores(rows.rows(), rows.table.y, out); });
  refuses([&] { model.calibrate(calibration, rows.rows(), rows.table.y, 0); });
  refuses([&] { (void)model.with_calibration(calibration); });
  refuses([&] { (void)model.with_guarantee(Guarantee(0.95)); });
  EXPECT_EQ(serialise(model.with_guarantee(Guarantee())), serialise(model));
}

TEST(CrossCoverage, IsThatOfTheTheorems) {
  const std::vector<std::uint64_t> each(60, 1);
  EXPECT_DOUBLE_EQ(cross_coverage(0.9, each), 0.8);  // jackknife+
  const std::vector<std::uint64_t> five(5, 12);
  EXPECT_DOUBLE_EQ(cross_coverage(0.9, five), 1 - 2 * (0.1 + 0.9 * 4 / 65));
  const std::vector<std::uint64_t> large(5, 20'000);
  EXPECT_NEAR(cross_coverage(0.9, large), 0.8, 1e-4);
  EXPECT_EQ(cross_coverage(0.5, five), 0);
  EXPECT_EQ(cross_coverage_of_model(0.9, each, 0.01), 0);
  EXPECT_NEAR(cross_coverage_of_model(0.9, large, 0.01), 0.8 - std::sqrt(2 * std::log(500.0) / 20'000), 1e-4);
}

}  // namespace
}  // namespace widthwise
