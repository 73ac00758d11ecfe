#include <cmath>
#include <limits>
#include <utility>
#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "evaluation/diagnostics/rows.hpp"

namespace widthwise {

Crps::Crps(std::vector<Level> probabilities) : probabilities_(std::move(probabilities)) {
  if (probabilities_.empty()) throw Error(ErrorCode::kInvalidArgument, "crps: there are no probabilities");
  double begin = 0;
  for (std::size_t j = 0; j < probabilities_.size(); ++j) {
    const bool is_last = j + 1 == probabilities_.size();
    if (!is_last && probabilities_[j + 1] <= probabilities_[j]) {
      throw internal::make_error(ErrorCode::kInvalidArgument,
                                 "crps: probability {} follows {}; expected ascending probabilities",
                                 probabilities_[j + 1].to_string(), probabilities_[j].to_string());
    }
    const double end = is_last ? 1 : (probabilities_[j].value() + probabilities_[j + 1].value()) / 2;
    cells_.push_back(end - begin);
    begin = end;
  }
}

std::vector<Level> Crps::default_probabilities() {
  // 20 of them score a normal distribution 0.2% above the integral, and need 39 calibration rows.
  constexpr int kCount = 20;
  std::vector<Level> probabilities;
  for (int j = 0; j < kCount; ++j) probabilities.emplace_back((2 * j + 1) / (2.0 * kCount));
  return probabilities;
}

void Crps::add(MatrixView quantiles, std::span<const double> outcomes, std::span<const double> weights) {
  internal::check_size(quantiles.rows(), outcomes.size(), "rows of quantiles", "crps");
  if (!weights.empty()) internal::check_size(weights.size(), outcomes.size(), "weights", "crps");
  if (quantiles.columns() != cells_.size()) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "crps: {} columns of quantiles, {} probabilities",
                               quantiles.columns(), cells_.size());
  }
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    double score = 0;
    for (std::size_t j = 0; j < cells_.size(); ++j) {
      const double above = outcomes[i] - quantiles(i, j);
      if (std::isnan(above)) {
        throw internal::make_error(ErrorCode::kNotFinite, "crps: invalid NaN at row {}; expected a number", rows_ + 1);
      }
      const double weight = above < 0 ? probabilities_[j].value() - 1 : probabilities_[j].value();
      score += 2 * cells_[j] * weight * above;
    }
    const double row_weight = weights.empty() ? 1 : weights[i];
    if (!(row_weight >= 0 && std::isfinite(row_weight))) {
      throw internal::make_error(ErrorCode::kInvalidArgument,
                                 "crps: invalid weight {} at row {}; expected a finite number of at least 0",
                                 row_weight, rows_ + 1);
    }
    if (std::isfinite(score)) {
      sum_ += row_weight * score;
      weight_ += row_weight;
    } else if (row_weight > 0) {
      ++infinite_;
    }
    ++rows_;
  }
}

CrpsSummary Crps::summary() const {
  const double finite_mean = sum_ / weight_;
  return {.mean = infinite_ > 0 ? std::numeric_limits<double>::infinity() : finite_mean,
          .finite_mean = finite_mean,
          .infinite = infinite_,
          .rows = rows_};
}

}  // namespace widthwise
