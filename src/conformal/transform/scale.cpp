/// Transforms that only rescale the residual: B is a global monotone function of r / s(x), so with corresponding
/// parameters they all give the same intervals (docs/mathematics.md).
#include <cmath>
#include <string>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "conformal/transform/affine_family.hpp"
#include "conformal/transform/named.hpp"

namespace widthwise::internal {
namespace {

struct ScaleOnly {
  static constexpr Link kLink = Link::kIdentity;
  static constexpr bool kHasOffset = false;

  static double offset(const double* /*p*/) { return 0; }
};

/// phi = A: constant width.
struct Identity : ScaleOnly {
  static constexpr std::string_view kName = "identity";
  static constexpr std::size_t kParameters = 0;

  static double log_scale(const double* /*p*/) { return 0; }
  static Jacobian<0> jacobian(const double* /*p*/) { return {}; }
};

/// phi = A / (g^2 + gamma)  [paper, Experiments]: v = log(g^2 + gamma).
struct Erc : ScaleOnly {
  static constexpr std::string_view kName = "erc";
  static constexpr std::size_t kParameters = 1;

  double log_scale(const double* p) const { return std::log(p[0] * p[0] + gamma); }
  Jacobian<1> jacobian(const double* p) const { return {{2 * p[0] / (p[0] * p[0] + gamma)}, {0.0}}; }
  [[nodiscard]] TransformOptions options() const { return {.gamma = gamma, .epsilon = 0}; }

  double gamma;
};

/// phi = A e^g  [paper, Experiments]: v = -g.
struct Exp : ScaleOnly {
  static constexpr std::string_view kName = "exp";
  static constexpr std::size_t kParameters = 1;
  static constexpr double kSlope = -1;

  static double log_scale(const double* p) { return -p[0]; }
  static Jacobian<1> jacobian(const double* /*p*/) { return {{kSlope}, {0.0}}; }
};

/// phi = log A + g  [paper, Experiments].
struct Linear : Exp {
  static constexpr std::string_view kName = "linear";
  static constexpr Link kLink = Link::kLog;
};

/// phi = sigma(log A + g)  [paper, Experiments].
// Departure from the paper: B is stored as its logit, log A + g. The sigmoid is a global monotone function and changes
// no interval, but as a double it is 1 from e^37 on, where scores would tie and intervals would become infinite.
struct Sigma : Linear {
  static constexpr std::string_view kName = "sigma";
};

}  // namespace

std::shared_ptr<const Transform> make_identity(const TransformOptions& /*options*/) {
  return std::make_shared<AffineFamily<Identity>>(Identity{});
}

std::shared_ptr<const Transform> make_erc(const TransformOptions& options) {
  if (!(options.gamma > 0 && std::isfinite(options.gamma))) {
    throw make_error(ErrorCode::kInvalidArgument, "erc: gamma must be positive and finite, found {}", options.gamma);
  }
  return std::make_shared<AffineFamily<Erc>>(Erc{{}, options.gamma});
}

std::shared_ptr<const Transform> make_linear(const TransformOptions& /*options*/) {
  return std::make_shared<AffineFamily<Linear>>(Linear{});
}

std::shared_ptr<const Transform> make_exp(const TransformOptions& /*options*/) {
  return std::make_shared<AffineFamily<Exp>>(Exp{});
}

std::shared_ptr<const Transform> make_sigma(const TransformOptions& /*options*/) {
  return std::make_shared<AffineFamily<Sigma>>(Sigma{});
}

}  // namespace widthwise::internal
