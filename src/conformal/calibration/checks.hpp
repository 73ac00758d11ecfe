#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

/// Helpers shared by the sources of the calibration.
namespace widthwise::internal {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Row numbers are 64-bit and unique, so no valid count comes near this limit; it prevents overflow of sums of counts.
inline constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 63U;

/// Scores of -0 and 0 are equal and must also have equal bytes.
[[nodiscard]] inline double without_negative_zero(double score) { return score + 0.0; }

[[nodiscard]] inline bool valid_weight(double weight) {
  return weight > 0 && weight <= std::numeric_limits<double>::max();
}

/// "1 row", "99 rows".
[[nodiscard]] inline std::string rows_text(std::uint64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

/// Return the position of the first NaN, or values.size().
[[nodiscard]] inline std::size_t find_nan(std::span<const double> values) {
  // Eight numbers per branch and two per comparison, so that this pass is cheap compared with a selection.
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    const double* v = values.data() + i;
    if (static_cast<int>(std::isunordered(v[0], v[1])) | static_cast<int>(std::isunordered(v[2], v[3])) |
        static_cast<int>(std::isunordered(v[4], v[5])) | static_cast<int>(std::isunordered(v[6], v[7]))) {
      break;
    }
  }
  while (i < values.size() && !std::isnan(values[i])) ++i;
  return i;
}

}  // namespace widthwise::internal
