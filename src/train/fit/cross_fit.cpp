#include <widthwise/train/cross_fit.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "message.hpp"
#include "train/fit/folds.hpp"

namespace widthwise {

void cross_fit(const BaseTrainer& trainer, const InputRows& rows, std::span<const double> y, std::size_t folds,
               std::uint64_t seed, std::span<double> out, const ProgressCallback& progress) {
  const std::size_t n = rows.x.rows();
  if (y.size() != n || out.size() != n * trainer.outputs()) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "cross_fit: {} rows of x, {} of y, {} output predictions", n,
                               y.size(), out.size());
  }
  internal::cross_fit(trainer, rows, y, internal::random_folds(n, folds, seed), out, progress);
}

internal::Folds internal::random_folds(std::size_t rows, std::size_t count, std::uint64_t seed) {
  if (count < 2 || count > rows) {
    throw Error(count < 2 ? ErrorCode::kInvalidArgument : ErrorCode::kTooFewRows,
                fmt::format("cross_fit: {} folds for {} rows; expected at least 2 folds and at least one row per fold",
                            count, rows));
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
    const auto model = trainer.train(fitting, fold_y, stage, progress);
    fold_x.clear();
    for (const std::size_t row : held) append_row(row);
    std::vector<double> predictions(held.size() * outputs);
    model->evaluate({fold_x.data(), held.size(), columns}, {predictions.data(), held.size(), outputs});
    for (std::size_t i = 0; i < predictions.size(); ++i)
      out[held[i / outputs] * outputs + i % outputs] = predictions[i];
  }
}

}  // namespace widthwise
