#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <widthwise/evaluation.hpp>

namespace widthwise {
namespace {

/// The rows with the largest positive values, descending; of equal values, the first rows. NaN is no value.
std::vector<std::size_t> largest(std::span<const double> values) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0) rows.push_back(i);
  }
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(kMaxListedRows, rows.size()));
  std::ranges::partial_sort(
      rows, end, [&](std::size_t a, std::size_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
  rows.erase(end, rows.end());
  return rows;
}

}  // namespace

ListedRows list_rows(const IntervalRows& rows, std::span<const std::string> ids) {
  std::vector<double> width(rows.outcomes.size());
  std::vector<double> outside(rows.outcomes.size());
  for (std::size_t i = 0; i < width.size(); ++i) {
    const double y = rows.outcomes[i];
    width[i] = rows.upper[i] - rows.lower[i];
    outside[i] = std::max(rows.lower[i] - y, y - rows.upper[i]);
  }
  const auto listed = [&](std::span<const double> values) {
    std::vector<ListedRow> found;
    for (const std::size_t i : largest(values)) {
      found.push_back({.row = i + 1,
                       .id = i < ids.size() ? ids[i] : "",
                       .outcome = rows.outcomes[i],
                       .lower = rows.lower[i],
                       .upper = rows.upper[i]});
    }
    return found;
  };
  return {.widest = listed(width), .missed = listed(outside)};
}

}  // namespace widthwise
