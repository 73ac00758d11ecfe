#pragma once

#include <cstddef>
#include <vector>

#include <widthwise/train/fit.hpp>

namespace widthwise::internal {

/// Throw kInvalidArgument for more folds than a model has.
void check_fold_count(std::size_t folds);

/// The rows of each fold, which calibrate, and all others, which fit; none separates copies. The folds of cross-fitting
/// are left to the fits of the folds.
[[nodiscard]] std::vector<SplitPart> cross_parts(const FitTable& table, const FitOptions& options);

/// The options of the fit of one fold. All folds have the same rule, so that none is chosen on a hold-out: a choice
/// that depends on rows of all folds would let a fold model see its calibration rows.
[[nodiscard]] FitOptions fold_options(FitOptions options, std::size_t fold);

/// Fit a cross-calibrated model: one model per fold, fitted without the rows of the fold and calibrated with them.
/// `planned`: the predictions of an estimator per fold; null if the table has predictions, or a base model is trained.
[[nodiscard]] FitResult fit_folds(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
                                  const FitOptions& given, const ProgressCallback& progress,
                                  const PlannedPredictions* planned);

}  // namespace widthwise::internal
