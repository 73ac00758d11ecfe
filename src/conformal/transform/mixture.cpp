#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <widthwise/error.hpp>
#include "base/root_finding.hpp"

#include "base/message.hpp"
#include "base/vector_math.hpp"
#include "conformal/transform/named.hpp"

namespace widthwise::internal {
namespace {

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

/// log(1 + e^x), without overflow.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// The logarithms of the smallest normal and the largest double.
constexpr double kLogMin = -708.396;
constexpr double kLogMax = 709.782;

/// A score with what phi needs of it: log a, and the sigmoid s of log a + p_7.
struct Place {
  double a;
  double log_a;
  double s;
};

/// phi of one row, with everything that depends on p alone computed once:
/// phi = steepness A + linear (log A + p_3) + sigma s(log A + p_7) + epsilon log A, where s is the sigmoid. The terms
/// erc and exp of the sum are both proportional to A.
class Row {
 public:
  Row(std::span<const double> p, double gamma, double epsilon)
      : p_(p),
        epsilon_(epsilon),
        erc_(1 / (p[1] * p[1] + gamma)),
        exp_(bounded_exp(p[5])),
        weight_{softplus(p[0]), softplus(p[2]), softplus(p[4]), softplus(p[6])},
        steepness_(std::min(weight_[0] * erc_ + weight_[2] * exp_, std::numeric_limits<double>::max())) {}

  [[nodiscard]] Place place(double a) const {
    const double log_a = std::log(a);
    return {a, log_a, sigmoid(log_a + p_[7])};
  }

  [[nodiscard]] double value(const Place& at) const {
    return steepness_ * at.a + weight_[1] * (at.log_a + p_[3]) + weight_[3] * at.s + epsilon_ * at.log_a;
  }

  [[nodiscard]] double d_score(const Place& at) const {
    return steepness_ + (weight_[1] + weight_[3] * at.s * (1 - at.s) + epsilon_) / at.a;
  }

  /// The derivatives of the weights in their parameters, which are the same for every score.
  [[nodiscard]] std::array<double, 4> d_weights() const {
    return {sigmoid(p_[0]), sigmoid(p_[2]), sigmoid(p_[4]), sigmoid(p_[6])};
  }

  void d_parameters(const Place& at, const std::array<double, 4>& d_weights, std::span<double> out) const {
    out[0] = d_weights[0] * at.a * erc_;
    out[1] = -weight_[0] * at.a * 2 * p_[1] * erc_ * erc_;
    out[2] = d_weights[1] * (at.log_a + p_[3]);
    out[3] = weight_[1];
    out[4] = d_weights[2] * at.a * exp_;
    out[5] = weight_[2] * at.a * exp_;
    out[6] = d_weights[3] * at.s;
    out[7] = weight_[3] * at.s * (1 - at.s);
  }

  /// The a with phi(a) = b, rounded up.
  [[nodiscard]] double inverse(double b) const {
    const Place near = root(b, 0);
    if (near.a == 0 || near.a == kInfinity) return near.a;
    const double a = least_above(ScalarFunction([&](double x) { return value(place(x)); }), b, std::exp(near.log_a));
    return a == kInfinity ? a : a + rounding(a);
  }

  /// The same, rounded down; NaN if phi is NaN.
  [[nodiscard]] double inverse_down(double b) const {
    const Place near = root(b, 0);
    if (near.a == 0) return 0;
    double a = std::min(std::exp(near.log_a), std::numeric_limits<double>::max());
    if (std::isnan(value(place(a)))) return kNaN;
    for (double factor = 2 * std::numeric_limits<double>::epsilon(); value(place(a)) >= b; factor *= 2) {
      a -= a * std::min(factor, 0.5);
      if (a < std::numeric_limits<double>::min()) return 0;
    }
    return std::max(a - rounding(a), 0.0);
  }

  /// The score whose phi is b, up to rounding: a is 0 or infinity if phi is above or below b for every double, and
  /// infinity if it is NaN. Newton's method on log a, from `log_guess`, inside a bracket that shrinks: where a step
  /// leaves the bracket or is more than half of the one before, bisection. A neighbouring level is three exponentials
  /// away.
  [[nodiscard]] Place root(double b, double log_guess) const {
    constexpr double kClose = 1e-8;  // the error after a step is about its square
    const double shift = bounded_exp(p_[7]);
    const double slope = weight_[1] + epsilon_;
    double u = log_guess;
    double low = -kInfinity;
    double high = kInfinity;
    double longest = 2;
    for (;;) {
      const double e = bounded_exp(u);
      const double rest = 1 / (1 + e * shift);
      const double s = 1 - rest;
      const double difference = steepness_ * e + slope * u + weight_[1] * p_[3] + weight_[3] * s - b;
      if (std::isnan(difference)) return {kInfinity, kInfinity, 1};
      (difference > 0 ? high : low) = u;
      if (high <= kLogMin) return {0, -kInfinity, 0};
      if (low >= kLogMax) return {kInfinity, kInfinity, 1};
      const bool bracketed = low > -kInfinity && high < kInfinity;
      const double newton = -difference / (steepness_ * e + slope + weight_[3] * s * rest);
      if (std::abs(newton) <= kClose || (bracketed && high - low <= kClose * kClose)) {
        return {e + e * newton, u + newton, s + s * rest * newton};
      }
      const bool good = std::abs(newton) <= longest && u + newton > low && u + newton < high;
      const double otherwise = bracketed ? 0.5 * (low + high) : u + std::copysign(longest, newton);
      longest = bracketed ? 0.5 * (good ? std::abs(newton) : high - low) : 2 * longest;
      u = std::clamp(good ? u + newton : otherwise, kLogMin, kLogMax);
    }
  }

 private:
  /// The rounding error of the root a. Terms of phi may cancel, so its error is a few units in the last place of the
  /// sum of absolute terms; that of the root is this error divided by the slope.
  [[nodiscard]] double rounding(double a) const {
    const Place at = place(a);
    const double log_size = std::abs(at.log_a);
    const double terms = steepness_ * a + weight_[1] * (log_size + std::abs(p_[3])) + weight_[3] + epsilon_ * log_size;
    return 16 * std::numeric_limits<double>::epsilon() * (a + terms / d_score(at));
  }

  std::span<const double> p_;
  double epsilon_;
  double erc_;
  double exp_;
  std::array<double, 4> weight_;  // of erc, linear, exp and sigma
  double steepness_;
};

/// phi = sum_j softplus(w_j) phi_j(A; g_j) + epsilon log A over erc, linear, exp and sigma: the combination with
/// nonnegative weights that the paper proposes as future work, with the term epsilon log A of its section Model
/// classes, which makes the codomain the whole real line for every x. p = (w_erc, g_erc, w_linear, g_linear, w_exp,
/// g_exp, w_sigma, g_sigma). The inverse has no closed form; it is found by Newton's method, with implicit derivatives.
class Mixture final : public Transform {
 public:
  Mixture(double gamma, double epsilon) : gamma_(gamma), epsilon_(epsilon) {}

  [[nodiscard]] std::string_view name() const override { return "mixture"; }
  [[nodiscard]] std::size_t parameter_count() const override { return 8; }
  [[nodiscard]] TransformOptions options() const override { return {.gamma = gamma_, .epsilon = epsilon_}; }

  [[nodiscard]] double value(double a, std::span<const double> p) const override {
    const Row of_p = row(p);
    return of_p.value(of_p.place(a));
  }

  [[nodiscard]] double d_score(double a, std::span<const double> p) const override {
    const Row of_p = row(p);
    return of_p.d_score(of_p.place(a));
  }

  void d_parameters(double a, std::span<const double> p, std::span<double> out) const override {
    const Row of_p = row(p);
    of_p.d_parameters(of_p.place(a), of_p.d_weights(), out);
  }

  [[nodiscard]] double inverse(double b, std::span<const double> p) const override { return row(p).inverse(b); }
  [[nodiscard]] double inverse_down(double b, std::span<const double> p) const override {
    return row(p).inverse_down(b);
  }

  void row_inverses(std::span<const double> levels, std::span<const double> p, const RowInverses& out) const override {
    const Row of_p = row(p);
    const std::array<double, 4> d_weights = of_p.d_weights();
    double guess = 0;
    for (std::size_t j = 0; j < levels.size(); ++j) {
      const Place at = of_p.root(levels[j], guess);
      out.scores[j] = at.a;
      if (std::isfinite(at.log_a)) guess = at.log_a;
      if (out.d_scores.empty()) continue;
      out.d_scores[j] = of_p.d_score(at);
      of_p.d_parameters(at, d_weights, out.d_parameters.row(j));
    }
  }

 private:
  [[nodiscard]] Row row(std::span<const double> p) const { return {p, gamma_, epsilon_}; }

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
