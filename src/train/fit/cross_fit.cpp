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

void cross_fit(const BaseTrainer& trainer, const InputRows& rows, std::span<const double> y, std::size_t folds,
               std::uint64_t seed, std::span<double> out, const ProgressCallback& progress) {
  const std::size_t n = rows.x.rows();
  if (y.size() != n || out.size() != n * trainer.outputs()) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "cross_fit: {} of x, {} of y, {}",
                               internal::count_of(n, "row"), y.size(),
                               internal::count_of(out.size(), "output prediction"));
  }
  internal::cross_fit(trainer, rows, y, internal::random_folds(n, folds, seed), out, progress);
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

void internal::cross_fit(const BaseTrainer& trainer, const InputRows& rows, std::span<const double> y,
                         const Folds& folds, std::span<double> out, const ProgressCallback& progress) {
  const MatrixView x = rows.x;
  const std::size_t columns = x.columns();
  const std::size_t outputs = trainer.outputs();
  std::vector<double> fold_x;
  std::vector<double> fold_y;
  std::vector<double> fold_weights;
  std::vector<std::size_t> held;
  const auto append_row = [&](std::size_t row) { fold_x.insert(fold_x.end(), x.row(row).begin(), x.row(row).end()); };
  ProgressSteps steps(progress);
  steps.plan("fold", 1, ProgressSteps::Length::kKnown, folds.count);
  for (std::size_t fold = 0; fold < folds.count; ++fold) {
    fold_x.clear();
    fold_y.clear();
    fold_weights.clear();
    held.clear();
    for (const std::size_t row : folds.order) {
      if (folds.fold_of[row] == fold) {
        held.push_back(row);
        continue;
      }
      append_row(row);
      fold_y.push_back(y[row]);
      if (!rows.weights.empty()) fold_weights.push_back(rows.weights[row]);
    }
    const std::string stage = fmt::format("base model, fold {} of {}", fold + 1, folds.count);
    const InputRows fitting({fold_x.data(), fold_y.size(), columns}, rows.categorical, fold_weights);
    const auto model = trainer.train(fitting, fold_y, stage, steps.next());
    fold_x.clear();
    for (const std::size_t row : held) append_row(row);
    std::vector<double> predictions(held.size() * outputs);
    model->evaluate({fold_x.data(), held.size(), columns}, {predictions.data(), held.size(), outputs});
    for (std::size_t i = 0; i < predictions.size(); ++i)
      out[held[i / outputs] * outputs + i % outputs] = predictions[i];
  }
}

}  // namespace widthwise
