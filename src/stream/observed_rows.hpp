#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/matrix_view.hpp>

#include "base/message.hpp"

namespace widthwise::internal {

/// Throw kNotFinite if an outcome is infinite; missing outcomes (NaN) are allowed.
inline void require_no_infinite(std::span<const double> outcomes, const char* where) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!std::isinf(outcomes[i])) continue;
    throw make_error(ErrorCode::kNotFinite,
                     "{}: the outcome of row {} is infinite; expected a finite number, or NaN if it is unknown", where,
                     i + 1);
  }
}

/// Keep the numbers of rows that have a score.
inline void keep_scored(std::span<const double> scores, std::vector<std::uint64_t>& numbers) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isnan(scores[i])) numbers[kept++] = numbers[i];
  }
  numbers.resize(kept);
}

/// The arguments of OnlineCalibration::observe for rows with outcomes.
struct ObservedRows {
  std::vector<double> scores;         // n
  std::vector<std::uint8_t> covered;  // n x k

  /// Add the rows that have a score, with their issued intervals.
  void add(std::span<const double> found, std::span<const double> outcomes, MatrixView lower, MatrixView upper) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (std::isnan(found[i])) continue;
      scores.push_back(found[i]);
      for (std::size_t j = 0; j < lower.columns(); ++j) {
        covered.push_back(lower(i, j) <= outcomes[i] && outcomes[i] <= upper(i, j) ? 1 : 0);
      }
    }
  }
};

}  // namespace widthwise::internal
