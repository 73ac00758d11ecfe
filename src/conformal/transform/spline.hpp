#pragma once

#include <array>
#include <cstddef>
#include <vector>

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

// The transform shortest. The central interval of score b misses e^-b / 2 of the distribution on each side. The
// interval that misses w e^-b above and (1 - w) e^-b below has the bounds of the scores b - log(2w) and b - log(2 -
// 2w).

/// The scores at which shortest takes the shortest interval: where the segments end, and the level 0.99 for the last.
inline constexpr std::array<double, kSplineSegments> kSplineEnds{kSplineKnots[1], kSplineKnots[2], 2 * kSplineKnots[2]};

/// How what an interval misses is shared between below and above.
struct TailShare {
  double lower;     ///< what is added to the score of the lower bound: -log(2 - 2w)
  double upper;     ///< the same for the upper bound: -log(2w)
  double handicap;  ///< lengths are compared after this factor, so that rounding does not choose between equal ones
};

/// The shares that shortest tries: 1/2 first, then those with log odds of 0.5, -0.5, 1, ..., -4.
[[nodiscard]] std::vector<TailShare> tail_shares();

/// A side grows from one end to the next by at least this part of its own growth, so that phi stays monotone.
inline constexpr double kLeastGrowth = 0x1p-10;

}  // namespace widthwise::internal
