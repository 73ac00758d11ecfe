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

/// A level whose intervals are scored: the interval of level l has the half-width sum_k e^{p_k} basis_k on each side,
/// and an outcome beyond one end should have probability `tail` = (1 - l) / 2.
struct ScoredLevel {
  double weight = 0;
  double tail = 0;
  SplineBasis basis{};
  std::size_t segment = 0;  // that holds the level
};

/// Levels from the middle of the distribution to its tails, with those at the ends of the window.
std::vector<ScoredLevel> scored_levels(const LevelWindow& window) {
  std::vector<double> levels{0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98};
  const double low = window.lower.value();
  const double high = window.upper.value();
  levels.insert(levels.end(), {low, high});
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  std::vector<ScoredLevel> scored;
  for (const double level : levels) {
    const double b = -std::log1p(-level);
    ScoredLevel at{.weight = level >= low && level <= high ? 1.0 : window.outside,
                   .tail = (1 - level) / 2,
                   .basis = spline_basis(b)};
    while (at.segment + 1 < kSplineSegments && b > kSplineKnots[at.segment + 1]) ++at.segment;
    if (at.weight > 0) scored.push_back(at);
  }
  return scored;
}

/// The part of one side of a row in the interval scores, with its derivatives in the parameters of that side.
struct SideScore {
  double score = 0;
  SplineBasis gradient{};
  SplineBasis hessian{};
};

/// Score the ends of one side: x is the residual in its direction. With probability tail, x lies beyond the end d:
/// tail d + max(x - d, 0) is smallest there. The Hessian bounds the matrix of second derivatives, in expectation under
/// the distribution itself, by a diagonal: the density at the end is tail / slope.
[[gnu::always_inline]] inline SideScore score_side(const std::vector<ScoredLevel>& levels, double x, const double* p) {
  SideScore side;
  SplineBasis slopes;
  for (std::size_t k = 0; k < kSplineSegments; ++k) slopes[k] = bounded_exp(p[k]);
  for (const ScoredLevel& level : levels) {
    double end = 0;
    for (std::size_t k = 0; k < kSplineSegments; ++k) end += slopes[k] * level.basis[k];
    const double beyond = x > end ? 1.0 : 0.0;
    side.score += level.weight * (level.tail * end + beyond * (x - end));
    const double slope = level.weight * (level.tail - beyond);
    const double curvature = level.weight * level.tail / slopes[level.segment] * end;
    for (std::size_t k = 0; k < kSplineSegments; ++k) {
      side.gradient[k] += slope * level.basis[k];
      side.hessian[k] += curvature * level.basis[k];
    }
  }
  for (std::size_t k = 0; k < kSplineSegments; ++k) {
    side.gradient[k] *= slopes[k];
    side.hessian[k] *= slopes[k];
  }
  return side;
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
        levels_(scored_levels(options.level_window)) {}

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
  std::vector<ScoredLevel> levels_;
};

DistributionSums DistributionObjective::score_rows(const ResidualRows& rows, MatrixView parameters,
                                                   std::span<double> means, std::span<double> scores,
                                                   MutableMatrixView gradient, MutableMatrixView hessian) const {
  const std::size_t n = rows.residuals.size();
  const std::size_t columns = parameter_count();
  DistributionSums sums{static_cast<double>(n), total_of(rows.weights, n), 0, 0};
  for (std::size_t i = 0; i < n; ++i) {
    const double* p = parameters.data() + i * columns;
    double mean = 0;
    for (std::size_t j = 0; j < columns; ++j) mean += p[j] / static_cast<double>(columns);
    const double r = rows.residuals[i];
    const SideScore lower = score_side(levels_, -r, p);
    const SideScore upper = score_side(levels_, r, p + (sides_ - 1) * kSplineSegments);
    const double weight = weight_of(rows, i);
    const double factor = weight * bounded_exp(-mean);
    means[i] = mean;
    scores[i] = factor * (lower.score + upper.score);
    sums.score += scores[i];
    sums.width += weight * (width_power_ == 0 ? mean : bounded_exp(width_power_ * mean));
    const auto write = [&](MutableMatrixView out, const SplineBasis& below, const SplineBasis& above) {
      if (out.empty()) return;
      double* const row = out.data() + i * columns;
      for (std::size_t k = 0; k < kSplineSegments; ++k) {
        row[k] = factor * (sides_ == 1 ? below[k] + above[k] : below[k]);
        if (sides_ == 2) row[kSplineSegments + k] = factor * above[k];
      }
    };
    write(gradient, lower.gradient, upper.gradient);
    write(hessian, lower.hessian, upper.hessian);
  }
  return sums;
}

void DistributionObjective::finish(const ResidualRows& rows, const DistributionSums& sums,
                                   std::span<const double> means, std::span<const double> scores,
                                   MutableMatrixView gradient, MutableMatrixView hessian) const {
  const std::size_t columns = parameter_count();
  const double share = 1 / static_cast<double>(columns);
  const double minimum = kMinCurvature / sums.rows;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const double weight = weight_of(rows, i);
    const double width =
        width_power_ == 0 ? weight / sums.weight : weight * bounded_exp(width_power_ * means[i]) / sums.width;
    const double score = scores[i] / sums.score;
    for (std::size_t j = i * columns; j < (i + 1) * columns; ++j) {
      gradient.data()[j] = gradient.data()[j] / sums.score + share * (width - score);
      if (hessian.empty()) continue;
      // As in the scale family, half of the curvature of the second term is its expectation.
      const double through_mean = share * (width_power_ * width + 0.5 * (score + weight / sums.weight));
      hessian.data()[j] = std::max(hessian.data()[j] / sums.score + through_mean, minimum);
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
