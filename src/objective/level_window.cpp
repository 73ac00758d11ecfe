#include "objective/level_window.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "objective/objectives.hpp"

namespace widthwise::internal {

WindowEnds window_ends(const LevelWindow& window, std::span<const double> values, std::span<const double> weights,
                       Workspace& workspace) {
  const std::size_t n = values.size();
  if (weights.empty()) {
    const auto scratch = workspace.numbers(kSelection, n);
    std::copy(values.begin(), values.end(), scratch.begin());
    const auto at_rank = [&](const Level& level, std::size_t first) {
      const auto rank = std::min<std::uint64_t>(level.rank(n), n);
      const auto place = scratch.begin() + static_cast<std::ptrdiff_t>(rank - 1);
      std::nth_element(scratch.begin() + static_cast<std::ptrdiff_t>(first), place, scratch.end());
      return std::pair{static_cast<std::size_t>(rank - 1), *place};
    };
    const auto [place, low] = at_rank(window.lower, 0);
    return {low, at_rank(window.upper, place).second, window.outside};
  }

  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double with_test = total * (1 + 1 / static_cast<double>(n));
  // Rounding must not increase a rank: k of k equal weights reach their total.
  const double slack = 1e-12 * with_test;
  const double low_weight = window.lower.value() * with_test - slack;
  const double high_weight = window.upper.value() * with_test - slack;
  WindowEnds ends{values[order[n - 1]], values[order[n - 1]], window.outside};
  double reached = 0;
  bool inside = false;
  for (std::size_t i = 0; i < n; ++i) {
    reached += weights[order[i]];
    if (!inside && reached >= low_weight) {
      ends.low = values[order[i]];
      inside = true;
    }
    if (reached >= high_weight) {
      ends.high = values[order[i]];
      break;
    }
  }
  return ends;
}

void weigh_window(const WindowEnds& ends, std::span<const double> values, std::span<const double> weights,
                  std::span<double> out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double weight = weights.empty() ? 1.0 : weights[i];
    out[i] = values[i] >= ends.low && values[i] <= ends.high ? weight : ends.outside * weight;
  }
}

}  // namespace widthwise::internal
