#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <widthwise/matrix_view.hpp>
#include <widthwise/train/trainer.hpp>

namespace widthwise {

/// Write out-of-sample predictions of all n rows to out (n x trainer.outputs(), row by row). Each row is predicted by a
/// model trained on the other folds, so that no row is lost to a separate split. Folds are random and their sizes
/// differ by at most one. n rows, y (n); 2 <= folds <= n.
void cross_fit(const BaseTrainer& trainer, const InputRows& rows, std::span<const double> y, std::size_t folds,
               std::uint64_t seed, std::span<double> out, const ProgressCallback& progress = {});

}  // namespace widthwise
