#pragma once

#include <cstdint>
#include <span>

#include <widthwise/level.hpp>

namespace widthwise {

/// The coverage that cross-calibration guarantees on average over training sets and new rows, if both are exchangeable:
/// CV+, and jackknife+ if every fold has one row (Barber, Candes, Ramdas, Tibshirani 2021). With n rows in K folds and
/// level 1 - alpha, it is 1 - 2 alpha - d. d is the smaller of two terms (docs/mathematics.md):
/// - 2 (1 - alpha) (K - 1) / (n + K), for any fit;
/// - (1 - K / n) / (K + 1), for folds of equal size and a fit that depends on the order of its rows only through random
///   choices; 0 for jackknife+.
/// 0 if there are no folds. Actual coverage is usually close to the level.
[[nodiscard]] double cross_coverage(const Level& level, std::span<const std::uint64_t> fold_rows);

/// The same for n rows in `folds` folds whose sizes differ by at most one, as fit assigns them.
[[nodiscard]] double cross_coverage(const Level& level, std::uint64_t rows, std::uint64_t folds);

/// The same for one model: with probability at least 1 - failure over training sets of independent rows, the coverage
/// of new rows is at least this (Bian and Barber 2022). Holds for any fit; 0 if folds are too small for a statement.
[[nodiscard]] double cross_coverage_of_model(const Level& level, std::span<const std::uint64_t> fold_rows,
                                             double failure);

}  // namespace widthwise
