#pragma once

#include <widthwise/train/fit.hpp>

#include "train/workers/workers.hpp"

namespace widthwise::internal {

/// Throw kInvalidArgument for what cross-calibration does not support.
void check_cross_calibration(const FitTable& table, const FitOptions& options, const Workers& workers);

/// Fit a cross-calibrated model: one model per fold, fitted without the rows of the fold and calibrated with them.
[[nodiscard]] FitResult fit_folds(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
                                  const FitOptions& options, const ProgressCallback& progress);

}  // namespace widthwise::internal
