#include <cmath>

#include "objective/objectives.hpp"

namespace widthwise {
namespace {

/// mean (g - r^2)^2  [paper, Experiments].
class ErrorFit final : public Objective {
 public:
  [[nodiscard]] std::size_t parameter_count() const override { return 1; }

  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView hessian, Workspace& /*workspace*/, const Reducer& reducer) const override {
    internal::check_shapes(1, rows, parameters, gradient, hessian);
    const auto error = [&](std::size_t i) { return parameters(i, 0) - rows.residuals[i] * rows.residuals[i]; };
    const std::size_t n = rows.residuals.size();

    struct {
      double rows, weight, squares;
    } sums{static_cast<double>(n), 0, 0};
    for (std::size_t i = 0; i < n; ++i) {
      sums.weight += internal::weight_of(rows, i);
      sums.squares += internal::weight_of(rows, i) * error(i) * error(i);
    }
    reducer.sum({&sums.rows, 3});
    const double loss = sums.squares / sums.weight;
    internal::require_finite(loss, rows, parameters);
    for (std::size_t i = 0; i < gradient.rows(); ++i)
      gradient(i, 0) = 2 * internal::weight_of(rows, i) * error(i) / sums.weight;
    const double minimum = internal::kMinCurvature / sums.rows;
    for (std::size_t i = 0; i < hessian.rows(); ++i)
      hessian(i, 0) = std::max(2 * internal::weight_of(rows, i) / sums.weight, minimum);
    return loss;
  }

  using Objective::evaluate;
};

}  // namespace

std::unique_ptr<const Objective> make_error_fit_objective() { return std::make_unique<ErrorFit>(); }

}  // namespace widthwise
