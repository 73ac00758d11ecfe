#include "train/trainer/first_outputs.hpp"

#include <cstddef>

namespace widthwise::internal {

std::vector<float> first_outputs(const ResidualRows& rows, const Objective& objective) {
  const std::size_t n = rows.residuals.size();
  const std::size_t columns = objective.parameter_count();
  const std::vector<double> zeros(n * columns);
  std::vector<double> gradient(n * columns);
  objective.evaluate(rows, {zeros.data(), n, columns}, {gradient.data(), n, columns});
  std::vector<float> outputs(columns, 1);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (gradient[i] != 0) outputs[i % columns] = 0;
  }
  return outputs;
}

}  // namespace widthwise::internal
