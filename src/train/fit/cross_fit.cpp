#include "train/fit/cross_fit.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "train/progress_steps.hpp"

namespace widthwise {

std::unique_ptr<const BaseTrainer> cross_fit(const BaseTrainer& trainer, const InputRows& rows,
                                             std::span<const double> y, std::size_t folds, std::uint64_t seed,
                                             std::span<double> out, const ProgressCallback& progress) {
  const std::size_t n = rows.x.rows();
  if (y.size() != n || out.size() != n * trainer.outputs()) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "cross_fit: {} of x, {} of y, {}",
                               internal::count_of(n, "row"), y.size(),
                               internal::count_of(out.size(), "output prediction"));
  }
  return internal::cross_fit(trainer, rows, y, internal::random_folds(n, folds, seed), out, progress).trainer;
}

internal::Folds internal::random_folds(std::size_t rows, std::size_t count, std::uint64_t seed) {
  if (count < 2 || count > rows) {
    throw Error(count < 2 ? ErrorCode::kInvalidArgument : ErrorCode::kTooFewRows,
                fmt::format("cross_fit: {} for {}; expected at least 2 folds and at least one row per fold",
                            count_of(count, "fold"), count_of(rows, "row")));
  }
  Folds folds{.count = count, .order = std::vector<std::size_t>(rows), .fold_of = std::vector<std::size_t>(rows)};
  std::iota(folds.order.begin(), folds.order.end(), std::size_t{0});
  Random(seed).shuffle(std::span(folds.order));
  for (std::size_t i = 0; i < rows; ++i) folds.fold_of[folds.order[i]] = i % count;
  return folds;
}

namespace {

/// Rows of the folds, copied.
struct CopiedRows {
  std::size_t columns;
  std::span<const std::uint8_t> categorical;
  std::vector<std::size_t> numbers = {};  ///< of the rows
  std::vector<double> x = {};
  std::vector<double> y = {};
  std::vector<double> weights = {};

  CopiedRows(const InputRows& rows, std::span<const double> outcomes, const internal::Folds& folds,
             const auto& takes_fold)
      : columns(rows.x.columns()), categorical(rows.categorical) {
    for (const std::size_t row : folds.order) {
      if (!takes_fold(folds.fold_of[row])) continue;
      numbers.push_back(row);
      x.insert(x.end(), rows.x.row(row).begin(), rows.x.row(row).end());
      y.push_back(outcomes[row]);
      if (!rows.weights.empty()) weights.push_back(rows.weights[row]);
    }
  }

  [[nodiscard]] InputRows inputs() const { return {{x.data(), y.size(), columns}, categorical, weights}; }
};

/// Write the predictions of these rows to their places in out.
void predict(const RowFunction& model, const CopiedRows& rows, std::span<double> out) {
  const std::size_t outputs = model.outputs();
  std::vector<double> predictions(rows.y.size() * outputs);
  model.evaluate(rows.inputs().x, {predictions.data(), rows.y.size(), outputs});
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    out[rows.numbers[i / outputs] * outputs + i % outputs] = predictions[i];
  }
}

std::size_t best_of(std::span<const double> losses) {
  return static_cast<std::size_t>(std::ranges::min_element(losses) - losses.begin()) + 1;
}

}  // namespace

internal::CrossFitted internal::cross_fit(const BaseTrainer& trainer, const InputRows& rows, std::span<const double> y,
                                          const Folds& folds, std::span<double> out, const ProgressCallback& progress) {
  const auto held = [&](std::size_t fold) {
    return CopiedRows(rows, y, folds, [&](std::size_t other) { return other == fold; });
  };
  const TrainingSteps* const steps = trainer.steps();
  std::unique_ptr<const BaseTrainer> shorter;
  std::vector<std::shared_ptr<const RowFunction>> models;
  std::vector<double> losses;  // over all folds
  ProgressSteps progress_steps(progress);
  progress_steps.plan("fold", 1, ProgressSteps::Length::kKnown, folds.count);
  for (std::size_t fold = 0; fold < folds.count; ++fold) {
    const CopiedRows fitting(rows, y, folds, [&](std::size_t other) { return other != fold; });
    const std::string stage = fmt::format("base model, fold {} of {}", fold + 1, folds.count);
    const BaseTrainer& used = shorter != nullptr ? *shorter : trainer;
    models.push_back(used.train(fitting.inputs(), fitting.y, stage, progress_steps.next()));
    const CopiedRows left_out = held(fold);
    if (steps == nullptr) {
      predict(*models.back(), left_out, out);
      continue;
    }
    const std::vector<double> found = steps->losses(*models.back(), left_out.inputs(), left_out.y);
    if (fold == 0) {
      losses.resize(std::min(found.size(), best_of(found) + best_of(found) / 2 + 1));
      shorter = steps->trainer(losses.size());
    }
    for (std::size_t step = 0; step < losses.size(); ++step) losses[step] += found[step];
  }
  if (steps == nullptr) return {nullptr, std::move(models)};
  for (std::size_t fold = 0; fold < folds.count; ++fold) {
    models[fold] = steps->shortened(*models[fold], best_of(losses));
    predict(*models[fold], held(fold), out);
  }
  return {steps->trainer(best_of(losses)), std::move(models)};
}

}  // namespace widthwise
