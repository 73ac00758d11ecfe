#pragma once

#include <cstddef>
#include <span>

#include <widthwise/train/cross_fit.hpp>

namespace widthwise::internal {

/// cross_fit with folds that somebody else has dealt: row i is in fold fold_of[i] (n). Trainers see rows as `order`
/// (n) has them.
void cross_fit_dealt(const BaseTrainer& trainer, MatrixView x, std::span<const double> y,
                     std::span<const std::size_t> order, std::span<const std::size_t> fold_of, std::size_t folds,
                     std::span<double> out, const ProgressCallback& progress);

}  // namespace widthwise::internal
