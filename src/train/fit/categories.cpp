#include "train/fit/steps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace widthwise::internal {
namespace {

/// The number of fitting rows of all workers with each category of a feature.
std::vector<double> counts_of(const FitTable& table, std::size_t feature, const Splits& splits,
                              const Workers& workers) {
  std::vector<double> counts(table.categories[feature].size());
  for (const std::size_t row : splits.seen()) {
    const double number = table.rows.x(row, feature);
    if (!std::isnan(number)) counts[static_cast<std::size_t>(number)] += 1;
  }
  workers.add_up(counts);
  return counts;
}

}  // namespace

FittingCategories::FittingCategories(const FitTable& table, const Splits& splits, const Workers& workers)
    : table_(table) {
  for (std::size_t j = 0; j < table.categories.size(); ++j) {
    if (table.categories[j].size() == 0) continue;
    std::vector<double> counts = counts_of(table, j, splits, workers);
    // A feature that is missing in all fitting rows stays categorical; no tree can split it.
    if (std::ranges::all_of(counts, [](double count) { return count == 0; })) counts.front() = 1;
    if (std::ranges::find(counts, 0) != counts.end()) keep(j, counts);
  }
}

void FittingCategories::keep(std::size_t feature, const std::vector<double>& counts) {
  const std::size_t columns = table_.rows.x.columns();
  const auto copy = [&](MatrixView& rows, std::vector<double>& own) {
    for (std::size_t i = 0; i < rows.rows(); ++i) own.insert(own.end(), rows.row(i).begin(), rows.row(i).end());
    rows = {own.data(), rows.rows(), columns};
  };
  if (x_.empty()) {
    copy(table_.rows.x, x_);
    if (table_.shift_to.rows() > 0) copy(table_.shift_to, shift_to_);
  }
  Labels& all = table_.categories[feature];
  Labels kept;
  for (std::size_t number = 0; number < counts.size(); ++number) {
    if (counts[number] > 0) kept.add(all[number]);
  }
  renumber(x_, feature, columns, all, kept);
  renumber(shift_to_, feature, columns, all, kept);
  all = std::move(kept);
}

}  // namespace widthwise::internal
