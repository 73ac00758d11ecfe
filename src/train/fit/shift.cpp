#include "train/fit/steps.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "train/fit/classifier.hpp"
#include "train/fit/splits.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kMinRows = 20;

/// Above this area under the ROC curve of the hold-out, the warning of hardly overlapping populations is due.
constexpr double kSeparated = 0.95;

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

/// The rows of a table in random order.
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
  for (const auto& [count, what] : {std::pair(source.rows(), "fitting row"), {target.rows(), "row"}}) {
    if (count >= kMinRows) continue;
    throw make_error(ErrorCode::kTooFewRows, "fit: found {}{}; learning weights needs at least {}",
                     count_of(count, what), what == std::string_view("row") ? " of shift_to" : "", kMinRows);
  }
  Random random(stream_seed(seed, Stream::kShift));
  ClassifierRows labelled;
  for (const auto& [x, label] : {std::pair(source, -1.0), {target, 1.0}}) {
    labelled.add(x, shuffled(x.rows(), random), label);
  }
  for (LabelledRows* part : {&labelled.training, &labelled.holdout, &labelled.all}) part->balance();
  const std::size_t columns = source.columns();
  const TrainedClassifier trained =
      train_classifier(trainer, labelled, columns, rows.inputs().categorical, /*offset=*/0, progress);
  std::vector<double> margins(labelled.holdout.size());
  margins_of(*trained.chosen, labelled.holdout.view(columns), margins);
  LearntShift shift{.function = trained.final,
                    .report = {.rows = target.rows(), .auc = area_under_curve(margins, labelled.holdout.labels)}};
  if (shift.report.auc > kSeparated) {
    warnings.push_back(fmt::format(
        "a classifier tells the rows of shift_to from the fitting rows almost perfectly (area under the ROC curve "
        "{:.3f}): the two populations hardly overlap, and weights cannot make intervals valid for rows unlike all "
        "calibration rows. Replace the calibration set by rows of the population to predict (population 'target'), "
        "which need no weights",
        shift.report.auc));
  }
  return shift;
}

}  // namespace widthwise::internal
