// The code of docs/extending.md: a custom objective and a custom trainer. The document quotes the parts between
// "// [name]" and "// [end]".

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <widthwise/evaluation.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/train/xgboost.hpp>

#include "support/noisy_rows.hpp"
#include "xgboost/library.hpp"

namespace widthwise {
namespace {

// [objective]
class LaplaceObjective final : public Objective {
 public:
  [[nodiscard]] std::size_t parameter_count() const override { return 1; }

  using Objective::evaluate;
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView hessian, Workspace& /*workspace*/, const Reducer& /*reducer*/) const override {
    double loss = 0;
    for (std::size_t i = 0; i < rows.residuals.size(); ++i) {
      const double g = parameters(i, 0);
      const double ratio = std::abs(rows.residuals[i]) * std::exp(-g);
      loss += g + ratio;
      if (gradient.rows() > 0) gradient(i, 0) = 1 - ratio;
      if (hessian.rows() > 0) hessian(i, 0) = std::max(ratio, 0.1);
    }
    return loss;
  }
};
// [end]

// [trainer]
class MedianTrainer final : public BaseTrainer {
 public:
  [[nodiscard]] std::string_view name() const override { return "median"; }
  [[nodiscard]] std::string engine() const override { return "none"; }

  [[nodiscard]] std::shared_ptr<const RowFunction> train(const InputRows& rows, std::span<const double> y,
                                                         std::string_view /*stage*/,
                                                         const ProgressCallback& /*progress*/) const override {
    std::vector<double> sorted(y.begin(), y.end());
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
    TreeArrays arrays;
    arrays.inputs = static_cast<std::uint32_t>(rows.x.columns());
    arrays.base = {static_cast<float>(sorted[sorted.size() / 2])};
    return std::make_shared<const Trees>(arrays);
  }
};
// [end]

TEST(Extending, AnObjectiveTrainsAnyLocalizer) {
  const NoisyRows rows(4000, 1);
  const NoisyRows holdout(1000, 2);
  // [train]
  const LaplaceObjective objective;
  const auto trainer = make_tree_trainer(library(), {.threads = 1});
  const Trained trained = trainer->train(rows.training(), holdout.training(), objective, {});
  // [end]
  std::vector<double> log_errors(holdout.rows());
  trained.function->evaluate(holdout.view(), {log_errors.data(), holdout.rows(), 1});
  EXPECT_GT(correlation(log_errors, holdout.log_scale), 0.9);
}

TEST(Extending, GradientsOfTheObjectiveAreItsDerivatives) {
  const std::vector<double> residuals{0.5, -2, 3};
  std::vector<double> g{0.1, -0.3, 1};
  std::vector<double> gradient(3);
  const LaplaceObjective objective;
  const ResidualRows rows{residuals};
  (void)objective.evaluate(rows, {g.data(), 3, 1}, {gradient.data(), 3, 1});
  for (std::size_t i = 0; i < 3; ++i) {
    constexpr double kStep = 1e-6;
    const double at = g[i];
    g[i] = at + kStep;
    const double above = objective.evaluate(rows, {g.data(), 3, 1});
    g[i] = at - kStep;
    const double below = objective.evaluate(rows, {g.data(), 3, 1});
    g[i] = at;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-6) << i;
  }
}

TEST(Extending, ATrainerFitsAWholeModel) {
  Random random(3);
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t i = 0; i < 4000; ++i) {
    x.push_back(random.uniform());
    y.push_back((1 + 3 * x.back()) * random.normal());
  }
  FitTable table{};
  table.rows.x = {x.data(), 3000, 1};
  table.y = std::span(y).first(3000);
  table.features = {"x"};
  table.target = "y";
  // [fit]
  const MedianTrainer base;
  const auto localizer = make_tree_trainer(library(), {.threads = 1});
  const FitResult result = fit(table, &base, localizer.get(), {});
  // [end]
  std::size_t covered = 0;
  for (std::size_t i = 3000; i < 4000; ++i) {
    const auto [lower, upper] = result.model.interval(std::span(x).subspan(i, 1), 0.9);
    if (lower <= y[i] && y[i] <= upper) ++covered;
  }
  EXPECT_GT(covered, 860U);
  EXPECT_LT(covered, 940U);
}

}  // namespace
}  // namespace widthwise
