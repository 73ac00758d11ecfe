#include "train/engines/first_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace widthwise::internal {
namespace {

/// Minimise the loss over parameters that are equal for all rows, by steps of its derivatives.
std::vector<float> best_constants(const ResidualRows& rows, const Objective& objective, const Reducer& reducer) {
  constexpr int kMaxSteps = 100;
  constexpr double kSmallStep = 1e-3;
  const std::size_t n = rows.residuals.size();
  const std::size_t columns = objective.parameter_count();
  std::vector<double> constants(columns);
  std::vector<double> parameters(n * columns);
  std::vector<double> gradient(n * columns);
  std::vector<double> hessian(n * columns);
  Workspace workspace;
  for (int step = 0; step < kMaxSteps; ++step) {
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = constants[i % columns];
    objective.evaluate(rows, {parameters.data(), n, columns}, {gradient.data(), n, columns},
                       {hessian.data(), n, columns}, workspace, reducer);
    std::vector<double> sums(2 * columns);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      sums[i % columns] += gradient[i];
      sums[columns + i % columns] += hessian[i];
    }
    reducer.sum(sums);
    double largest = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const double move = -sums[j] / sums[columns + j];
      constants[j] += move;
      largest = std::max(largest, std::abs(move));
    }
    if (largest < kSmallStep) break;
  }
  return {constants.begin(), constants.end()};
}

}  // namespace

std::vector<float> first_outputs(const ResidualRows& rows, const Objective& objective, const Reducer& reducer) {
  if (objective.starts_from_best_constants()) return best_constants(rows, objective, reducer);
  const std::size_t n = rows.residuals.size();
  const std::size_t columns = objective.parameter_count();
  const std::vector<double> zeros(n * columns);
  std::vector<double> gradient(n * columns);
  Workspace workspace;
  objective.evaluate(rows, {zeros.data(), n, columns}, {gradient.data(), n, columns}, {}, workspace, reducer);
  std::vector<double> slopes(columns, 0.0);  // number of rows with a nonzero slope
  for (std::size_t i = 0; i < gradient.size(); ++i) slopes[i % columns] += gradient[i] != 0 ? 1 : 0;
  reducer.sum(slopes);
  std::vector<float> outputs;
  for (const double slope : slopes) outputs.push_back(slope > 0 ? 0 : 1);
  return outputs;
}

}  // namespace widthwise::internal
