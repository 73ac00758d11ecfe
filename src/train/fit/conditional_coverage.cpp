#include <widthwise/train/conditional_coverage.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "base/text.hpp"
#include "evaluation/diagnostics/rows.hpp"
#include "train/fit/classifier.hpp"
#include "train/fit/cross_fit.hpp"
#include "train/progress_steps.hpp"

namespace widthwise {
namespace {

using internal::ClassifierRows;
using internal::Folds;
using internal::LabelledRows;
using internal::ProgressSteps;

/// Rows of one fold, and the other rows by whether they are covered.
struct FoldRows {
  std::vector<std::size_t> held;
  std::vector<std::size_t> covered;
  std::vector<std::size_t> missed;

  FoldRows(const Folds& folds, std::size_t fold, std::span<const std::uint8_t> is_covered) {
    for (const std::size_t row : folds.order) {
      (folds.fold_of[row] == fold ? held : is_covered[row] != 0 ? covered : missed).push_back(row);
    }
  }
};

/// Progress with the stage "conditional coverage, fold 2 of 5".
ProgressCallback in_stage(const ProgressCallback& progress, std::string stage) {
  if (!progress) return {};
  return [progress, stage = std::move(stage)](const Progress& at) {
    Progress named = at;
    named.stage = stage;
    return progress(named);
  };
}

/// The inputs of the classifier: features and, if known, predictions.
struct ClassifierInputs {
  std::vector<double> x;
  std::vector<std::uint8_t> categorical;

  explicit ClassifierInputs(const SearchRows& search) {
    const MatrixView features = search.features;
    for (std::size_t j = 0; j < features.columns(); ++j) {
      categorical.push_back(!search.categories.empty() && search.categories[j].size() > 0 ? 1 : 0);
    }
    if (!search.predictions.empty()) categorical.push_back(0);
    // Engines use single precision. NaN stays NaN.
    constexpr double kLargest = std::numeric_limits<float>::max();
    const auto add = [&](double value) { x.push_back(std::clamp(value, -kLargest, kLargest)); };
    for (std::size_t i = 0; i < search.rows.size(); ++i) {
      for (const double value : features.row(i)) add(value);
      if (!search.predictions.empty()) add(search.predictions[i]);
    }
  }
};

}  // namespace

void cross_fit_coverage(const LocalizerTrainer& trainer, const InputRows& rows, std::span<const std::uint8_t> covered,
                        const ConditionalCoverageOptions& options, std::span<double> out,
                        const ProgressCallback& progress) {
  const std::size_t n = rows.x.rows();
  const std::size_t columns = rows.x.columns();
  if (covered.size() != n || out.size() != n) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "cross_fit_coverage: {} of x, {} of covered, {} to write",
                               internal::count_of(n, "row"), covered.size(),
                               internal::count_of(out.size(), "probability"));
  }
  const Folds folds = internal::random_folds(n, options.folds, options.seed);
  ProgressSteps steps(progress);
  steps.plan("fold", 1, ProgressSteps::Length::kKnown, folds.count);
  for (std::size_t fold = 0; fold < folds.count; ++fold) {
    const ProgressCallback of_fold = steps.next();
    const FoldRows split(folds, fold, covered);
    // The counts are increased by a half, so that odds are finite.
    const double offset =
        std::log((static_cast<double>(split.covered.size()) + 0.5) / (static_cast<double>(split.missed.size()) + 0.5));
    std::vector<double> margins(split.held.size(), 0);
    ClassifierRows labelled;
    labelled.add(rows.x, split.covered, 1);
    labelled.add(rows.x, split.missed, -1);
    const auto min_label = std::min(split.covered.size(), split.missed.size());
    if (internal::kClassifierHoldout * static_cast<double>(min_label) >= 1) {
      for (LabelledRows* part : {&labelled.training, &labelled.holdout, &labelled.all}) part->count_once();
      const std::string stage = fmt::format("conditional coverage, fold {} of {}", fold + 1, folds.count);
      const auto classifier =
          internal::train_classifier(trainer, labelled, columns, rows.categorical, offset, in_stage(of_fold, stage));
      LabelledRows held;
      held.add(rows.x, split.held, 0);
      internal::margins_of(*classifier.final, held.view(columns), margins);
    }
    for (std::size_t i = 0; i < margins.size(); ++i) out[split.held[i]] = 1 / (1 + std::exp(-(offset + margins[i])));
  }
}

std::optional<Ert> estimate_ert(const LocalizerTrainer& trainer, const IntervalRows& rows, const SearchRows& search,
                                const Level& level, const ConditionalCoverageOptions& options,
                                const ProgressCallback& progress) {
  const std::size_t n = search.rows.size();
  const ClassifierInputs inputs(search);
  const std::size_t columns = inputs.categorical.size();
  if (n < kMinSearchRows || columns == 0) return std::nullopt;
  std::vector<std::uint8_t> covered;
  covered.reserve(n);
  for (const std::size_t row : search.rows) covered.push_back(internal::is_covered(rows, row) ? 1 : 0);
  std::vector<double> probabilities(n);
  const InputRows classified({inputs.x.data(), n, columns}, inputs.categorical);
  cross_fit_coverage(trainer, classified, covered, options, probabilities, progress);
  return excess_risk(covered, probabilities, level);
}

}  // namespace widthwise
