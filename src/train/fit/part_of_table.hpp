#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <widthwise/model.hpp>
#include <widthwise/train/fit.hpp>

#include "train/fit/rows.hpp"
#include "train/fit/splits.hpp"

namespace widthwise::internal {

/// Some rows of a table, in this order.
class PartOfTable {
 public:
  PartOfTable(const FitTable& table, std::span<const std::size_t> rows)
      : x_(rows.size() * table.x.columns()),
        y_(taken(table.y, rows)),
        groups_(some(table.groups, rows)),
        clusters_(some(table.clusters, rows)),
        copies_(some(table.copies, rows)),
        table_(table) {
    const std::size_t columns = table.x.columns();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::ranges::copy(table.x.row(rows[i]), x_.data() + i * columns);
      numbers_.push_back(table.row_numbers.empty() ? table.first_row + rows[i] : table.row_numbers[rows[i]]);
    }
    take(table.predictions, rows, predictions_, prediction_columns(table));
    take(table.cv_predictions, rows, cv_predictions_, prediction_columns(table));
    take(table.weights, rows, weights_);
    take(table.times, rows, times_);
    take(table.sample_weights, rows, sample_weights_);
    table_.x = {x_.data(), rows.size(), columns};
    table_.y = y_;
    table_.predictions = predictions_;
    table_.cv_predictions = cv_predictions_;
    table_.row_numbers = numbers_;
    table_.groups = groups_;
    table_.weights = weights_;
    table_.clusters = clusters_;
    table_.times = times_;
    table_.sample_weights = sample_weights_;
    table_.copies = copies_;
  }
  PartOfTable(const PartOfTable&) = delete;
  PartOfTable& operator=(const PartOfTable&) = delete;

  [[nodiscard]] const FitTable& table() const { return table_; }

  /// The rows for a model, with the numbers of its categories.
  [[nodiscard]] ModelRows rows_for(const Model& model) {
    for (std::size_t j = 0; j < table_.categories.size(); ++j) {
      if (table_.categories[j].size() == 0) continue;
      renumber(x_, j, table_.x.columns(), table_.categories[j], model.categories_of(j));
    }
    return {.x = table_.x, .predictions = predictions_};
  }

 private:
  static void take(std::span<const double> values, std::span<const std::size_t> rows, std::vector<double>& out,
                   std::size_t columns = 1) {
    if (!values.empty()) out = taken(values, rows, columns);
  }

  static std::vector<std::int64_t> some(std::span<const std::int64_t> values, std::span<const std::size_t> rows) {
    std::vector<std::int64_t> out;
    if (values.empty()) return out;
    out.reserve(rows.size());
    for (const std::size_t row : rows) out.push_back(values[row]);
    return out;
  }

  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<double> predictions_;
  std::vector<double> cv_predictions_;
  std::vector<double> weights_;
  std::vector<double> times_;
  std::vector<double> sample_weights_;
  std::vector<std::int64_t> groups_;
  std::vector<std::int64_t> clusters_;
  std::vector<std::int64_t> copies_;
  std::vector<std::uint64_t> numbers_;
  FitTable table_;
};

}  // namespace widthwise::internal
