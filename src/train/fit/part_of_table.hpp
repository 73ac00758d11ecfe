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
      : x_(rows.size() * table.rows.x.columns()), y_(taken(table.y, rows)), columns_(table.rows, rows), table_(table) {
    const std::size_t columns = table.rows.x.columns();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::ranges::copy(table.rows.x.row(rows[i]), x_.data() + i * columns);
      numbers_.push_back(table.row_numbers.empty() ? table.first_row + rows[i] : table.row_numbers[rows[i]]);
      if (!table.copies.empty()) copies_.push_back(table.copies[rows[i]]);
    }
    const auto take = [&](std::span<const double> values, std::vector<double>& out) {
      if (!values.empty()) out = taken(values, rows, prediction_columns(table));
    };
    take(table.rows.predictions, predictions_);
    take(table.cv_predictions, cv_predictions_);
    table_.rows.x = {x_.data(), rows.size(), columns};
    table_.rows.predictions = predictions_;
    columns_.set(table_.rows);
    table_.y = y_;
    table_.cv_predictions = cv_predictions_;
    table_.row_numbers = numbers_;
    table_.copies = copies_;
  }
  PartOfTable(const PartOfTable&) = delete;
  PartOfTable& operator=(const PartOfTable&) = delete;

  [[nodiscard]] const FitTable& table() const { return table_; }

  /// The rows for a model, with the numbers of its categories.
  [[nodiscard]] Rows rows_for(const Model& model) {
    for (std::size_t j = 0; j < table_.categories.size(); ++j) {
      if (table_.categories[j].size() == 0) continue;
      renumber(x_, j, table_.rows.x.columns(), table_.categories[j], model.categories_of(j));
    }
    return table_.rows;
  }

 private:
  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<double> predictions_;
  std::vector<double> cv_predictions_;
  RoleColumns columns_;
  std::vector<std::int64_t> copies_;
  std::vector<std::uint64_t> numbers_;
  FitTable table_;
};

}  // namespace widthwise::internal
