#include "train/fit/steps.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "train/fit/base_model.hpp"
#include "train/fit/blocks.hpp"
#include "train/fit/copies.hpp"
#include "train/fit/cross_fit.hpp"
#include "train/fit/part_of_table.hpp"
#include "train/fit/splits.hpp"
#include "train/progress_steps.hpp"

namespace widthwise::internal {
namespace {

/// The rows of a fold, or all others, in the random order of the folds. The fit of a fold then depends on the order of
/// the table only through random choices, as the guarantee requires.
std::vector<std::size_t> rows_of(const Folds& folds, std::size_t fold, bool inside) {
  std::vector<std::size_t> rows;
  for (const std::size_t row : folds.order) {
    if ((folds.fold_of[row] == fold) == inside) rows.push_back(row);
  }
  return rows;
}

/// Folds in random order, of which none separates copies, at most one per distinct row.
Folds cross_folds(const FitTable& table, std::size_t count, std::uint64_t seed) {
  const auto at_most = [&](std::size_t rows) { return count == kFoldPerRow ? rows : std::min(count, rows); };
  if (table.copies.empty()) return random_folds(table.rows.x.rows(), at_most(table.rows.x.rows()), seed);
  const RowBlocks blocks({table.copies.begin(), table.copies.end()}, {});
  Folds folds = blocks.folds(at_most(blocks.count()), seed);
  Random(seed).shuffle(std::span(folds.order));
  return folds;
}

/// The model, calibrated with the rows of its fold; adds their absolute residuals to `errors`. Sketches and residuals
/// of fitting rows stay with the whole model, because they are nearly the same for all folds.
ModelParts calibrated_with(const Model& fitted, PartOfTable& fold, std::uint64_t seed, double& errors) {
  const Rows rows = fold.rows_for(fitted);
  Calibration calibration(Calibration::Options{.seed = seed});
  fitted.calibrate(calibration, rows, fold.table().y, RowNumbers(fold.table().row_numbers));
  std::vector<double> predictions(fold.table().y.size());
  fitted.predictions(rows, predictions);
  for (std::size_t i = 0; i < predictions.size(); ++i) errors += std::abs(fold.table().y[i] - predictions[i]);
  ModelParts parts = fitted.parts();
  parts.calibration = std::move(calibration);
  parts.fit_sketch = RowSketch();
  parts.fit_residuals.clear();
  parts.notes.clear();
  return parts;
}

/// The progress of a fold, with its number in the stage: "fold 2 of 5: training trees".
ProgressCallback in_fold(ProgressCallback progress, std::size_t fold, std::size_t folds) {
  if (!progress) return {};
  return [progress = std::move(progress), fold, folds](const Progress& at) {
    const std::string stage = fmt::format("fold {} of {}: {}", fold + 1, folds, at.stage);
    Progress named = at;
    named.stage = stage;
    return progress(named);
  };
}

}  // namespace

void check_fold_count(std::size_t folds) {
  if (folds <= kMaxFolds) return;
  throw make_error(ErrorCode::kInvalidArgument,
                   "fit: cross-calibration fits a model per fold, at most {}; found {} folds; use fewer, such as 10, "
                   "or split calibration",
                   kMaxFolds, folds);
}

std::vector<SplitPart> cross_parts(const FitTable& table, const FitOptions& options) {
  const Folds folds =
      cross_folds(table, options.folds.value_or(kFoldsOfFewRows), stream_seed(options.seed, Stream::kCross));
  check_fold_count(folds.count);
  std::vector<SplitPart> parts;
  for (std::size_t k = 0; k < folds.count; ++k) {
    parts.push_back({.fitting = rows_of(folds, k, false),
                     .calibration = distinct_rows(rows_of(folds, k, true), table.copies),
                     .folds = {}});
  }
  return parts;
}

FitOptions fold_options(FitOptions options, std::size_t fold) {
  options.calibration = CalibrationMethod::kSplit;
  options.calibration_size = 0;
  options.folds = FitOptions().folds;
  options.duplicates = Duplicates::kKeep;  // the table names the copies
  options.compare = options.compare && fold == 0;
  options.sides = options.sides.value_or(Sides::kOne);
  return options;
}

FitResult fit_folds(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
                    const FitOptions& given, const ProgressCallback& progress, const PlannedPredictions* planned) {
  const std::vector<SplitPart> parts = planned != nullptr ? planned->plan.parts : cross_parts(table, given);
  const OptionsForRows few(given, table, Workers(nullptr), least_predicted(table, parts));
  const FitOptions& options = few.options;
  std::vector<Model> models;
  FitReport report;
  std::map<std::string, std::string> notes;
  double errors = 0;
  std::size_t calibrated = 0;
  ProgressSteps steps(progress);
  steps.plan("fold", 1, ProgressSteps::Length::kKnown, parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    FitTable fitting = table;  // views
    FitTable calibrating = table;
    if (planned != nullptr) {
      fitting.cv_predictions = calibrating.rows.predictions = planned->values[k];
    }
    const PartOfTable others(fitting, parts[k].predicted(table.rows.x.rows()));
    FitResult fitted =
        fit(others.table(), base, localizer, fold_options(options, k), in_fold(steps.next(), k, parts.size()));
    if (k == 0) {
      report = fitted.report;
      notes = fitted.model.parts().notes;
    }
    PartOfTable fold(calibrating, parts[k].calibration);
    calibrated += fold.table().y.size();
    ModelParts of_fold = calibrated_with(fitted.model, fold, options.seed, errors);
    if (planned != nullptr) of_fold.prediction = fold_prediction(table.prediction, k);
    models.emplace_back(std::move(of_fold));
  }
  if (!few.warning.empty()) report.warnings.push_back(few.warning);
  report.fit_rows = table.rows.x.rows();
  report.calibration_rows = calibrated;
  report.base_error = errors / static_cast<double>(calibrated);
  RowSketch sketch;
  sketch.add(RowHasher(table.features), table.rows.x, table.y);
  ModelParts whole =
      Model::of_folds(std::move(models), base == nullptr || !table.rows.predictions.empty() ? table.prediction : "",
                      std::move(sketch))
          .parts();
  whole.notes = std::move(notes);
  whole.notes["options"] = FitOptions::table().checked_to_string(options);
  whole.notes["folds"] = std::to_string(parts.size());
  return {Model(std::move(whole)), std::move(report)};
}

}  // namespace widthwise::internal
