#include "conformal/transform/spline.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/vector_math.hpp"
#include "conformal/transform/named.hpp"

namespace widthwise::internal {
namespace {

using Slopes = std::array<double, kSplineSegments>;

[[gnu::always_inline]] inline Slopes slopes_of(const double* p) {
  Slopes slopes{};
  for (std::size_t k = 0; k < kSplineSegments; ++k) slopes[k] = bounded_exp(p[k]);
  return slopes;
}

/// A segment that the basis does not reach counts nothing, however steep it is.
[[gnu::always_inline]] inline double half_width(const SplineBasis& basis, const Slopes& slopes) {
  double a = 0;
  for (std::size_t k = 0; k < kSplineSegments; ++k) a += slopes[k] * basis[k];
  return a;
}

/// The conditional distribution of the error: phi^-1(b; p) = sum_k e^{p_k} M_k(b), a spline in b with a slope per range
/// of levels. The half-width is linear in the slopes, and phi is found segment by segment. Every x has the codomain
/// [0, infinity), so no set is empty.
class Spline : public Transform {
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

  [[nodiscard]] double inverse_down(double b, std::span<const double> p) const override {
    return half_width(spline_basis(b * (1 - kRoundingSlack)), slopes_of(p.data())) * (1 - kSplineSlack);
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
    return half_width(basis, slopes_of(p)) * (1 + kSplineSlack);
  }

  // Each of the segments adds a rounding error to the score that is left.
  static constexpr double kSplineSlack = 2 * (kSplineSegments + 1) * std::numeric_limits<double>::epsilon();
};

/// The shortest interval of each mass of the distribution that a two-sided spline describes, exactly at the ends of the
/// segments and interpolated between them. Each interval contains the one before, so that the sets are nested.
class Shortest final : public Spline {
 public:
  Shortest() {
    for (const TailShare& share : tail_shares()) {
      Candidate& candidate = candidates_.emplace_back();
      candidate.handicap = share.handicap;
      for (std::size_t k = 0; k < kSplineSegments; ++k) {
        candidate.lower[k] = spline_basis(kSplineEnds[k] + share.lower);
        candidate.upper[k] = spline_basis(kSplineEnds[k] + share.upper);
      }
    }
  }

  [[nodiscard]] std::string_view name() const override { return "shortest"; }
  [[nodiscard]] bool joins_sides() const override { return true; }

  void join_sides(MutableMatrixView parameters) const override {
    for (std::size_t i = 0; i < parameters.rows(); ++i) join(parameters.row(i).data());
  }

 private:
  struct HalfWidths {
    double lower = 0;
    double upper = 0;
  };
  /// An interval with one share of the tails, at every end.
  struct Candidate {
    std::array<SplineBasis, kSplineSegments> lower;
    std::array<SplineBasis, kSplineSegments> upper;
    double handicap;
  };

  void join(double* p) const {
    const Slopes lower = slopes_of(p);
    const Slopes upper = slopes_of(p + kSplineSegments);
    HalfWidths inner;
    for (std::size_t k = 0; k < kSplineSegments; ++k) {
      const double length = kSplineEnds[k] - kSplineKnots[k];
      const HalfWidths outer = shortest_around(inner, k, lower, upper);
      const double grown_below = growth(outer.lower - inner.lower, lower[k] * length);
      const double grown_above = growth(outer.upper - inner.upper, upper[k] * length);
      p[k] = std::log(grown_below / length);
      p[kSplineSegments + k] = std::log(grown_above / length);
      inner = {inner.lower + grown_below, inner.upper + grown_above};
    }
  }

  /// The shortest interval at the end of segment k that contains the inner one: at least that with the share of the
  /// inner one does. With NaN no comparison holds, and the central interval is left.
  [[nodiscard]] HalfWidths shortest_around(const HalfWidths& inner, std::size_t k, const Slopes& lower,
                                           const Slopes& upper) const {
    const Candidate& central = candidates_.front();
    HalfWidths best{half_width(central.lower[k], lower), half_width(central.upper[k], upper)};
    double best_length = std::numeric_limits<double>::infinity();
    for (const Candidate& candidate : candidates_) {
      const HalfWidths sides{half_width(candidate.lower[k], lower), half_width(candidate.upper[k], upper)};
      const double length = (sides.lower + sides.upper) * candidate.handicap;
      if (!(sides.lower >= inner.lower && sides.upper >= inner.upper && length < best_length)) continue;
      best = sides;
      best_length = length;
    }
    return best;
  }

  /// NaN stays NaN.
  [[nodiscard]] static double growth(double found, double central) {
    return found < kLeastGrowth * central ? kLeastGrowth * central : found;
  }

  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<TailShare> tail_shares() {
  constexpr double kHandicap = 1e-9;
  std::vector<TailShare> shares{{0, 0, 1}};
  for (double log_odds = 0.5; log_odds <= 4; log_odds += 0.5) {
    const double misses_less = std::log1p(std::exp(log_odds)) - std::log(2.0);
    const double misses_more = std::log1p(std::exp(-log_odds)) - std::log(2.0);
    const double next = 1 + kHandicap * static_cast<double>(shares.size());
    shares.push_back({misses_less, misses_more, next});
    shares.push_back({misses_more, misses_less, next + kHandicap});
  }
  return shares;
}

std::shared_ptr<const Transform> make_spline(const TransformOptions& /*options*/) { return std::make_shared<Spline>(); }

std::shared_ptr<const Transform> make_shortest(const TransformOptions& /*options*/) {
  return std::make_shared<Shortest>();
}

}  // namespace widthwise::internal
