#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/level.hpp>
#include <widthwise/random.hpp>

#include "support/numbers.hpp"

namespace widthwise {

/// 0.01, 0.02, ..., 0.99.
[[nodiscard]] inline std::vector<Level> levels_of_two_decimals() {
  std::vector<Level> levels;
  for (int i = 1; i < 100; ++i) levels.emplace_back(i / 100.0);
  return levels;
}

/// 0, 1, ..., n - 1 in random order.
[[nodiscard]] inline std::vector<double> distinct_scores(std::size_t n, Random& random) {
  std::vector<double> scores(n);
  for (std::size_t i = 0; i < n; ++i) scores[i] = static_cast<double>(i);
  random.shuffle(std::span(scores));
  return scores;
}

/// A calibration of these rows, numbered from 0.
[[nodiscard]] inline Calibration calibration_of(std::span<const CalibrationRow> rows,
                                                const Calibration::Options& options = {}) {
  Calibration calibration(options);
  for (std::size_t i = 0; i < rows.size(); ++i) calibration.add(i, rows[i]);
  return calibration;
}

/// Rows of every kind: ties, both zeros, infinities, sides, weights, groups.
[[nodiscard]] inline std::vector<CalibrationRow> assorted_rows(std::size_t n, Random& random, bool weights = true) {
  constexpr std::array<double, 6> kScores = {0.0, -0.0, 1.5, -2.0, kInfinity, -kInfinity};
  constexpr std::array<std::int64_t, 3> kGroups = {kRestGroup + 1, 0, 7};
  std::vector<CalibrationRow> rows(n);
  for (CalibrationRow& row : rows) {
    row.score = random.uniform() < 0.5 ? kScores[random.below(kScores.size())] : random.normal();
    row.above = random.uniform() < 0.3;
    row.weight = weights && random.uniform() < 0.5 ? 0.01 + random.uniform() : 1;
    row.group = kGroups[random.below(kGroups.size())];
  }
  return rows;
}

}  // namespace widthwise
