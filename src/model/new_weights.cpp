#include "model/new_weights.hpp"

#include <algorithm>

#include <widthwise/calibration.hpp>

namespace widthwise::internal {

void NewWeights::evaluate(MatrixView x, std::span<double> out) const {
  learnt_->evaluate(x, {out.data(), out.size(), 1});
  for (double& value : out) value = learnt_weight(value);
}

std::span<const double> NewWeights::of(const Rows& rows, std::size_t first, std::size_t count,
                                       std::vector<double>& memory) const {
  if (!rows.cluster_sizes.empty()) return rows.cluster_sizes.subspan(first, count);
  if (!rows.weights.empty()) return rows.weights.subspan(first, count);
  if (learnt_ == nullptr) return {};
  memory.resize(count);
  evaluate(rows.x.slice(first, count), memory);
  return memory;
}

std::optional<double> NewWeights::of_row(std::span<const double> x, std::optional<double> given) const {
  if (learnt_ == nullptr) return given;
  double weight = 0;
  evaluate({x.data(), 1, x.size()}, {&weight, 1});
  return weight;
}

void NewWeights::write(const Rows& rows, std::span<double> out) const {
  if (!rows.weights.empty()) {
    std::ranges::copy(rows.weights, out.begin());
  } else if (learnt_ != nullptr) {
    evaluate(rows.x, out);
  } else {
    std::ranges::fill(out, 1.0);
  }
}

}  // namespace widthwise::internal
