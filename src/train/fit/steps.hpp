#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/train/fit.hpp>

#include "train/fit/base_model.hpp"
#include "train/fit/splits.hpp"
#include "train/workers/workers.hpp"

/// The steps of a fit, which train/fit.cpp takes.
namespace widthwise::internal {

// ---- checks

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

// ---- goals

/// The goals that one fit trains.
struct Goals {
  ResolvedGoal chosen;
  std::optional<ResolvedGoal> two_sided;  ///< the chosen goal with two sides, if the hold-out chooses
  /// The central instead of the shortest intervals of the same distribution, if the hold-out chooses.
  std::optional<ResolvedGoal> central;
  ResolvedGoal fixed;                 ///< one width for all rows
  std::optional<ResolvedGoal> other;  ///< the opposite goal, if it is compared
};

/// `quantiles`: f(x) is the centre of two quantiles, which need not be where most outcomes are, so that every goal may
/// have two sides. Throws kInvalidArgument for a goal that the transform does not support.
[[nodiscard]] Goals resolve_goals(const FitOptions& options, bool quantiles);

// ---- few rows

/// The options of a fit of few rows: without a choice of the transform, all intervals have one width if fewer rows fit
/// than a localizer is trained on.
struct OptionsForRows {
  FitOptions options;
  std::string warning = {};  ///< if the rows are too few; else empty

  /// `most`: if known, the largest number of rows that fit.
  OptionsForRows(FitOptions given, const FitTable& table, const Workers& workers,
                 std::size_t most = std::numeric_limits<std::size_t>::max());
};

// ---- categories

/// The table of a fit with the categories of its fitting rows. A category that only calibration rows have is missing in
/// these rows, like a category that appears after the fit. If it were kept, the model would treat these calibration
/// rows differently from new rows, and the two would not be exchangeable.
class FittingCategories {
 public:
  FittingCategories(const FitTable& table, const Splits& splits, const Workers& workers);
  FittingCategories(const FittingCategories&) = delete;
  FittingCategories& operator=(const FittingCategories&) = delete;
  FittingCategories(FittingCategories&&) = delete;
  FittingCategories& operator=(FittingCategories&&) = delete;
  ~FittingCategories() = default;

  [[nodiscard]] const FitTable& table() const { return table_; }

 private:
  /// Keep the categories of a feature whose count is not 0.
  void keep(std::size_t feature, const std::vector<double>& counts);

  FitTable table_;
  std::vector<double> x_;         // of the table; empty if all categories are kept
  std::vector<double> shift_to_;  // likewise
};

// ---- weights of a population

/// Likelihood ratios of the population to predict to that of the fitting rows, learnt by a classifier.
struct LearntShift {
  std::shared_ptr<const RowFunction> function;  ///< ModelParts::shift
  ShiftReport report;
};

/// Train a classifier of the rows of FitTable::shift_to against the fitting rows. Its log odds, with equal total weight
/// of both tables, are the logarithm of the likelihood ratio. No calibration row is among its training rows: a weight
/// that depended on its own row would make calibration rows and new rows differ. Adds a warning if the classifier
/// separates the two tables almost perfectly.
[[nodiscard]] LearntShift learn_shift(const FitTable& table, const FittingRows& rows, const LocalizerTrainer& trainer,
                                      std::uint64_t seed, const ProgressCallback& progress,
                                      std::vector<std::string>& warnings);

// ---- calibration

/// Calibrate a fitted model with the calibration rows. Adds a warning if the training residuals are smaller than the
/// residuals of these rows by more than chance.
[[nodiscard]] Model calibrate(const Model& fitted, const FitTable& table, const Splits& splits, const Workers& workers,
                              std::uint64_t seed, std::vector<std::string>& warnings);

// ---- predictions of an estimator

/// The predictions of each part, with 0 for rows that are not predicted. Throws kShapeMismatch for other numbers of
/// parts or rows than those of the plan.
[[nodiscard]] std::vector<std::vector<double>> predicted_values(const FitTable& table,
                                                                const PlannedPredictions& predictions);

/// The smallest number of rows that a part fits its localizer to.
[[nodiscard]] std::size_t least_predicted(const FitTable& table, std::span<const SplitPart> parts);

// ---- folds

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
