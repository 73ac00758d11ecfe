#include <widthwise/cross_coverage.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace widthwise {
namespace {

/// 2 alpha and the term for any fit: the mean of the p-values of the folds, weighted by n_k + 1, is at most
/// alpha + (1 - alpha) (K - 1) / (n + K) if the outcome is missed, and twice a mean of p-values is a p-value.
double miss_of_any_fit(double alpha, double n, double folds) {
  return 2 * (alpha + (1 - alpha) * (folds - 1) / (n + folds));
}

}  // namespace

double cross_coverage(const Level& level, std::span<const std::uint64_t> fold_rows) {
  if (fold_rows.empty()) return 0;
  const double alpha = level.complement().value();
  const auto folds = static_cast<double>(fold_rows.size());
  const double n = std::accumulate(fold_rows.begin(), fold_rows.end(), 0.0);
  double miss = miss_of_any_fit(alpha, n, folds);
  if (std::ranges::adjacent_find(fold_rows, std::ranges::not_equal_to()) == fold_rows.end()) {
    miss = std::min(miss, 2 * alpha + (1 - folds / n) / (folds + 1));
  }
  return std::max(0.0, 1 - miss);
}

double cross_coverage(const Level& level, std::uint64_t rows, std::uint64_t folds) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t k = 0; k < folds; ++k) sizes.push_back((k + 1) * rows / folds - k * rows / folds);
  return cross_coverage(level, sizes);
}

double cross_coverage_of_model(const Level& level, std::span<const std::uint64_t> fold_rows, double failure) {
  if (fold_rows.empty()) return 0;
  const auto folds = static_cast<double>(fold_rows.size());
  const double n = std::accumulate(fold_rows.begin(), fold_rows.end(), 0.0);
  const auto smallest = static_cast<double>(*std::ranges::min_element(fold_rows));
  const double deviation = std::sqrt(2 * std::log(folds / failure) / smallest);
  return std::max(0.0, 1 - miss_of_any_fit(level.complement().value(), n, folds) - deviation);
}

}  // namespace widthwise
