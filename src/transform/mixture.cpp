#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <widthwise/error.hpp>
#include <widthwise/root_finding.hpp>

#include "message.hpp"
#include "transform/named.hpp"
#include "vector_math.hpp"

namespace widthwise::internal {
namespace {

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

/// log(1 + e^x), without overflow.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// phi = sum_j softplus(w_j) phi_j(A; g_j) + epsilon log A over erc, linear, exp and sigma: the combination with
/// nonnegative weights that the paper proposes as future work, with the term epsilon log A of its section Model
/// classes, which makes the codomain the whole real line for every x. p = (w_erc, g_erc, w_linear, g_linear, w_exp,
/// g_exp, w_sigma, g_sigma). The inverse has no closed form; it uses a root-finder and implicit derivatives.
class Mixture final : public Transform {
 public:
  Mixture(double gamma, double epsilon) : gamma_(gamma), epsilon_(epsilon) {}

  [[nodiscard]] std::string_view name() const override { return "mixture"; }
  [[nodiscard]] std::size_t parameter_count() const override { return 8; }
  [[nodiscard]] TransformOptions options() const override { return {.gamma = gamma_, .epsilon = epsilon_}; }

  [[nodiscard]] double value(double a, std::span<const double> p) const override {
    const double log_a = std::log(a);
    return softplus(p[0]) * a / (p[1] * p[1] + gamma_) + softplus(p[2]) * (log_a + p[3]) +
           softplus(p[4]) * a * bounded_exp(p[5]) + softplus(p[6]) * sigmoid(log_a + p[7]) + epsilon_ * log_a;
  }

  [[nodiscard]] double d_score(double a, std::span<const double> p) const override {
    const double s = sigmoid(std::log(a) + p[7]);
    return softplus(p[0]) / (p[1] * p[1] + gamma_) + softplus(p[4]) * bounded_exp(p[5]) +
           (softplus(p[2]) + softplus(p[6]) * s * (1 - s) + epsilon_) / a;
  }

  void d_parameters(double a, std::span<const double> p, std::span<double> out) const override {
    const double log_a = std::log(a);
    const double scale = p[1] * p[1] + gamma_;
    const double s = sigmoid(log_a + p[7]);
    const double grown = a * bounded_exp(p[5]);
    out[0] = sigmoid(p[0]) * a / scale;
    out[1] = -softplus(p[0]) * a * 2 * p[1] / (scale * scale);
    out[2] = sigmoid(p[2]) * (log_a + p[3]);
    out[3] = softplus(p[2]);
    out[4] = sigmoid(p[4]) * grown;
    out[5] = softplus(p[4]) * grown;
    out[6] = sigmoid(p[6]) * s;
    out[7] = softplus(p[6]) * s * (1 - s);
  }

  /// Terms may cancel, so the rounding error is a few units in the last place of the sum of absolute terms. The root is
  /// rounded up by that error divided by the slope.
  [[nodiscard]] double inverse(double b, std::span<const double> p) const override {
    const double a = Transform::inverse(b, p);
    if (!(a > 0 && a < std::numeric_limits<double>::infinity())) return a;
    const double log_a = std::abs(std::log(a));
    const double terms = softplus(p[0]) * a / (p[1] * p[1] + gamma_) + softplus(p[2]) * (log_a + std::abs(p[3])) +
                         softplus(p[4]) * a * bounded_exp(p[5]) + softplus(p[6]) + epsilon_ * log_a;
    return a + 16 * std::numeric_limits<double>::epsilon() * (a + terms / d_score(a, p));
  }

 private:
  double gamma_;
  double epsilon_;
};

}  // namespace

std::shared_ptr<const Transform> make_mixture(const TransformOptions& options) {
  for (const auto& [what, x] : {std::pair{"gamma", options.gamma}, std::pair{"epsilon", options.epsilon}}) {
    if (!(x > 0 && std::isfinite(x))) {
      throw make_error(ErrorCode::kInvalidArgument, "mixture: {} must be positive and finite, found {}", what, x);
    }
  }
  return std::make_shared<Mixture>(options.gamma, options.epsilon);
}

}  // namespace widthwise::internal
