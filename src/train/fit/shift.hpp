#pragma once

#include <cstdint>
#include <memory>

#include <widthwise/train/fit.hpp>

#include "train/fit/base_model.hpp"

namespace widthwise::internal {

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

}  // namespace widthwise::internal
