#include <widthwise/train/cross_fit.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

namespace widthwise {

void cross_fit(const BaseTrainer& trainer, MatrixView x, std::span<const double> y, std::size_t folds,
               std::uint64_t seed, std::span<double> out, const ProgressCallback& progress) {
  const std::size_t n = x.rows();
  if (y.size() != n || out.size() != n) {
    throw Error(ErrorCode::kShapeMismatch, "cross_fit: " + std::to_string(n) + " rows of x, " +
                                               std::to_string(y.size()) + " of y, " + std::to_string(out.size()) +
                                               " places for predictions");
  }
  if (folds < 2 || folds > n) {
    throw Error(ErrorCode::kInvalidArgument, "cross_fit: " + std::to_string(folds) + " folds of " + std::to_string(n) +
                                                 " rows; there must be at least 2, and a row for each");
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  random.shuffle(std::span(order));

  const std::size_t columns = x.columns();
  std::vector<double> fold_x;
  std::vector<double> fold_y;
  const auto append_row = [&](std::size_t row) { fold_x.insert(fold_x.end(), x.row(row).begin(), x.row(row).end()); };
  for (std::size_t fold = 0; fold < folds; ++fold) {
    fold_x.clear();
    fold_y.clear();
    for (std::size_t i = 0; i < n; ++i) {
      if (i % folds == fold) continue;
      append_row(order[i]);
      fold_y.push_back(y[order[i]]);
    }
    const std::string stage = "base model, fold " + std::to_string(fold + 1) + " of " + std::to_string(folds);
    const auto model = trainer.train({fold_x.data(), fold_y.size(), columns}, fold_y, stage, progress);
    fold_x.clear();
    for (std::size_t i = fold; i < n; i += folds) append_row(order[i]);
    const std::size_t count = (n - fold + folds - 1) / folds;
    std::vector<double> predictions(count);
    model->evaluate({fold_x.data(), count, columns}, {predictions.data(), count, 1});
    for (std::size_t i = 0; i < count; ++i) out[order[fold + i * folds]] = predictions[i];
  }
}

}  // namespace widthwise
