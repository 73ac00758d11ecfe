#pragma once

#include <span>
#include <string>

#include <widthwise/train/fit.hpp>

#include "train/workers/workers.hpp"

namespace widthwise::internal {

/// The columns of a table and the choices that follow from them and from the workers.
[[nodiscard]] Combination combination_of(const FitTable& table, const Workers& workers);

/// Check the input of a fit on all workers before training. Returns the options as text.
[[nodiscard]] std::string validate(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
                                   const FitOptions& options, const ResolvedGoal& goal, const Workers& workers);

/// Check shapes, outcomes and the columns that split and calibrate: all that does not depend on predictions or
/// trainers.
void check_columns(const FitTable& table, const FitOptions& options, const Workers& workers);

/// Called if the mean error is 0: throw unless every residual (n) is 0.
void check_rounded_to_zero(std::span<const double> residuals, const Workers& workers);

/// Throw because every prediction equals its outcome, with the likely reason.
[[noreturn]] void refuse_exact_predictions(const FitTable& table);

}  // namespace widthwise::internal
