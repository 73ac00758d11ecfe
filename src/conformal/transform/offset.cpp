/// Transforms with an offset, which can give narrower intervals than scale transforms. The narrowest intervals over all
/// levels end where the conditional density is constant, phi = -log density (docs/mathematics.md).
#include "conformal/transform/affine_family.hpp"
#include "conformal/transform/named.hpp"

namespace widthwise::internal {
namespace {

struct WithOffset {
  static constexpr Link kLink = Link::kIdentity;
  static constexpr bool kHasOffset = true;

  static double log_scale(const double* p) { return p[0]; }
};

/// phi = A e^-g + g: minus the log of a Laplace density of scale e^g.
struct Density : WithOffset {
  static constexpr std::string_view kName = "density";
  static constexpr std::size_t kParameters = 1;

  static double offset(const double* p) { return p[0]; }
  static Jacobian<1> jacobian(const double* /*p*/) { return {{1.0}, {1.0}}; }
};

/// phi = A e^-g1 + g2: the same with independent scale and offset.
struct Affine : WithOffset {
  static constexpr std::string_view kName = "affine";
  static constexpr std::size_t kParameters = 2;

  static double offset(const double* p) { return p[1]; }
  static Jacobian<2> jacobian(const double* /*p*/) { return {{1.0, 0.0}, {0.0, 1.0}}; }
};

}  // namespace

std::shared_ptr<const Transform> make_density(const TransformOptions& /*options*/) {
  return std::make_shared<AffineFamily<Density>>(Density{});
}

std::shared_ptr<const Transform> make_affine(const TransformOptions& /*options*/) {
  return std::make_shared<AffineFamily<Affine>>(Affine{});
}

}  // namespace widthwise::internal
