#pragma once

#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

/// Helpers of the faults that plant.py inserts into a copy of the library. At most one fault is switched on at a time.
namespace planted {

inline std::string fault;

[[nodiscard]] inline bool is(std::string_view name) { return fault == name; }

/// 1, or slightly less to round half-widths down by a few units in the last place.
inline double rounding = 1;

inline void switch_on(std::string_view name) {
  fault = name;
  if (is("rounding down")) rounding = 1 - 0x1p-45;
}

/// Replace sorted scores by the means of twenty bins, like a quantile sketch.
[[nodiscard]] inline std::vector<double> sketched(std::vector<double> scores) {
  constexpr std::size_t kParts = 20;
  if (!is("sketch instead of exact quantile") || scores.size() < kParts) return scores;
  const auto at = [&](std::size_t part) {
    return scores.begin() + static_cast<std::ptrdiff_t>(part * scores.size() / kParts);
  };
  for (std::size_t part = 0; part < kParts; ++part) {
    const double mean = std::accumulate(at(part), at(part + 1), 0.0) / static_cast<double>(at(part + 1) - at(part));
    std::fill(at(part), at(part + 1), mean);
  }
  return scores;
}

}  // namespace planted
