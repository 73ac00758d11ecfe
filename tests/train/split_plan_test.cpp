#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/random.hpp>
#include <widthwise/train/fit.hpp>

#include "support/errors.hpp"

namespace widthwise {
namespace {

/// The same number for every row.
class Constant final : public RowFunction {
 public:
  explicit Constant(double value) : value_(value) {}
  [[nodiscard]] std::size_t inputs() const override { return 1; }
  [[nodiscard]] std::size_t outputs() const override { return 1; }
  void evaluate(MatrixView x, MutableMatrixView out) const override {
    for (std::size_t i = 0; i < x.rows(); ++i) out(i, 0) = value_;
  }

 private:
  double value_;
};

/// Predicts the largest outcome it was trained on, and records the outcomes, which identify rows.
class Largest final : public BaseTrainer {
 public:
  [[nodiscard]] std::string_view name() const override { return "largest"; }
  [[nodiscard]] std::string engine() const override { return "none"; }
  [[nodiscard]] std::shared_ptr<const RowFunction> train(const InputRows& /*x*/, std::span<const double> y,
                                                         std::string_view /*stage*/,
                                                         const ProgressCallback& /*progress*/) const override {
    trained.emplace(y.begin(), y.end());
    return std::make_shared<const Constant>(std::ranges::max(y));
  }

  mutable std::set<std::set<double>> trained;
};

struct PlannedRows {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<std::int64_t> clusters = {};

  explicit PlannedRows(std::size_t n, bool clustered = false) {
    Random random(1);
    for (std::size_t i = 0; i < n; ++i) {
      x.push_back(random.normal());
      y.push_back(x.back() + random.normal());
      if (clustered) clusters.push_back(static_cast<std::int64_t>(i / 3));
    }
  }

  [[nodiscard]] FitTable table() const {
    return {.rows = {.x = {x.data(), x.size(), 1}, .clusters = clusters},
            .y = y,
            .features = {"x"},
            .target = "y",
            .prediction = "f",
            .columns = {{Role::kCluster, clusters.empty() ? "" : "c"}}};
  }

  [[nodiscard]] std::set<double> outcomes(const std::vector<std::size_t>& rows) const {
    std::set<double> found;
    for (const std::size_t row : rows) found.insert(y[row]);
    return found;
  }
};

FitOptions one_width(CalibrationMethod method = CalibrationMethod::kSplit) {
  FitOptions options;
  options.score_transform = "identity";
  options.calibration = method;
  return options;
}

/// The predictions of estimators like `Largest` that are fitted as the plan says, and the rows that trained each.
struct Predicted {
  std::vector<std::vector<double>> values;
  std::set<std::set<double>> trained;

  Predicted(const PlannedRows& rows, const SplitPlan& plan) {
    for (const SplitPart& part : plan.parts) {
      std::vector<double>& f = values.emplace_back(rows.y.size(), std::nan(""));
      const auto predict = [&](const std::vector<std::size_t>& train, const std::vector<std::size_t>& test) {
        const std::set<double> outcomes = rows.outcomes(train);
        trained.insert(outcomes);
        for (const std::size_t row : test) f[row] = *outcomes.rbegin();
      };
      for (const Fold& fold : part.folds) predict(fold.train, fold.test);
      predict(part.fitting, part.calibration);
      if (part.folds.empty()) predict(part.fitting, part.predicted(f.size()));
    }
  }

  [[nodiscard]] FitResult fitted(const PlannedRows& rows, const SplitPlan& plan, const FitOptions& options) const {
    return fit(rows.table(), {plan, {values.begin(), values.end()}}, nullptr, options);
  }
};

TEST(SplitPlan, NamesTheRowsOfABaseModel) {
  for (const auto& [clustered, one_split] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
    FitOptions options = one_width();
    if (one_split) options.folds = kOneSplit;
    const PlannedRows rows(120, clustered);
    const Largest base;
    const FitResult own = fit(rows.table(), &base, nullptr, options);
    const SplitPlan plan = plan_splits(rows.table(), options);
    const Predicted predicted(rows, plan);
    EXPECT_EQ(predicted.trained, base.trained);
    EXPECT_EQ(base.trained.size(), options.folds == kOneSplit ? 1U : 6U);
    const FitResult found = predicted.fitted(rows, plan, options);
    EXPECT_EQ(found.report.calibration_rows, own.report.calibration_rows);
    EXPECT_EQ(found.report.few_rows, own.report.few_rows);
    EXPECT_DOUBLE_EQ(found.report.base_error, own.report.base_error);
    EXPECT_EQ(found.model.parts().calibration.serialise(), own.model.parts().calibration.serialise());
    EXPECT_EQ(found.model.parts().fit_cluster_size, own.model.parts().fit_cluster_size);
  }
}

TEST(SplitPlan, NamesTheFoldsOfCrossCalibration) {
  const PlannedRows rows(40);
  const FitOptions options = one_width(CalibrationMethod::kCross);
  const Largest base;
  const FitResult own = fit(rows.table(), &base, nullptr, options);
  const SplitPlan plan = plan_splits(rows.table(), options);
  ASSERT_EQ(plan.parts.size(), 5U);
  const Predicted predicted(rows, plan);
  EXPECT_TRUE(std::ranges::includes(base.trained, predicted.trained));
  const FitResult found = predicted.fitted(rows, plan, options);
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(found.model.parts().folds[k]->parts().calibration.serialise(),
              own.model.parts().folds[k]->parts().calibration.serialise());
    EXPECT_EQ(found.model.parts().folds[k]->parts().prediction, fold_prediction("f", k));
  }
}

TEST(SplitPlan, FewRowsAreTreatedAlike) {
  const PlannedRows rows(18);
  for (const auto method : {CalibrationMethod::kSplit, CalibrationMethod::kCross}) {
    FitOptions options;
    options.calibration = method;
    const Largest base;
    const FitResult own = fit(rows.table(), &base, nullptr, options);
    const SplitPlan plan = plan_splits(rows.table(), options);
    const FitResult found = Predicted(rows, plan).fitted(rows, plan, options);
    for (const FitResult* result : {&own, &found}) {
      ASSERT_FALSE(result->report.warnings.empty());
      EXPECT_EQ(result->report.warnings.front(),
                "18 rows are too few to learn how errors depend on the row: all intervals have one width");
    }
    EXPECT_EQ(found.report.few_rows, own.report.few_rows);
  }
  FitOptions many = one_width(CalibrationMethod::kCross);
  many.folds = 50;
  EXPECT_EQ(plan_splits(rows.table(), many).parts.size(), 18U);
}

TEST(SplitPlan, GivenFoldsAreChecked) {
  const PlannedRows rows(30, true);
  const FitOptions options = one_width();
  const SplitPart part = plan_splits(rows.table(), options, {}).parts.front();
  EXPECT_TRUE(part.folds.empty());
  const auto refused = [&](const Fold& fold, const std::string& why) {
    expect_error(ErrorCode::kInvalidArgument, why,
                 [&] { static_cast<void>(plan_splits(rows.table(), options, std::vector{fold})); });
  };
  refused({.train = {0, 1, 2}, .test = {2, 3}}, "fold 1 of 1 of cv has 1 of its 2 test rows among its training rows");
  refused({.train = {0, 1}, .test = {2}}, "separates rows of one cluster");
  refused({.train = {0}, .test = {30}}, "names row 30, but there are 30 rows");
  refused({.train = {part.calibration.front()}, .test = {part.fitting.front()}}, "which calibrates");
  refused({.train = {part.fitting.front()}, .test = {part.calibration.front()}}, "which calibrates");
  // Rows that no fold predicts fit the estimator, but no localizer.
  std::vector<std::size_t> late(part.fitting.begin() + 6, part.fitting.end());
  const SplitPlan plan =
      plan_splits(rows.table(), options, {{.train = {part.fitting.begin(), part.fitting.begin() + 6}, .test = late}});
  const FitResult found = Predicted(rows, plan).fitted(rows, plan, options);
  EXPECT_EQ(found.report.fit_rows, late.size());
  EXPECT_EQ(found.model.parts().fit_sketch.rows(), part.fitting.size());
}

TEST(SplitPlan, OneSplitSetsLearningRowsAsideThatTheEstimatorDoesNotSee) {
  const PlannedRows rows(400);
  FitOptions options = one_width();
  options.folds = kOneSplit;
  const SplitPlan plan = plan_splits(rows.table(), options);
  const SplitPart& part = plan.parts.front();
  EXPECT_TRUE(part.folds.empty());
  EXPECT_EQ(part.calibration.size(), 100U);
  EXPECT_EQ(part.learning.size(), 75U);
  EXPECT_EQ(part.predicted(400), part.learning);
  std::vector<std::size_t> all = part.seen();
  all.insert(all.end(), part.calibration.begin(), part.calibration.end());
  std::ranges::sort(all);
  for (std::size_t row = 0; row < all.size(); ++row) EXPECT_EQ(all[row], row);
  const FitResult found = Predicted(rows, plan).fitted(rows, plan, options);
  EXPECT_EQ(found.report.fit_rows, 300U);
  EXPECT_EQ(found.report.holdout_rows, 15U);  // of the learning rows
  EXPECT_EQ(found.model.parts().fit_sketch.rows(), 300U);
  options.calibration = CalibrationMethod::kCross;
  expect_error(ErrorCode::kInvalidArgument, "at least 2 folds",
               [&] { static_cast<void>(fit(rows.table(), std::make_unique<Largest>().get(), nullptr, options)); });
}

TEST(SplitPlan, FoldsOfCrossCalibrationAreAPartition) {
  const PlannedRows rows(4);
  const FitOptions options = one_width(CalibrationMethod::kCross);
  const auto refused = [&](std::vector<Fold> folds, const std::string& why) {
    expect_error(ErrorCode::kInvalidArgument, why,
                 [&] { static_cast<void>(plan_splits(rows.table(), options, std::move(folds))); });
  };
  refused({{.train = {0, 1, 2}, .test = {3}}}, "found 3 rows in none and 0 in several");
  refused({{.train = {0}, .test = {2, 3}}, {.train = {2, 3}, .test = {0, 1}}}, "in fold 1 of 2 1 of them are left out");
}

}  // namespace
}  // namespace widthwise
