#include "quantile_columns.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

namespace widthwise::cli {

QuantileColumns::QuantileColumns(const Model& model, std::vector<Level> probabilities)
    : model_(model), probabilities_(std::move(probabilities)), infinite_(probabilities_.size()) {
  for (const Level& probability : probabilities_) names_.push_back("quantile_" + probability.to_string());
}

MatrixView QuantileColumns::beside(MatrixView left, const Rows& rows) {
  if (probabilities_.empty()) return left;
  const std::size_t n = rows.x.rows();
  const std::size_t k = probabilities_.size();
  quantiles_.resize(n * k);
  model_.quantiles(rows, probabilities_, {quantiles_.data(), n, k});
  columns_.clear();
  columns_.reserve(n * (left.columns() + k));
  for (std::size_t i = 0; i < n; ++i) {
    columns_.insert(columns_.end(), left.row(i).begin(), left.row(i).end());
    for (std::size_t j = 0; j < k; ++j) {
      columns_.push_back(quantiles_[i * k + j]);
      if (!std::isfinite(columns_.back())) ++infinite_[j];
    }
  }
  return {columns_.data(), n, left.columns() + k};
}

}  // namespace widthwise::cli
