#include "boosting.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <widthwise/error.hpp>
#include <widthwise/train/fit.hpp>

#include "base/message.hpp"

namespace widthwise::python {
namespace {

// Leaves divide by sums of Hessians, so tiny Hessians would make extreme leaves.
constexpr double kMinHessian = 1e-3;

void check(const Boosting::Round& round, std::size_t columns) {
  const std::size_t n = round.labels.size();
  if (round.outputs.size() == n * columns && (round.weights.empty() || round.weights.size() == n)) return;
  throw internal::make_error(ErrorCode::kShapeMismatch, "{} rows with {} outputs each, but {} outputs and {} weights",
                             n, columns, round.outputs.size(), round.weights.size());
}

}  // namespace

Boosting::Result Boosting::evaluate(const Objective& objective, const Round& round, const Reducer& reducer,
                                    std::span<float> gradient, std::span<float> hessian) {
  const std::size_t n = round.labels.size();
  const std::size_t columns = objective.parameter_count();
  check(round, columns);
  residuals_.assign(round.labels.begin(), round.labels.end());
  weights_.assign(round.weights.begin(), round.weights.end());
  parameters_.assign(round.outputs.begin(), round.outputs.end());
  gradient_.resize(gradient.size());
  hessian_.resize(hessian.size());

  std::array<double, 3> sums{static_cast<double>(n), weights_.empty() ? static_cast<double>(n) : 0.0, 0.0};
  for (const double weight : weights_) sums[1] += weight;
  for (const double residual : residuals_) sums[2] += std::abs(residual);
  reducer.sum(sums);
  const auto [count, total_weight, size] = sums;
  const double unit = round.unit ? *round.unit : unit_near(size / count);
  for (double& residual : residuals_) residual /= unit;

  const auto matrix = [&](std::vector<double>& numbers) {
    return numbers.empty() ? MutableMatrixView() : MutableMatrixView(numbers.data(), n, columns);
  };
  const double loss = objective.evaluate({residuals_, weights_}, {parameters_.data(), n, columns}, matrix(gradient_),
                                         matrix(hessian_), workspace_, reducer);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(total_weight * gradient_[i]);
  for (std::size_t i = 0; i < hessian.size(); ++i) {
    const double minimum = kMinHessian * (weights_.empty() ? 1.0 : weights_[i / columns]);
    hessian[i] = static_cast<float>(std::max(total_weight * hessian_[i], minimum));
  }
  return {loss, unit};
}

}  // namespace widthwise::python
