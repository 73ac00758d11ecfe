#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <widthwise/diagnostics.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/level.hpp>
#include <widthwise/train/trainer.hpp>

namespace widthwise {

/// Options of cross_fit_coverage and estimate_ert.
struct ConditionalCoverageOptions {
  std::size_t folds = 5;   ///< number of classifiers, each trained without one fold; 2 to n
  std::uint64_t seed = 0;  ///< of the folds; the trainer has its own
};

/// Write probabilities that rows are covered, given their inputs, to out (n). Each row is predicted by a classifier
/// trained on the other folds. covered (n) is 0 or 1; 2 <= folds <= n. If nearly all rows of the other folds have the
/// same label, the probability is their share.
void cross_fit_coverage(const LocalizerTrainer& trainer, const InputRows& rows, std::span<const std::uint8_t> covered,
                        const ConditionalCoverageOptions& options, std::span<double> out,
                        const ProgressCallback& progress = {});

/// Estimate the ERT of the searched rows with a classifier of their features and, if known, their predictions. Empty
/// for fewer than kMinSearchRows rows, and without inputs.
[[nodiscard]] std::optional<Ert> estimate_ert(const LocalizerTrainer& trainer, const IntervalRows& rows,
                                              const SearchRows& search, const Level& level,
                                              const ConditionalCoverageOptions& options = {},
                                              const ProgressCallback& progress = {});

}  // namespace widthwise
