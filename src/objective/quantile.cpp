#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/vector_math.hpp"
#include "objective/objectives.hpp"

namespace widthwise::internal {
namespace {

/// One quantile of all rows: outcomes and weights have a number per row, predictions one every `stride` numbers.
struct QuantileRows {
  const double* outcomes;
  const double* weights;  // null means 1
  const double* predictions;
  std::size_t stride;
  std::size_t n;
  double probability;
};

/// Sums over rows, which workers add as an array.
struct QuantileSums {
  double weight;
  double loss;   // of w rho
  double roots;  // of w |e|^(1/2)
};

/// The weights of one block, and its errors e = q - y.
[[gnu::always_inline]] inline void read_block(const QuantileRows& rows, std::size_t first, std::size_t n, double* error,
                                              double* weight) {
  const double* q = rows.predictions + first * rows.stride;
  for (std::size_t i = 0; i < n; ++i) error[i] = q[i * rows.stride] - rows.outcomes[first + i];
  if (rows.weights == nullptr) {
    std::fill_n(weight, n, 1.0);
  } else {
    std::copy_n(rows.weights + first, n, weight);
  }
}

WIDTHWISE_VECTORISED void sum_errors(const QuantileRows& rows, QuantileSums& sums) {
  LaneSum weight_sum;
  LaneSum loss_sum;
  LaneSum root_sum;
  double error[kBlock];
  double weight[kBlock];
  double term[kBlock];
  for (std::size_t first = 0; first < rows.n; first += kBlock) {
    const std::size_t n = std::min(kBlock, rows.n - first);
    read_block(rows, first, n, error, weight);
    weight_sum.add(weight, n);
    // rho = (|e| + (1 - 2p) e) / 2
    for (std::size_t i = 0; i < n; ++i)
      term[i] = 0.5 * weight[i] * (std::abs(error[i]) + (1 - 2 * rows.probability) * error[i]);
    loss_sum.add(term, n);
    for (std::size_t i = 0; i < n; ++i) term[i] = weight[i] * std::sqrt(std::abs(error[i]));
    root_sum.add(term, n);
  }
  sums = {weight_sum.total(), loss_sum.total(), root_sum.total()};
}

/// Sums of the second derivatives of rows, which workers add as an array.
struct CurvatureSums {
  double bound;      // of w c
  double curvature;  // of w c^3
};

/// c = d / (e^2 + d^2)^(1/2) of one block.
[[gnu::always_inline]] inline void weigh_errors(const double* error, std::size_t n, double smoothing, double* c) {
  for (std::size_t i = 0; i < n; ++i) c[i] = smoothing / std::sqrt(error[i] * error[i] + smoothing * smoothing);
}

WIDTHWISE_VECTORISED void sum_curvatures(const QuantileRows& rows, double smoothing, CurvatureSums& sums) {
  LaneSum bound_sum;
  LaneSum curvature_sum;
  double error[kBlock];
  double weight[kBlock];
  double c[kBlock];
  for (std::size_t first = 0; first < rows.n; first += kBlock) {
    const std::size_t n = std::min(kBlock, rows.n - first);
    read_block(rows, first, n, error, weight);
    weigh_errors(error, n, smoothing, c);
    for (std::size_t i = 0; i < n; ++i) weight[i] *= c[i];
    bound_sum.add(weight, n);
    for (std::size_t i = 0; i < n; ++i) weight[i] *= c[i] * c[i];
    curvature_sum.add(weight, n);
  }
  sums = {bound_sum.total(), curvature_sum.total()};
}

/// Write w (c e + d (1 - 2p)) / `slope_unit` and, unless it is null, w c / `curvature_unit`, every `stride` numbers.
WIDTHWISE_VECTORISED void differentiate(const QuantileRows& rows, double smoothing, double slope_unit,
                                        double curvature_unit, double* gradient, double* hessian) {
  double error[kBlock];
  double weight[kBlock];
  double c[kBlock];
  const double tilt = smoothing * (1 - 2 * rows.probability);
  for (std::size_t first = 0; first < rows.n; first += kBlock) {
    const std::size_t n = std::min(kBlock, rows.n - first);
    read_block(rows, first, n, error, weight);
    weigh_errors(error, n, smoothing, c);
    for (std::size_t i = 0; i < n; ++i) error[i] = weight[i] * (c[i] * error[i] + tilt) / slope_unit;
    for (std::size_t i = 0; i < n; ++i) gradient[(first + i) * rows.stride] = error[i];
    if (hessian == nullptr) continue;
    for (std::size_t i = 0; i < n; ++i) hessian[(first + i) * rows.stride] = weight[i] * c[i] / curvature_unit;
  }
}

/// If all errors are 0; its square is a number.
constexpr double kMinSmoothing = 1e-100;

/// The pinball loss rho of quantiles, with the derivatives of a smooth loss. For e = q - y and a smoothing d,
///   rho_d(e) = ((e^2 + d^2)^(1/2) + (1 - 2p) e) / 2,
/// where d is a multiple of the typical error mean(|e|^(1/2))^2, so that it decreases with the errors
/// (docs/mathematics.md).
class QuantileObjective final : public Objective {
 public:
  QuantileObjective(std::vector<double> probabilities, double smoothing)
      : probabilities_(std::move(probabilities)), smoothing_(smoothing) {}

  [[nodiscard]] std::size_t parameter_count() const override { return probabilities_.size(); }
  [[nodiscard]] bool starts_from_best_constants() const override { return true; }

  using Objective::evaluate;
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView hessian, Workspace& /*workspace*/, const Reducer& reducer) const override {
    check_shapes(parameter_count(), rows, parameters, gradient, hessian);
    std::vector<QuantileSums> sums(parameter_count());
    for (std::size_t j = 0; j < sums.size(); ++j) sum_errors(rows_of(rows, parameters, j), sums[j]);
    reducer.sum({&sums.front().weight, sums.size() * sizeof(QuantileSums) / sizeof(double)});
    double loss = 0;
    for (const QuantileSums& sum : sums) loss += sum.loss / sum.weight;
    require_finite(loss, rows, parameters);
    std::vector<double> smoothings;
    std::vector<CurvatureSums> curvatures(sums.size());
    for (std::size_t j = 0; j < sums.size(); ++j) {
      const double root = sums[j].roots / sums[j].weight;
      smoothings.push_back(std::max(smoothing_of(j) * root * root, kMinSmoothing));
      sum_curvatures(rows_of(rows, parameters, j), smoothings[j], curvatures[j]);
    }
    reducer.sum({&curvatures.front().bound, sums.size() * sizeof(CurvatureSums) / sizeof(double)});
    if (gradient.empty()) return loss;
    for (std::size_t j = 0; j < sums.size(); ++j) {
      const auto& [bound, curvature] = curvatures[j];
      differentiate(rows_of(rows, parameters, j), smoothings[j], bound * share_of_bound(curvature / bound), bound,
                    gradient.data() + j, hessian.empty() ? nullptr : hessian.data() + j);
    }
    return loss;
  }

 private:
  [[nodiscard]] QuantileRows rows_of(const ResidualRows& rows, MatrixView parameters, std::size_t output) const {
    return {.outcomes = rows.residuals.data(),
            .weights = rows.weights.empty() ? nullptr : rows.weights.data(),
            .predictions = parameters.data() + output,
            .stride = parameter_count(),
            .n = rows.residuals.size(),
            .probability = probabilities_[output]};
  }

  /// The Hessians are in proportion to those of parabolas that touch rho_d at e and lie above it, which holds for
  /// leaves of any errors. Their steps are too short where the second derivative is smaller, `ratio` on average; steps
  /// of that size, Newton's, overfit. A quarter of the way between them, in logs, has the best scores on known data.
  [[nodiscard]] static double share_of_bound(double ratio) {
    constexpr double kMinRatio = 1e-12;
    return std::pow(std::max(ratio, kMinRatio), 0.25);
  }

  /// d in typical errors. If all errors are about D, rho_d has a slope of 0 at d = D 2 (p (1 - p))^(1/2) / |1 - 2p|: a
  /// d of this size would move the quantile away from all outcomes, and increase with its distance.
  [[nodiscard]] double smoothing_of(std::size_t output) const {
    const double p = probabilities_[output];
    return p == 0.5 ? smoothing_ : std::min(smoothing_, std::sqrt(p * (1 - p)) / std::abs(1 - 2 * p));
  }

  std::vector<double> probabilities_;
  double smoothing_;
};

}  // namespace

std::unique_ptr<const Objective> make_quantile_objective(std::vector<double> probabilities, double smoothing) {
  return std::make_unique<QuantileObjective>(std::move(probabilities), smoothing);
}

}  // namespace widthwise::internal
