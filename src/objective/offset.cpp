#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "objective/gather.hpp"
#include "objective/objectives.hpp"
#include "objective/pair_sums.hpp"
#include "objective/summary.hpp"
#include "objective/window.hpp"
#include "vector_math.hpp"

namespace widthwise::internal {
namespace {

/// log of (1 / N^2) sum_m b_m sum_n (B_n - c_m)+, B = r / b + c, b = e^v: l_all of affine and density
/// (docs/mathematics.md). Two-sided, each row is two thresholds, one a side, and its value belongs to the side its
/// residual is on.
class OffsetObjective final : public Objective {
 public:
  OffsetObjective(std::shared_ptr<const Transform> transform, const WidthOptions& options)
      : transform_(std::move(transform)), form_(*transform_->affine_form()), options_(options) {}

  [[nodiscard]] std::size_t parameter_count() const override { return sides() * transform_->parameter_count(); }

  using Objective::evaluate;
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const override;

 private:
  [[nodiscard]] std::size_t sides() const { return options_.sides == Sides::kTwo ? 2 : 1; }

  std::shared_ptr<const Transform> transform_;
  const AffineForm& form_;
  WidthOptions options_;
};

// The Hessian's diagonal that trained well, in units that follow the data: residuals and scales count
// relative to their means, and far ones are held.
double held(double ratio) { return std::clamp(ratio, 0.05, 20.0); }

double OffsetObjective::evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                                 MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const {
  check_shapes(parameter_count(), rows, parameters, gradient, hessian);
  const std::size_t n = rows.residuals.size();
  const bool exact = exactly(options_, n, parameter_count(), reducer);
  if (exact && reducer.workers() > 1) {
    return evaluate_gathered(*this, rows, parameters, gradient, hessian, workspace, reducer);
  }

  const std::size_t entries = n * sides();
  const MatrixView entry_parameters(parameters.data(), entries, transform_->parameter_count());
  const auto offsets = workspace.numbers(kOffsets, entries);
  const auto scales = workspace.numbers(kScales, entries);
  form_.coefficients(entry_parameters, scales, offsets);
  exp_all(scales, scales);
  const double* const c = offsets.data();
  const double* const b = scales.data();
  const double* const residuals = rows.residuals.data();

  const double share = 1 / static_cast<double>(sides());
  const auto values = workspace.numbers(kValues, n);
  const auto entry_weights = workspace.numbers(kTestWeights, entries);
  double* const value = values.data();
  double* const test_weights = entry_weights.data();
  struct {
    double rows, weight, scale, ratio, offset;
  } sums{static_cast<double>(n), 0, 0, 0, 0};
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t own = own_entry(rows, sides(), i);
    const double ratio = std::abs(residuals[i]) / b[own];
    value[i] = ratio + c[own];
    sums.weight += weight_of(rows, i);
    sums.ratio += weight_of(rows, i) * ratio;
    for (std::size_t e = i * sides(); e < (i + 1) * sides(); ++e) {
      test_weights[e] = weight_of(rows, i) * share * b[e];
      sums.scale += test_weights[e];
      sums.offset += c[e];
    }
  }
  reducer.sum({&sums.rows, 5});
  // Checked before the rows are sorted or put into bins, which NaN would upset.
  require_finite(std::log(sums.scale / sums.weight) + std::log1p(sums.ratio / sums.weight) + 0 * sums.offset, rows,
                 parameters);

  PairRows pairs{values, rows.weights, offsets, entry_weights};
  const PairSums pair_sums{workspace.numbers(kExcess, entries), workspace.numbers(kWeightAbove, entries),
                           workspace.numbers(kWeightBelow, n)};
  const auto weigh = [&](const WindowEnds& ends) {
    const auto level_weights = workspace.numbers(kLevelWeights, n);
    weigh_window(ends, values, rows.weights, level_weights);
    pairs.value_weights = level_weights;
  };
  if (exact) {
    if (options_.window) weigh(window_ends(*options_.window, values, rows.weights, workspace));
    exact_pair_sums(pairs, pair_sums, workspace);
  } else {
    const BinGrid grid = choose_grid(pairs, reducer);
    if (options_.window) weigh(summary_window_ends(*options_.window, values, rows.weights, grid, reducer));
    summary_pair_sums(pairs, pair_sums, grid, reducer);
  }
  const double* const level_weights = pairs.value_weights.empty() ? nullptr : pairs.value_weights.data();
  const auto level_weight = [&](std::size_t i) { return level_weights == nullptr ? 1.0 : level_weights[i]; };
  const double* const excess = pair_sums.excess.data();
  const double* const weight_above = pair_sums.weight_above.data();
  const double* const weight_below = pair_sums.weight_below.data();

  struct {
    double width, level_weight;
  } totals{0, 0};
  for (std::size_t e = 0; e < entries; ++e) totals.width += test_weights[e] * excess[e];
  for (std::size_t i = 0; i < n; ++i) totals.level_weight += level_weight(i);
  reducer.sum({&totals.width, 2});

  const double curvature_unit = 1 / sums.rows;
  const double mean_ratio = sums.ratio > 0 ? sums.ratio / sums.weight : 1;
  const double mean_scale = sums.scale / sums.weight;
  if (totals.width == 0) {
    if (!gradient.empty()) fill(gradient, 0);
    if (!hessian.empty()) fill(hessian, curvature_unit);
    return -std::numeric_limits<double>::infinity();
  }
  const double loss = std::log(totals.width) - std::log(sums.weight) - std::log(totals.level_weight);
  require_finite(loss, rows, parameters);

  // Derivatives in (v, c) are made for a block of rows at a time and carried to the parameters from there.
  const std::size_t columns = transform_->parameter_count();
  double d_v[2 * kBlock];
  double d_c[2 * kBlock];
  for (std::size_t first = 0; first < n && !(gradient.empty() && hessian.empty()); first += kBlock) {
    const std::size_t end = std::min(first + kBlock, n);
    const std::size_t first_entry = first * sides();
    const std::size_t count = (end - first) * sides();
    const MatrixView block = entry_parameters.slice(first_entry, count);
    if (!gradient.empty()) {
      const double unit = 1 / totals.width;
      for (std::size_t e = 0; e < count; ++e) {
        d_v[e] = test_weights[first_entry + e] * excess[first_entry + e] * unit;
        d_c[e] = -test_weights[first_entry + e] * weight_above[first_entry + e] * unit;
      }
      for (std::size_t i = first; i < end; ++i) {
        const std::size_t own = own_entry(rows, sides(), i);
        const double pull = level_weight(i) * weight_below[i] * unit;
        d_v[own - first_entry] -= pull * (std::abs(residuals[i]) / b[own]);
        d_c[own - first_entry] += pull;
      }
      form_.pull_back(block, {d_v, count}, {d_c, count}, {gradient.data() + first_entry * columns, count, columns});
    }
    if (!hessian.empty()) {
      for (std::size_t i = first; i < end; ++i) {
        const double row_unit = std::max(weight_of(rows, i) / sums.weight, kLeastCurvature * curvature_unit);
        const std::size_t own = own_entry(rows, sides(), i);
        for (std::size_t e = i * sides(); e < (i + 1) * sides(); ++e) {
          const double scale = held(b[e] / mean_scale);
          const double ratio = e == own ? held(std::abs(residuals[i]) / b[e] / mean_ratio) : 0.0;
          d_v[e - first_entry] = row_unit * (ratio + scale) * share;
          d_c[e - first_entry] = row_unit * (scale + 0.3) * share / (mean_ratio * mean_ratio);
        }
      }
      form_.pull_back_curvature(block, {d_v, count}, {d_c, count},
                                {hessian.data() + first_entry * columns, count, columns});
    }
  }
  return loss;
}

}  // namespace

std::unique_ptr<const Objective> make_offset_objective(std::shared_ptr<const Transform> transform,
                                                       const WidthOptions& options) {
  return std::make_unique<OffsetObjective>(std::move(transform), options);
}

}  // namespace widthwise::internal
