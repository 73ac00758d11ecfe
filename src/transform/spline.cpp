#include "transform/spline.hpp"

#include <array>
#include <cstddef>
#include <limits>

#include "transform/named.hpp"
#include "vector_math.hpp"

namespace widthwise::internal {
namespace {

/// The conditional distribution of the error: phi^-1(b; p) = sum_k e^{p_k} M_k(b), a spline in b with a slope per range
/// of levels. The half-width is linear in the slopes, and phi is found segment by segment. Every x has the codomain
/// [0, infinity), so no set is empty.
class Spline final : public Transform {
 public:
  [[nodiscard]] std::string_view name() const override { return "spline"; }
  [[nodiscard]] std::size_t parameter_count() const override { return kSplineSegments; }
  [[nodiscard]] bool has_spline_inverse() const override { return true; }

  [[nodiscard]] double value(double a, std::span<const double> p) const override { return locate(a, p).b; }

  [[nodiscard]] double d_score(double a, std::span<const double> p) const override { return 1 / locate(a, p).slope; }

  void d_parameters(double a, std::span<const double> p, std::span<double> out) const override {
    const Place place = locate(a, p);
    const SplineBasis basis = spline_basis(place.b);
    for (std::size_t k = 0; k < kSplineSegments; ++k) out[k] = -bounded_exp(p[k]) * basis[k] / place.slope;
  }

  [[nodiscard]] double inverse(double b, std::span<const double> p) const override {
    return inverse_at(rounded_up_basis(b), p.data());
  }

  void inverses(MatrixView quantiles, MatrixView parameters, MutableMatrixView out) const override {
    const bool shared = quantiles.stride() == 0 && out.rows() > 0;
    for (std::size_t j = 0; j < out.columns(); ++j) {
      SplineBasis basis{};
      if (shared) basis = rounded_up_basis(quantiles(0, j));
      for (std::size_t i = 0; i < out.rows(); ++i) {
        if (!shared) basis = rounded_up_basis(quantiles(i, j));
        out(i, j) = inverse_at(basis, parameters.row(i).data());
      }
    }
  }

 private:
  /// Where a score lies: its value and the slope da/db of its segment.
  struct Place {
    double b;
    double slope;
  };

  [[nodiscard]] static Place locate(double a, std::span<const double> p) {
    double left = a;
    for (std::size_t k = 0; k + 1 < kSplineSegments; ++k) {
      const double slope = bounded_exp(p[k]);
      const double rise = slope * (kSplineKnots[k + 1] - kSplineKnots[k]);
      if (left <= rise) return {kSplineKnots[k] + left / slope, slope};
      left -= rise;
    }
    const double slope = bounded_exp(p[kSplineSegments - 1]);
    return {kSplineKnots.back() + left / slope, slope};
  }

  /// Rounded up twice: here for b, which was rounded and may lie at a knot with a steeper segment behind it, and in
  /// inverse_at for the sum.
  [[nodiscard]] static SplineBasis rounded_up_basis(double b) { return spline_basis(b * (1 + kRoundingSlack)); }

  [[gnu::always_inline]] static double inverse_at(const SplineBasis& basis, const double* p) {
    double a = 0;
    // A segment that b does not reach counts nothing, however steep it is.
    for (std::size_t k = 0; k < kSplineSegments; ++k) a += bounded_exp(p[k]) * basis[k];
    return a * (1 + kSplineSlack);
  }

  // Each of the segments adds a rounding error to the score that is left.
  static constexpr double kSplineSlack = 2 * (kSplineSegments + 1) * std::numeric_limits<double>::epsilon();
};

}  // namespace

std::shared_ptr<const Transform> make_spline(const TransformOptions& /*options*/) { return std::make_shared<Spline>(); }

}  // namespace widthwise::internal
