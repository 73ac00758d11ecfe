#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/vector_math.hpp"
#include "objective/gather.hpp"
#include "objective/level_window.hpp"
#include "objective/objectives.hpp"
#include "objective/pair_sums.hpp"
#include "objective/summary.hpp"

namespace widthwise::internal {
namespace {

/// log of (1 / N^2) sum_m b_m sum_n (B_n - c_m)+, B = r / b + c, b = e^v: l_all of affine and density
/// (docs/mathematics.md). With two sides, each row has two thresholds, one per side, and its value belongs to the side
/// of its residual.
class OffsetObjective final : public Objective {
 public:
  OffsetObjective(std::shared_ptr<const Transform> transform, const WidthOptions& options)
      : transform_(std::move(transform)), form_(*transform_->affine_form()), options_(options) {}

  [[nodiscard]] std::size_t parameter_count() const override { return sides() * transform_->parameter_count(); }

  using Objective::evaluate;
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const override;

 private:
  /// The entries of all rows, in memory of the workspace.
  struct Entries {
    const ResidualRows& rows;
    MatrixView parameters;
    std::span<double> scales;        // b
    std::span<double> offsets;       // c, the thresholds
    std::span<double> test_weights;  // the row's weight, shared by its sides, times b
    std::span<double> values;        // B of each row
  };

  /// Sums over all workers.
  struct Sums {
    double rows, weight, scale, ratio, offset;
    [[nodiscard]] double mean_ratio() const { return ratio > 0 ? ratio / weight : 1; }
    [[nodiscard]] double mean_scale() const { return scale / weight; }
  };

  /// Everything that derivatives are made from.
  struct LevelEvaluation {
    const Entries& entries;
    const Sums& sums;
    PairSums pair_sums;
    const double* level_weights;  // of each row; null: all 1
    double width;                 // over all workers
  };

  [[nodiscard]] std::size_t sides() const { return options_.sides == Sides::kTwo ? 2 : 1; }
  [[nodiscard]] double share() const { return 1 / static_cast<double>(sides()); }

  [[nodiscard]] Entries make_entries(const ResidualRows& rows, MatrixView parameters, Workspace& workspace) const;
  [[nodiscard]] Sums sum_entries(const Entries& entries, const Reducer& reducer) const;
  /// Write the sums over pairs; return the weights of the levels, null for all 1.
  const double* sum_pairs(const Entries& entries, bool exact, const PairSums& out, Workspace& workspace,
                          const Reducer& reducer) const;
  void differentiate(const LevelEvaluation& evaluation, MutableMatrixView gradient, MutableMatrixView hessian) const;
  /// Derivatives in (v, c) of the entries of the rows from `first` to `end`.
  void gradient_of(const LevelEvaluation& evaluation, std::size_t first, std::size_t end, double* __restrict d_v,
                   double* __restrict d_c) const;
  void hessian_of(const LevelEvaluation& evaluation, std::size_t first, std::size_t end, double* __restrict d_v,
                  double* __restrict d_c) const;

  std::shared_ptr<const Transform> transform_;
  const AffineForm& form_;
  WidthOptions options_;
};

OffsetObjective::Entries OffsetObjective::make_entries(const ResidualRows& rows, MatrixView parameters,
                                                       Workspace& workspace) const {
  const std::size_t n = rows.residuals.size();
  const std::size_t count = n * sides();
  Entries entries{.rows = rows,
                  .parameters = {parameters.data(), count, transform_->parameter_count()},
                  .scales = workspace.numbers(kScales, count),
                  .offsets = workspace.numbers(kOffsets, count),
                  .test_weights = workspace.numbers(kTestWeights, count),
                  .values = workspace.numbers(kValues, n)};
  form_.coefficients(entries.parameters, entries.scales, entries.offsets);
  exp_all(entries.scales, entries.scales);
  return entries;
}

OffsetObjective::Sums OffsetObjective::sum_entries(const Entries& entries, const Reducer& reducer) const {
  const ResidualRows& rows = entries.rows;
  const std::size_t n = rows.residuals.size();
  const double* const residuals = rows.residuals.data();
  const double* const b = entries.scales.data();
  const double* const c = entries.offsets.data();
  double* const value = entries.values.data();
  double* const test_weights = entries.test_weights.data();
  const std::size_t sides = this->sides();
  const double share = this->share();
  Sums sums{static_cast<double>(n), 0, 0, 0, 0};
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t own = own_entry(rows, sides, i);
    const double ratio = std::abs(residuals[i]) / b[own];
    value[i] = ratio + c[own];
    sums.weight += weight_of(rows, i);
    sums.ratio += weight_of(rows, i) * ratio;
    for (std::size_t e = i * sides; e < (i + 1) * sides; ++e) {
      test_weights[e] = weight_of(rows, i) * share * b[e];
      sums.scale += test_weights[e];
      sums.offset += c[e];
    }
  }
  reducer.sum({&sums.rows, 5});
  return sums;
}

const double* OffsetObjective::sum_pairs(const Entries& entries, bool exact, const PairSums& out, Workspace& workspace,
                                         const Reducer& reducer) const {
  const std::span<const double> values = entries.values;
  const std::span<const double> weights = entries.rows.weights;
  PairRows pairs{values, weights, entries.offsets, entries.test_weights};
  const auto weigh = [&](const WindowEnds& ends) {
    const auto level_weights = workspace.numbers(kLevelWeights, values.size());
    weigh_window(ends, values, weights, level_weights);
    pairs.value_weights = level_weights;
  };
  if (exact) {
    if (options_.level_window) weigh(window_ends(*options_.level_window, values, weights, workspace));
    exact_pair_sums(pairs, out, workspace);
  } else {
    const BinGrid grid = choose_grid(pairs, reducer);
    if (options_.level_window) weigh(summary_window_ends(*options_.level_window, values, weights, grid, reducer));
    summary_pair_sums(pairs, out, grid, reducer);
  }
  return pairs.value_weights.empty() ? nullptr : pairs.value_weights.data();
}

double OffsetObjective::evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                                 MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const {
  check_shapes(parameter_count(), rows, parameters, gradient, hessian);
  const std::size_t n = rows.residuals.size();
  const bool exact = exactly(options_, n, parameter_count(), reducer);
  if (exact && reducer.workers() > 1) {
    return evaluate_gathered(*this, rows, parameters, gradient, hessian, workspace, reducer);
  }
  const Entries entries = make_entries(rows, parameters, workspace);
  const Sums sums = sum_entries(entries, reducer);
  // Check before sorting or binning, which do not work with NaN.
  require_finite(std::log(sums.scale / sums.weight) + std::log1p(sums.ratio / sums.weight) + 0 * sums.offset, rows,
                 parameters);

  const std::size_t count = n * sides();
  const PairSums pair_sums{workspace.numbers(kExcess, count), workspace.numbers(kWeightAbove, count),
                           workspace.numbers(kWeightBelow, n)};
  const double* const level_weights = sum_pairs(entries, exact, pair_sums, workspace, reducer);
  struct {
    double width, level_weight;
  } totals{0, 0};
  const double* const test_weights = entries.test_weights.data();
  const double* const excess = pair_sums.excess.data();
  for (std::size_t e = 0; e < count; ++e) totals.width += test_weights[e] * excess[e];
  for (std::size_t i = 0; i < n; ++i) totals.level_weight += level_weights == nullptr ? 1.0 : level_weights[i];
  reducer.sum({&totals.width, 2});
  if (totals.width == 0) {
    if (!gradient.empty()) fill(gradient, 0);
    if (!hessian.empty()) fill(hessian, 1 / sums.rows);
    return -std::numeric_limits<double>::infinity();
  }
  const double loss = std::log(totals.width) - std::log(sums.weight) - std::log(totals.level_weight);
  require_finite(loss, rows, parameters);
  differentiate({entries, sums, pair_sums, level_weights, totals.width}, gradient, hessian);
  return loss;
}

/// Compute derivatives in (v, c) for a block of rows at a time, and convert them to the parameters.
void OffsetObjective::differentiate(const LevelEvaluation& evaluation, MutableMatrixView gradient,
                                    MutableMatrixView hessian) const {
  if (gradient.empty() && hessian.empty()) return;
  const std::size_t n = evaluation.entries.rows.residuals.size();
  const std::size_t columns = transform_->parameter_count();
  double d_v[2 * kBlock];
  double d_c[2 * kBlock];
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t end = std::min(first + kBlock, n);
    const std::size_t first_entry = first * sides();
    const std::size_t count = (end - first) * sides();
    const MatrixView block = evaluation.entries.parameters.slice(first_entry, count);
    const std::size_t place = first_entry * columns;
    if (!gradient.empty()) {
      gradient_of(evaluation, first, end, d_v, d_c);
      form_.pull_back(block, {d_v, count}, {d_c, count}, {gradient.data() + place, count, columns});
    }
    if (!hessian.empty()) {
      hessian_of(evaluation, first, end, d_v, d_c);
      form_.pull_back_curvature(block, {d_v, count}, {d_c, count}, {hessian.data() + place, count, columns});
    }
  }
}

void OffsetObjective::gradient_of(const LevelEvaluation& evaluation, std::size_t first, std::size_t end,
                                  double* __restrict d_v, double* __restrict d_c) const {
  const ResidualRows& rows = evaluation.entries.rows;
  const std::size_t first_entry = first * sides();
  const std::size_t count = (end - first) * sides();
  const double* const test_weights = evaluation.entries.test_weights.data() + first_entry;
  const double* const excess = evaluation.pair_sums.excess.data() + first_entry;
  const double* const weight_above = evaluation.pair_sums.weight_above.data() + first_entry;
  const double unit = 1 / evaluation.width;
  for (std::size_t e = 0; e < count; ++e) {
    d_v[e] = test_weights[e] * excess[e] * unit;
    d_c[e] = -test_weights[e] * weight_above[e] * unit;
  }
  const double* const residuals = rows.residuals.data();
  const double* const b = evaluation.entries.scales.data();
  const double* const weight_below = evaluation.pair_sums.weight_below.data();
  const double* const level_weights = evaluation.level_weights;
  for (std::size_t i = first; i < end; ++i) {
    const std::size_t own = own_entry(rows, sides(), i);
    const double pull = (level_weights == nullptr ? 1.0 : level_weights[i]) * weight_below[i] * unit;
    d_v[own - first_entry] -= pull * (std::abs(residuals[i]) / b[own]);
    d_c[own - first_entry] += pull;
  }
}

/// The Hessian's diagonal that trained well, in units that follow the data: residuals and scales count relative to
/// their means, and far ones are held.
void OffsetObjective::hessian_of(const LevelEvaluation& evaluation, std::size_t first, std::size_t end,
                                 double* __restrict d_v, double* __restrict d_c) const {
  const auto held = [](double ratio) { return std::clamp(ratio, 0.05, 20.0); };
  const ResidualRows& rows = evaluation.entries.rows;
  const std::size_t first_entry = first * sides();
  const double* const residuals = rows.residuals.data();
  const double* const b = evaluation.entries.scales.data();
  const double share = this->share();
  const Sums& sums = evaluation.sums;
  const double mean_scale = sums.mean_scale();
  const double mean_ratio = sums.mean_ratio();
  const double curvature_unit = 1 / sums.rows;
  for (std::size_t i = first; i < end; ++i) {
    const double row_unit = std::max(weight_of(rows, i) / sums.weight, kMinCurvature * curvature_unit);
    const std::size_t own = own_entry(rows, sides(), i);
    for (std::size_t e = i * sides(); e < (i + 1) * sides(); ++e) {
      const double scale = held(b[e] / mean_scale);
      const double ratio = e == own ? held(std::abs(residuals[i]) / b[e] / mean_ratio) : 0.0;
      d_v[e - first_entry] = row_unit * (ratio + scale) * share;
      d_c[e - first_entry] = row_unit * (scale + 0.3) * share / (mean_ratio * mean_ratio);
    }
  }
}

}  // namespace

std::unique_ptr<const Objective> make_offset_objective(std::shared_ptr<const Transform> transform,
                                                       const WidthOptions& options) {
  return std::make_unique<OffsetObjective>(std::move(transform), options);
}

}  // namespace widthwise::internal
