#pragma once

#include <array>
#include <cstddef>

/// The basis of the transform spline: phi^-1(b; p) = sum_k e^{p_k} M_k(b), where M_k increases from 0 between the knots
/// t_k and t_{k+1}, and the last one without end. b = -log(1 - level) is the score of a level, so that equal slopes are
/// the Laplace distribution, and the last segment continues with an exponential tail.
namespace widthwise::internal {

inline constexpr std::size_t kSplineSegments = 3;

/// t_k: the scores of the levels 0, 0.5 and 0.9.
inline constexpr std::array<double, kSplineSegments> kSplineKnots{0.0, 0x1.62e42fefa39efp-1, 0x1.26bb1bbb55516p+1};

using SplineBasis = std::array<double, kSplineSegments>;

/// M_k(b) for every k; 0 for b <= 0, NaN for NaN.
[[nodiscard]] inline SplineBasis spline_basis(double b) {
  SplineBasis basis{};
  for (std::size_t k = 0; k < kSplineSegments; ++k) {
    const double above = b - kSplineKnots[k];
    basis[k] = above < 0 ? 0.0 : above;
    if (k + 1 == kSplineSegments) break;
    const double length = kSplineKnots[k + 1] - kSplineKnots[k];
    if (basis[k] > length) basis[k] = length;
  }
  return basis;
}

}  // namespace widthwise::internal
