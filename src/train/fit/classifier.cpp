#include "train/fit/classifier.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "train/progress_steps.hpp"

namespace widthwise::internal {
namespace {

TrainingRows training_rows(const LabelledRows& rows, std::size_t columns, std::span<const std::uint8_t> categorical) {
  return {rows.view(columns), {rows.labels, rows.weights}, categorical};
}

}  // namespace

double LogisticLoss::evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                              MutableMatrixView hessian, Workspace& /*workspace*/, const Reducer& reducer) const {
  const std::size_t n = rows.residuals.size();
  double total = std::accumulate(rows.weights.begin(), rows.weights.end(), 0.0);
  reducer.sum({&total, 1});
  double loss = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double share = rows.weights[i] / total;
    const double margin = rows.residuals[i] * (offset_ + parameters(i, 0));
    const double wrong = 1 / (1 + std::exp(margin));  // the probability of the other label
    loss += share * (margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin);
    if (gradient.rows() > 0) gradient(i, 0) = -rows.residuals[i] * share * wrong;
    if (hessian.rows() > 0) hessian(i, 0) = share * wrong * (1 - wrong);
  }
  reducer.sum({&loss, 1});
  return loss;
}

void LabelledRows::add(MatrixView table, std::span<const std::size_t> rows, double label) {
  for (const std::size_t row : rows) x.insert(x.end(), table.row(row).begin(), table.row(row).end());
  labels.insert(labels.end(), rows.size(), label);
}

void LabelledRows::balance() {
  const auto n = static_cast<double>(labels.size());
  const auto positive = static_cast<double>(std::ranges::count(labels, 1.0));
  for (const double label : labels) weights.push_back(n / (2 * (label > 0 ? positive : n - positive)));
}

void ClassifierRows::add(MatrixView table, std::span<const std::size_t> order, double label) {
  const auto held = static_cast<std::size_t>(kClassifierHoldout * static_cast<double>(order.size()));
  holdout.add(table, order.first(held), label);
  training.add(table, order.subspan(held), label);
  all.add(table, order, label);
}

TrainedClassifier train_classifier(const LocalizerTrainer& trainer, const ClassifierRows& rows, std::size_t columns,
                                   std::span<const std::uint8_t> categorical, double offset,
                                   const ProgressCallback& progress) {
  const LogisticLoss loss(offset);
  ProgressSteps steps(progress);
  steps.plan("training", 1, ProgressSteps::Length::kAtMost);
  steps.plan("training on all rows", 1);
  const Trained chosen = trainer.train(training_rows(rows.training, columns, categorical),
                                       training_rows(rows.holdout, columns, categorical), loss, steps.next());
  return {.chosen = chosen.function,
          .final = trainer.retrain(training_rows(rows.all, columns, categorical), loss, chosen.iterations, steps.next())
                       .function};
}

void margins_of(const RowFunction& function, MatrixView x, std::span<double> out) {
  function.evaluate(x, {out.data(), out.size(), 1});
}

}  // namespace widthwise::internal
