#pragma once

#include <widthwise/train/fit.hpp>

namespace widthwise::internal {

/// Throw kInvalidArgument for more folds than rows.
void check_cross_calibration(const FitTable& table, const FitOptions& options);

/// Fit a cross-calibrated model: one model per fold, fitted without the rows of the fold and calibrated with them.
[[nodiscard]] FitResult fit_folds(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
                                  const FitOptions& options, const ProgressCallback& progress);

}  // namespace widthwise::internal
