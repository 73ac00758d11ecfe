#include <algorithm>
#include <numeric>
#include <vector>
#include <widthwise/diagnostics.hpp>

#include "evaluation/diagnostics/rows.hpp"

namespace widthwise {
namespace {

/// Reorders `values`.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  // Add the halves instead of subtracting, because the middle two may both be +infinity.
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

}  // namespace

IntervalSummary summarise(const IntervalRows& rows, const Level& level) {
  internal::check_rows(rows, "summarise");
  const std::size_t n = rows.outcomes.size();
  const double penalty = 2 / level.complement().value();

  std::vector<double> widths(n);
  internal::CompensatedSum width_sum;
  internal::CompensatedSum score_sum;
  internal::CompensatedSum finite_width_sum;
  internal::CompensatedSum finite_score_sum;
  std::uint64_t finite = 0;
  std::uint64_t covered = 0;
  std::uint64_t infinite = 0;
  std::uint64_t empty = 0;
  std::uint64_t inside = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double lower = rows.lower[i];
    const double upper = rows.upper[i];
    const double outside = std::max({lower - rows.outcomes[i], rows.outcomes[i] - upper, 0.0});
    widths[i] = internal::width_of(rows, i);
    width_sum.add(widths[i]);
    const double score = widths[i] + penalty * outside;
    score_sum.add(score);
    if (std::isfinite(widths[i])) {
      ++finite;
      finite_width_sum.add(widths[i]);
      finite_score_sum.add(score);
    }
    if (internal::is_covered(rows, i)) ++covered;
    if (std::isinf(lower) || std::isinf(upper)) ++infinite;
    if (internal::is_empty_set(rows, i)) ++empty;
    if (internal::is_strictly_inside(rows, i)) ++inside;
  }
  return {.coverage = proportion(covered, n),
          .mean_width = width_sum.value() / static_cast<double>(n),
          .median_width = median(widths),
          .infinite = infinite,
          .empty = empty,
          .inside = inside,
          .interval_score = score_sum.value() / static_cast<double>(n),
          .finite_mean_width = finite_width_sum.value() / static_cast<double>(finite),
          .finite_interval_score = finite_score_sum.value() / static_cast<double>(finite)};
}

}  // namespace widthwise
