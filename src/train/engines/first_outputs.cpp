#include "train/engines/first_outputs.hpp"

#include <cstddef>

namespace widthwise::internal {

std::vector<float> first_outputs(const ResidualRows& rows, const Objective& objective, const Reducer& reducer) {
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
