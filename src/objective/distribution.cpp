#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/vector_math.hpp"
#include "conformal/transform/spline.hpp"
#include "objective/objectives.hpp"

namespace widthwise::internal {
namespace {

/// The levels whose intervals are scored. The interval of level l has the half-width sum_k e^{p_k} basis_k on each
/// side, and an outcome beyond one end should have probability tail = (1 - l) / 2. A level in segment s takes the
/// segments before s whole, so that sums over levels need one number per level and segment.
struct ScoredLevels {
  struct OfSegment {
    double weight;
    double part;  ///< of the segment, up to the level
  };
  std::array<std::vector<OfSegment>, kSplineSegments> segments;
  /// sum of w tail basis_k over all levels.
  SplineBasis tails{};
  /// sum of w tail basis_k basis_m over the levels of segment s: curvatures[s][k][m].
  std::array<std::array<SplineBasis, kSplineSegments>, kSplineSegments> curvatures{};

  explicit ScoredLevels(const LevelWindow& window);
};

/// The lengths of the segments before the last one, which has no end.
constexpr double kLengths[] = {kSplineKnots[1] - kSplineKnots[0], kSplineKnots[2] - kSplineKnots[1]};

/// Levels from the middle of the distribution to its tails, with those at the ends of the window.
ScoredLevels::ScoredLevels(const LevelWindow& window) {
  std::vector<double> levels{0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98};
  const double low = window.lower.value();
  const double high = window.upper.value();
  levels.insert(levels.end(), {low, high});
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  for (const double level : levels) {
    const double weight = level >= low && level <= high ? 1.0 : window.outside;
    if (weight == 0) continue;
    const double b = -std::log1p(-level);
    const double tail = (1 - level) / 2;
    const SplineBasis basis = spline_basis(b);
    std::size_t s = 0;
    while (s + 1 < kSplineSegments && b > kSplineKnots[s + 1]) ++s;
    segments[s].push_back({weight, basis[s]});
    for (std::size_t k = 0; k < kSplineSegments; ++k) {
      tails[k] += weight * tail * basis[k];
      for (std::size_t m = 0; m < kSplineSegments; ++m) curvatures[s][k][m] += weight * tail * basis[k] * basis[m];
    }
  }
}

/// One side of some rows, number by number: its part in the interval scores, with derivatives in its parameters.
struct SideBlock {
  static constexpr std::size_t kRows = 128;

  double x[kRows];                        ///< the residuals in the direction of the side
  double slopes[kSplineSegments][kRows];  ///< e^{p_k}
  double score[kRows];
  double gradient[kSplineSegments][kRows];
  double hessian[kSplineSegments][kRows];
};

/// Score the ends of one side. With probability tail, x lies beyond the end d: tail d + max(x - d, 0) is smallest
/// there.
[[gnu::always_inline]] inline void score_ends(const ScoredLevels& levels, std::size_t n, SideBlock& side) {
  double start[SideBlock::kRows] = {};  // the half-width at the start of the segment
  double beyond[SideBlock::kRows];      // sums of the weights of the levels of the segment whose ends x is beyond
  double parts[SideBlock::kRows];       // and of these weights times their parts
  for (std::size_t i = 0; i < n; ++i) side.score[i] = 0;
  for (std::size_t k = 0; k < kSplineSegments; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      side.score[i] += levels.tails[k] * side.slopes[k][i];
      side.gradient[k][i] = levels.tails[k];
    }
  }
  for (std::size_t s = 0; s < kSplineSegments; ++s) {
    for (std::size_t i = 0; i < n; ++i) beyond[i] = parts[i] = 0;
    for (const ScoredLevels::OfSegment level : levels.segments[s]) {
      for (std::size_t i = 0; i < n; ++i) {
        const double excess = side.x[i] - (start[i] + side.slopes[s][i] * level.part);
        const double weight = excess > 0 ? level.weight : 0.0;
        side.score[i] += weight * excess;
        beyond[i] += weight;
        parts[i] += weight * level.part;
      }
    }
    for (std::size_t i = 0; i < n; ++i) side.gradient[s][i] -= parts[i];
    for (std::size_t k = 0; k < s; ++k) {
      for (std::size_t i = 0; i < n; ++i) side.gradient[k][i] -= beyond[i] * kLengths[k];
    }
    if (s + 1 == kSplineSegments) break;
    for (std::size_t i = 0; i < n; ++i) start[i] += side.slopes[s][i] * kLengths[s];
  }
  for (std::size_t k = 0; k < kSplineSegments; ++k) {
    for (std::size_t i = 0; i < n; ++i) side.gradient[k][i] *= side.slopes[k][i];
  }
}

/// The Hessian bounds the matrix of second derivatives, in expectation under the distribution itself, by a diagonal:
/// the density at the end of a level is tail / slope.
[[gnu::always_inline]] inline void bound_curvature(const ScoredLevels& levels, std::size_t n, SideBlock& side) {
  for (auto& hessian : side.hessian) {
    for (std::size_t i = 0; i < n; ++i) hessian[i] = 0;
  }
  static_assert(kSplineSegments == 3);
  for (std::size_t s = 0; s < kSplineSegments; ++s) {
    for (std::size_t k = 0; k <= s; ++k) {
      const SplineBasis& c = levels.curvatures[s][k];
      for (std::size_t i = 0; i < n; ++i) {
        const double ends = c[0] * side.slopes[0][i] + c[1] * side.slopes[1][i] + c[2] * side.slopes[2][i];
        side.hessian[k][i] += side.slopes[k][i] / side.slopes[s][i] * ends;
      }
    }
  }
}

struct DistributionSums {
  double rows;
  double weight;
  double width;  // sum of w e^{p v}, or of w v if p is 0
  double score;  // sum of w R e^-v
};

class DistributionObjective final : public Objective {
 public:
  explicit DistributionObjective(const DistributionOptions& options)
      : sides_(options.sides == Sides::kTwo ? 2 : 1),
        width_power_(1 - options.evenness),
        levels_(options.level_window) {}

  [[nodiscard]] std::size_t parameter_count() const override { return sides_ * kSplineSegments; }
  [[nodiscard]] bool starts_from_best_constants() const override { return true; }

  using Objective::evaluate;
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const override;

 private:
  /// Set the mean parameters v and the scores w R e^-v of all rows, and the derivatives of the latter in the ends of
  /// the intervals; return their sums.
  DistributionSums score_rows(const ResidualRows& rows, MatrixView parameters, std::span<double> means,
                              std::span<double> scores, MutableMatrixView gradient, MutableMatrixView hessian) const;

  /// Divide by the sums, and add the derivatives in v.
  void finish(const ResidualRows& rows, const DistributionSums& sums, std::span<const double> means,
              std::span<const double> scores, MutableMatrixView gradient, MutableMatrixView hessian) const;

  std::size_t sides_;
  double width_power_;
  ScoredLevels levels_;
};

/// The rows of one block, for score_block.
struct BlockRows {
  const double* residuals;
  const double* weights;     // null means 1
  const double* parameters;  // n x columns
  std::size_t n;
  std::size_t columns;
  double width_power;
};

/// What score_block writes: n numbers each, and n x columns of derivatives or null.
struct BlockScores {
  double* means;
  double* scores;
  double* widths;
  double* gradient;
  double* hessian;
};

WIDTHWISE_VECTORISED void score_block(const ScoredLevels& levels, const BlockRows& rows, const BlockScores& out) {
  const std::size_t n = rows.n;
  const std::size_t sides = rows.columns / kSplineSegments;
  double factor[SideBlock::kRows];
  for (std::size_t i = 0; i < n; ++i) {
    double mean = 0;
    for (std::size_t j = 0; j < rows.columns; ++j) mean += rows.parameters[i * rows.columns + j];
    out.means[i] = mean / static_cast<double>(rows.columns);
    out.scores[i] = 0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double weight = rows.weights == nullptr ? 1.0 : rows.weights[i];
    factor[i] = weight * bounded_exp(-out.means[i]);
    out.widths[i] = weight * (rows.width_power == 0 ? out.means[i] : bounded_exp(rows.width_power * out.means[i]));
  }
  SideBlock side;
  for (std::size_t below = 0; below < 2; ++below) {
    const std::size_t first = below == 1 ? 0 : (sides - 1) * kSplineSegments;
    for (std::size_t i = 0; i < n; ++i) side.x[i] = below == 1 ? -rows.residuals[i] : rows.residuals[i];
    for (std::size_t k = 0; k < kSplineSegments; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        side.slopes[k][i] = bounded_exp(rows.parameters[i * rows.columns + first + k]);
      }
    }
    score_ends(levels, n, side);
    for (std::size_t i = 0; i < n; ++i) out.scores[i] += factor[i] * side.score[i];
    const bool adds = sides == 1 && below == 1;  // to the derivatives of the other side
    const auto write = [&](const double(&from)[kSplineSegments][SideBlock::kRows], double* to) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < kSplineSegments; ++k) {
          double& place = to[i * rows.columns + first + k];
          place = (adds ? place : 0.0) + factor[i] * from[k][i];
        }
      }
    };
    if (out.gradient != nullptr) write(side.gradient, out.gradient);
    if (out.hessian == nullptr) continue;
    bound_curvature(levels, n, side);
    write(side.hessian, out.hessian);
  }
}

DistributionSums DistributionObjective::score_rows(const ResidualRows& rows, MatrixView parameters,
                                                   std::span<double> means, std::span<double> scores,
                                                   MutableMatrixView gradient, MutableMatrixView hessian) const {
  const std::size_t n = rows.residuals.size();
  const std::size_t columns = parameter_count();
  LaneSum score_sum;
  LaneSum width_sum;
  double widths[SideBlock::kRows];
  for (std::size_t first = 0; first < n; first += SideBlock::kRows) {
    const std::size_t count = std::min(SideBlock::kRows, n - first);
    score_block(levels_,
                {.residuals = rows.residuals.data() + first,
                 .weights = rows.weights.empty() ? nullptr : rows.weights.data() + first,
                 .parameters = parameters.data() + first * columns,
                 .n = count,
                 .columns = columns,
                 .width_power = width_power_},
                {.means = means.data() + first,
                 .scores = scores.data() + first,
                 .widths = widths,
                 .gradient = gradient.empty() ? nullptr : gradient.data() + first * columns,
                 .hessian = hessian.empty() ? nullptr : hessian.data() + first * columns});
    score_sum.add(scores.data() + first, count);
    width_sum.add(widths, count);
  }
  return {static_cast<double>(n), total_of(rows.weights, n), width_sum.total(), score_sum.total()};
}

void DistributionObjective::finish(const ResidualRows& rows, const DistributionSums& sums,
                                   std::span<const double> means, std::span<const double> scores,
                                   MutableMatrixView gradient, MutableMatrixView hessian) const {
  const std::size_t columns = parameter_count();
  const double share = 1 / static_cast<double>(columns);
  const double minimum = kMinCurvature / sums.rows;
  const double per_score = 1 / sums.score;
  const double per_weight = 1 / sums.weight;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const double weight = weight_of(rows, i);
    const double width =
        width_power_ == 0 ? weight * per_weight : weight * bounded_exp(width_power_ * means[i]) / sums.width;
    const double score = scores[i] * per_score;
    for (std::size_t j = i * columns; j < (i + 1) * columns; ++j) {
      gradient.data()[j] = gradient.data()[j] * per_score + share * (width - score);
      if (hessian.empty()) continue;
      // As in the scale family, half of the curvature of the second term is its expectation.
      const double through_mean = share * (width_power_ * width + 0.5 * (score + weight * per_weight));
      hessian.data()[j] = std::max(hessian.data()[j] * per_score + through_mean, minimum);
    }
  }
}

double DistributionObjective::evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                                       MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const {
  check_shapes(parameter_count(), rows, parameters, gradient, hessian);
  const std::size_t n = rows.residuals.size();
  const auto means = workspace.numbers(kMeanParameters, n);
  const auto scores = workspace.numbers(kIntervalScores, n);
  DistributionSums sums = score_rows(rows, parameters, means, scores, gradient, hessian);
  reducer.sum({&sums.rows, 4});
  const double p = width_power_;
  const double width = p == 0 ? sums.width / sums.weight : std::log(sums.width / sums.weight) / p;
  const double loss = width + std::log(sums.score / sums.weight);
  require_finite(loss, rows, parameters);
  if (!gradient.empty()) finish(rows, sums, means, scores, gradient, hessian);
  return loss;
}

}  // namespace
}  // namespace widthwise::internal

namespace widthwise {

std::unique_ptr<const Objective> make_distribution_objective(const Transform& transform,
                                                             const DistributionOptions& options) {
  if (!transform.has_spline_inverse()) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "distribution objective: expected the transform spline, found {}", transform.name());
  }
  internal::check_levels("distribution objective", options.evenness, options.level_window);
  return std::make_unique<internal::DistributionObjective>(options);
}

}  // namespace widthwise
