#include "objective/gather.hpp"

#include <algorithm>
#include <vector>

#include "objective/objectives.hpp"

namespace widthwise::internal {

double evaluate_gathered(const Objective& objective, const ResidualRows& rows, MatrixView parameters,
                         MutableMatrixView gradient, MutableMatrixView hessian, Workspace& workspace,
                         const Reducer& reducer) {
  const std::size_t n = rows.residuals.size();
  const std::size_t columns = parameters.columns();
  std::vector<double> counts(reducer.workers(), 0.0);
  counts[reducer.rank()] = static_cast<double>(n);
  reducer.sum(counts);
  std::size_t first = 0;
  std::size_t total = 0;
  for (std::size_t worker = 0; worker < counts.size(); ++worker) {
    if (worker < reducer.rank()) first += static_cast<std::size_t>(counts[worker]);
    total += static_cast<std::size_t>(counts[worker]);
  }

  // Residuals, weights and parameters, concatenated.
  const auto all = workspace.numbers(kGathered, total * (2 + columns));
  std::fill(all.begin(), all.end(), 0.0);
  const auto residuals = all.first(total);
  const auto weights = all.subspan(total, total);
  const auto matrix = all.subspan(2 * total);
  std::copy(rows.residuals.begin(), rows.residuals.end(), residuals.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < n; ++i) weights[first + i] = rows.weights.empty() ? 1.0 : rows.weights[i];
  std::copy_n(parameters.data(), n * columns, matrix.data() + first * columns);
  reducer.sum(all);

  const auto output = [&](Slot slot, MutableMatrixView own) -> MutableMatrixView {
    if (own.empty()) return {};
    return {workspace.numbers(slot, total * columns).data(), total, columns};
  };
  const auto all_gradient = output(kGatheredGradient, gradient);
  const auto all_hessian = output(kGatheredHessian, hessian);
  const double loss = objective.evaluate({residuals, weights}, {matrix.data(), total, columns}, all_gradient,
                                         all_hessian, workspace, SingleWorker());
  if (!gradient.empty()) std::copy_n(all_gradient.data() + first * columns, n * columns, gradient.data());
  if (!hessian.empty()) std::copy_n(all_hessian.data() + first * columns, n * columns, hessian.data());
  return loss;
}

std::size_t total_rows(std::size_t own, const Reducer& reducer) {
  double rows = static_cast<double>(own);
  reducer.sum({&rows, 1});
  return static_cast<std::size_t>(rows);
}

bool exactly(const WidthOptions& options, std::size_t own_rows, std::size_t columns, const Reducer& reducer) {
  if (options.method != PairMethod::kAuto) return options.method == PairMethod::kExact;
  const std::size_t rows = total_rows(own_rows, reducer);
  if (rows > options.exact_rows) return false;
  constexpr std::size_t kMaxBytes = 65'536;
  return reducer.workers() == 1 || rows * (2 + columns) * sizeof(double) <= kMaxBytes;
}

}  // namespace widthwise::internal
