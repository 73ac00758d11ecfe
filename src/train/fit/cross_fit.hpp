#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <widthwise/matrix_view.hpp>
#include <widthwise/train/trainer.hpp>

namespace widthwise {

/// Write out-of-sample predictions of all n rows to out (n x trainer.outputs(), row by row). Each row is predicted by a
/// model trained on the other folds, so that no row is lost to a separate split. Folds are random and their sizes
/// differ by at most one. n rows, y (n); 2 <= folds <= n. The number of steps of the trainer, if it has them, is that
/// with the smallest loss on all rows; returns the trainer with this number, or null.
std::unique_ptr<const BaseTrainer> cross_fit(const BaseTrainer& trainer, const InputRows& rows,
                                             std::span<const double> y, std::size_t folds, std::uint64_t seed,
                                             std::span<double> out, const ProgressCallback& progress = {});

}  // namespace widthwise

namespace widthwise::internal {

/// The folds of n rows.
struct Folds {
  std::size_t count = 0;
  std::vector<std::size_t> order;    ///< rows in the order in which trainers get them (n)
  std::vector<std::size_t> fold_of;  ///< from 0 to count - 1, or count for rows in no fold, by row (n)
};

/// Assign rows to random folds whose sizes differ by at most one. Throws kInvalidArgument for fewer than 2 folds,
/// kTooFewRows for more folds than rows.
[[nodiscard]] Folds random_folds(std::size_t rows, std::size_t count, std::uint64_t seed);

/// What cross-fitting makes.
struct CrossFitted {
  std::unique_ptr<const BaseTrainer> trainer;              ///< with the best number of steps, or null
  std::vector<std::shared_ptr<const RowFunction>> models;  ///< of the folds
};

/// cross_fit with these folds. Rows in no fold are in all training sets, and out does not change for them.
[[nodiscard]] CrossFitted cross_fit(const BaseTrainer& trainer, const InputRows& rows, std::span<const double> y,
                                    const Folds& folds, std::span<double> out, const ProgressCallback& progress);

}  // namespace widthwise::internal
