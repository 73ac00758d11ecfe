#include "train/fit/shift.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "message.hpp"
#include "train/fit/streams.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kMinRows = 20;
constexpr double kHoldoutShare = 0.2;

/// Above this area under the ROC curve of the hold-out, the warning of hardly overlapping populations is due.
constexpr double kSeparated = 0.95;

/// The mean log loss of one margin per row. The residuals are labels: 1 for rows to predict, -1 for fitting rows.
class LogisticLoss final : public Objective {
 public:
  [[nodiscard]] std::size_t parameter_count() const override { return 1; }

  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView hessian, Workspace& /*workspace*/, const Reducer& reducer) const override {
    const std::size_t n = rows.residuals.size();
    double total = std::accumulate(rows.weights.begin(), rows.weights.end(), 0.0);
    reducer.sum({&total, 1});
    double loss = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double share = rows.weights[i] / total;
      const double margin = rows.residuals[i] * parameters(i, 0);
      const double wrong = 1 / (1 + std::exp(margin));  // the probability of the other label
      loss += share * (margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin);
      if (gradient.rows() > 0) gradient(i, 0) = -rows.residuals[i] * share * wrong;
      if (hessian.rows() > 0) hessian(i, 0) = share * wrong * (1 - wrong);
    }
    reducer.sum({&loss, 1});
    return loss;
  }
};

/// Labelled rows of both tables.
struct LabelledRows {
  std::vector<double> x;
  std::vector<double> labels;
  std::vector<double> weights;

  void add(MatrixView table, std::span<const std::size_t> rows, double label) {
    for (const std::size_t row : rows) x.insert(x.end(), table.row(row).begin(), table.row(row).end());
    labels.insert(labels.end(), rows.size(), label);
  }

  /// Give both labels the same total weight, and all rows a mean weight of 1.
  void balance() {
    const auto n = static_cast<double>(labels.size());
    const auto targets = static_cast<double>(std::ranges::count(labels, 1.0));
    for (const double label : labels) weights.push_back(n / (2 * (label > 0 ? targets : n - targets)));
  }

  [[nodiscard]] TrainingRows training_rows(std::size_t columns, std::span<const std::uint8_t> categorical) const {
    return {{x.data(), labels.size(), columns}, {labels, weights}, categorical};
  }
};

/// The probability that a row to predict has a larger margin than a fitting row; ties count half.
double area_under_curve(std::span<const double> margins, std::span<const double> labels) {
  std::vector<std::size_t> order(margins.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return margins[i]; });
  double below = 0;  // fitting rows with smaller margins
  double area = 0;
  double targets = 0;
  for (std::size_t i = 0; i < order.size();) {
    double tied = 0;
    double tied_targets = 0;
    for (const double margin = margins[order[i]]; i < order.size() && margins[order[i]] == margin; ++i) {
      (labels[order[i]] > 0 ? tied_targets : tied) += 1;
    }
    area += tied_targets * (below + tied / 2);
    below += tied;
    targets += tied_targets;
  }
  return area / (targets * below);
}

/// Positions of the rows of a table: some for the hold-out, then the others.
std::vector<std::size_t> shuffled(std::size_t rows, Random& random) {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(std::span(order));
  return order;
}

}  // namespace

LearntShift learn_shift(const FitTable& table, const FittingRows& rows, const LocalizerTrainer& trainer,
                        std::uint64_t seed, const ProgressCallback& progress, std::vector<std::string>& warnings) {
  const MatrixView source = rows.x.features();
  const MatrixView target = table.shift_to;
  for (const auto& [count, what] : {std::pair(source.rows(), "fitting rows"), {target.rows(), "rows of shift_to"}}) {
    if (count >= kMinRows) continue;
    throw make_error(ErrorCode::kTooFewRows, "fit: found {} {}; learning weights needs at least {}", count, what,
                     kMinRows);
  }
  Random random(stream_seed(seed, Stream::kShift));
  LabelledRows training;
  LabelledRows holdout;
  LabelledRows all;
  for (const auto& [x, label] : {std::pair(source, -1.0), {target, 1.0}}) {
    const std::vector<std::size_t> order = shuffled(x.rows(), random);
    const auto held = static_cast<std::size_t>(kHoldoutShare * static_cast<double>(order.size()));
    holdout.add(x, std::span(order).first(held), label);
    training.add(x, std::span(order).subspan(held), label);
    all.add(x, order, label);
  }
  const std::size_t columns = source.columns();
  const std::span<const std::uint8_t> categorical = rows.inputs().categorical;
  for (LabelledRows* part : {&training, &holdout, &all}) part->balance();
  const LogisticLoss loss;
  const Trained trained = trainer.train(training.training_rows(columns, categorical),
                                        holdout.training_rows(columns, categorical), loss, progress);
  std::vector<double> margins(holdout.labels.size());
  trained.function->evaluate({holdout.x.data(), margins.size(), columns}, {margins.data(), margins.size(), 1});
  LearntShift shift{
      .function = trainer.retrain(all.training_rows(columns, categorical), loss, trained.iterations, progress).function,
      .report = {.rows = target.rows(), .auc = area_under_curve(margins, holdout.labels)}};
  if (shift.report.auc > kSeparated) {
    warnings.push_back(fmt::format(
        "a classifier tells the rows of shift_to from the fitting rows almost perfectly (area under the ROC curve "
        "{:.3f}): the two populations hardly overlap, and weights cannot make intervals valid for rows unlike all "
        "calibration rows. Calibrate with rows like those to predict",
        shift.report.auc));
  }
  return shift;
}

}  // namespace widthwise::internal
