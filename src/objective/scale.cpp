#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/vector_math.hpp"
#include "objective/gather.hpp"
#include "objective/level_window.hpp"
#include "objective/objectives.hpp"
#include "objective/summary.hpp"

namespace widthwise::internal {
namespace {

/// N residuals and the log scales u = slope * g of the same rows. With two sides, a row has two entries; the residual
/// of the other side is 0, so that this entry is predicted but does not calibrate.
struct ScaleEntries {
  const double* g;
  double slope;
  const double* residuals;
  const double* weights;        // of predicted entries; null means 1
  const double* level_weights;  // of calibrating entries; null means 1
  std::size_t n;
};

struct ScaleSums {
  double entries;
  double weight;
  double width;         // sum of w e^{p u}, or of w u if p is 0
  double level_weight;  // counts rows, not entries; set by the caller
  double ratio;         // sum of w r e^-u
};

/// One block of both terms: width[i] = w e^{p u} (w u if p is 0) and ratio[i] = w |r| e^-u.
[[gnu::always_inline]] inline void scale_block(const ScaleEntries& entries, double p, std::size_t first, std::size_t n,
                                               double* width, double* ratio) {
  const double* g = entries.g + first;
  const double* r = entries.residuals + first;
  if (p == 1) {
    for (std::size_t i = 0; i < n; ++i) {
      width[i] = bounded_exp(entries.slope * g[i]);
      ratio[i] = std::abs(r[i]) / width[i];
    }
  } else {
    for (std::size_t i = 0; i < n; ++i) ratio[i] = std::abs(r[i]) * bounded_exp(-entries.slope * g[i]);
    if (p == 0) {
      for (std::size_t i = 0; i < n; ++i) width[i] = entries.slope * g[i];
    } else {
      for (std::size_t i = 0; i < n; ++i) width[i] = bounded_exp(p * entries.slope * g[i]);
    }
  }
  if (entries.weights != nullptr) {
    for (std::size_t i = 0; i < n; ++i) width[i] *= entries.weights[first + i];
  }
  if (entries.level_weights != nullptr) {
    for (std::size_t i = 0; i < n; ++i) ratio[i] *= entries.level_weights[first + i];
  }
}

/// Memory of the derivatives (N each, or null), which keeps the terms of the sums until the derivatives replace them:
/// reading a term is faster than another exponential.
struct KeptTerms {
  double* width;
  double* ratio;
};

/// Write a block, past the cache if all blocks together do not fit it.
[[gnu::always_inline]] inline void deliver(const double* block, std::size_t n, bool streamed, double* out) {
  streamed ? stream_out(block, n, out) : static_cast<void>(std::copy_n(block, n, out));
}

WIDTHWISE_VECTORISED void sum_scale(const ScaleEntries& entries, double p, const KeptTerms& kept, ScaleSums& sums) {
  LaneSum width_sum;
  LaneSum ratio_sum;
  const bool streamed = entries.n * sizeof(double) >= kStreamedBytes;
  double width[kBlock];
  double ratio[kBlock];
  for (std::size_t first = 0; first < entries.n; first += kBlock) {
    const std::size_t n = std::min(kBlock, entries.n - first);
    scale_block(entries, p, first, n, width, ratio);
    width_sum.add(width, n);
    ratio_sum.add(ratio, n);
    if (kept.width == nullptr) continue;
    deliver(width, n, streamed, kept.width + first);
    if (kept.ratio != nullptr) deliver(ratio, n, streamed, kept.ratio + first);
  }
  if (streamed) end_streaming();
  sums.width = width_sum.total();
  sums.ratio = ratio_sum.total();
}

/// The terms of one block again, from what was kept of them.
[[gnu::always_inline]] inline void kept_block(const ScaleEntries& entries, double p, const KeptTerms& kept,
                                              std::size_t first, std::size_t n, double* width, double* ratio) {
  const bool plain = p == 1 && entries.weights == nullptr && entries.level_weights == nullptr;
  if (kept.ratio == nullptr && !plain) {
    scale_block(entries, p, first, n, width, ratio);
    return;
  }
  std::copy_n(kept.width + first, n, width);
  if (kept.ratio != nullptr) {
    std::copy_n(kept.ratio + first, n, ratio);
  } else {
    for (std::size_t i = 0; i < n; ++i) ratio[i] = std::abs(entries.residuals[first + i]) / width[i];
  }
}

/// gradient = slope (softmax(p u) - softmax(log r - u)), hessian = slope^2 (p softmax(p u) + the mean of
/// softmax(log r - u) and 1 / N, its expectation at the correct u). With heavy-tailed errors, a few rows dominate the
/// exact value: steps are then too short for all other rows, and training stops before coverage is even. The memory of
/// both holds the terms of the sums.
WIDTHWISE_VECTORISED void differentiate_scale(const ScaleEntries& entries, double p, const ScaleSums& sums,
                                              double* gradient, double* hessian) {
  const double width_unit = p == 0 ? 1 / sums.weight : 1 / sums.width;
  const double ratio_unit = sums.ratio > 0 ? 1 / sums.ratio : 0;
  const double slope = entries.slope;
  const double minimum = kMinCurvature / sums.entries;
  const bool streamed = entries.n * sizeof(double) >= kStreamedBytes;
  double width[kBlock];
  double ratio[kBlock];
  double block[kBlock];
  for (std::size_t first = 0; first < entries.n; first += kBlock) {
    const std::size_t n = std::min(kBlock, entries.n - first);
    kept_block(entries, p, {gradient, hessian}, first, n, width, ratio);
    if (p == 0) {
      for (std::size_t i = 0; i < n; ++i) width[i] = entries.weights == nullptr ? 1.0 : entries.weights[first + i];
    }
    for (std::size_t i = 0; i < n; ++i) block[i] = slope * (width[i] * width_unit - ratio[i] * ratio_unit);
    deliver(block, n, streamed, gradient + first);
    if (hessian == nullptr) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const double weight = entries.weights == nullptr ? 1.0 : entries.weights[first + i];
      const double curvature = p * width[i] * width_unit + 0.5 * (ratio[i] * ratio_unit + weight / sums.weight);
      block[i] = slope * slope * (curvature > minimum ? curvature : minimum);
    }
    deliver(block, n, streamed, hessian + first);
  }
  if (streamed) end_streaming();
}

/// L_p(u) = (1/p) log mean(e^{p u}) + log mean(r e^-u), p = 1 - evenness (docs/mathematics.md), computed from two sums.
class ScaleObjective final : public Objective {
 public:
  ScaleObjective(std::shared_ptr<const Transform> transform, Score score, const WidthOptions& options)
      : transform_(std::move(transform)),
        form_(*transform_->affine_form()),
        residual_power_(score == Score::kSquared ? 0.5 : 1.0),
        options_(options) {}

  [[nodiscard]] std::size_t parameter_count() const override { return sides(); }

  using Objective::evaluate;
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const override;

 private:
  [[nodiscard]] std::size_t sides() const { return options_.sides == Sides::kTwo ? 2 : 1; }

  /// Take u = slope * g straight from the parameters where the transform allows it.
  [[nodiscard]] ScaleEntries make_entries(const ResidualRows& rows, MatrixView parameters, Workspace& workspace) const;

  /// The weights of the rows' levels (n), or none for all 1.
  [[nodiscard]] std::span<const double> level_weights(const ResidualRows& rows, MatrixView parameters,
                                                      const ScaleEntries& entries, Workspace& workspace,
                                                      const Reducer& reducer) const;

  /// Set the residuals and weights of the entries from those of the rows.
  void set_weights(const ResidualRows& rows, std::span<const double> level_weights, ScaleEntries& entries,
                   Workspace& workspace) const;

  /// The caller's, or that of the workspace if the transform still has to convert them.
  [[nodiscard]] KeptTerms memory_of_derivatives(const ScaleEntries& entries, MutableMatrixView gradient,
                                                MutableMatrixView hessian, Workspace& workspace) const;

  void differentiate(const ScaleEntries& entries, const ScaleSums& sums, MatrixView parameters,
                     const KeptTerms& derivatives, MutableMatrixView gradient, MutableMatrixView hessian) const;

  [[nodiscard]] double width_power() const { return 1 - options_.evenness; }

  /// With two sides, expand one number per row to one per entry; with `own_only`, 0 for the other side.
  std::span<const double> spread_over_entries(std::span<const double> per_row, const ResidualRows& rows, bool own_only,
                                              std::span<double> out) const;

  std::shared_ptr<const Transform> transform_;
  const AffineForm& form_;
  double residual_power_;  // s(x), the scale of r, is the scale of A to this power
  WidthOptions options_;
};

std::span<const double> ScaleObjective::spread_over_entries(std::span<const double> per_row, const ResidualRows& rows,
                                                            bool own_only, std::span<double> out) const {
  for (std::size_t i = 0; i < per_row.size(); ++i) {
    const bool above = rows.residuals[i] > 0;
    out[2 * i] = own_only && above ? 0.0 : per_row[i];
    out[2 * i + 1] = own_only && !above ? 0.0 : per_row[i];
  }
  return out;
}

ScaleEntries ScaleObjective::make_entries(const ResidualRows& rows, MatrixView parameters, Workspace& workspace) const {
  const std::size_t count = rows.residuals.size() * sides();
  ScaleEntries entries{parameters.data(), 0, rows.residuals.data(), nullptr, nullptr, count};
  if (const auto slope = form_.constant_slope()) {
    entries.slope = residual_power_ * *slope;
  } else {
    const auto v = workspace.numbers(kLogScales, count);
    form_.coefficients({parameters.data(), count, 1}, v, {});
    entries.g = v.data();
    entries.slope = residual_power_;
  }
  return entries;
}

std::span<const double> ScaleObjective::level_weights(const ResidualRows& rows, MatrixView parameters,
                                                      const ScaleEntries& entries, Workspace& workspace,
                                                      const Reducer& reducer) const {
  if (!options_.level_window) return rows.weights;
  const std::size_t n = rows.residuals.size();
  const auto values = workspace.numbers(kValues, n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t own = own_entry(rows, sides(), i);
    values[i] = std::abs(rows.residuals[i]) * bounded_exp(-entries.slope * entries.g[own]);
  }
  require_finite(std::log1p(std::accumulate(values.begin(), values.end(), 0.0)), rows, parameters);
  const auto ends = [&] {
    if (reducer.workers() == 1) return window_ends(*options_.level_window, values, rows.weights, workspace);
    const BinGrid grid = choose_grid({values, rows.weights, values, {}}, reducer);
    return summary_window_ends(*options_.level_window, values, rows.weights, grid, reducer);
  }();
  const auto weighed = workspace.numbers(kLevelWeights, n);
  weigh_window(ends, values, rows.weights, weighed);
  return weighed;
}

void ScaleObjective::set_weights(const ResidualRows& rows, std::span<const double> level_weights, ScaleEntries& entries,
                                 Workspace& workspace) const {
  std::span<const double> weights = rows.weights;
  if (sides() == 2) {
    const auto residuals = workspace.numbers(kResiduals, entries.n);
    entries.residuals = spread_over_entries(rows.residuals, rows, true, residuals).data();
    if (!weights.empty()) {
      weights = spread_over_entries(weights, rows, false, workspace.numbers(kTestWeights, entries.n));
    }
    if (!level_weights.empty()) {
      level_weights = spread_over_entries(level_weights, rows, false, workspace.numbers(kEntryLevelWeights, entries.n));
    }
  }
  entries.weights = weights.empty() ? nullptr : weights.data();
  entries.level_weights = level_weights.empty() ? nullptr : level_weights.data();
}

double ScaleObjective::evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                                MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const {
  check_shapes(parameter_count(), rows, parameters, gradient, hessian);
  const std::size_t n = rows.residuals.size();
  if (options_.level_window && reducer.workers() > 1 && exactly(options_, n, parameter_count(), reducer)) {
    return evaluate_gathered(*this, rows, parameters, gradient, hessian, workspace, reducer);
  }
  ScaleEntries entries = make_entries(rows, parameters, workspace);
  const std::span<const double> row_level_weights = level_weights(rows, parameters, entries, workspace, reducer);
  ScaleSums sums{};
  sums.entries = static_cast<double>(entries.n);
  sums.weight = static_cast<double>(sides()) * total_of(rows.weights, n);
  sums.level_weight = total_of(row_level_weights, n);
  set_weights(rows, row_level_weights, entries, workspace);

  const double p = width_power();
  const KeptTerms derivatives = memory_of_derivatives(entries, gradient, hessian, workspace);
  sum_scale(entries, p, derivatives, sums);
  reducer.sum({&sums.entries, 5});
  const double width = p == 0 ? sums.width / sums.weight : std::log(sums.width / sums.weight) / p;
  require_finite(std::abs(width) + std::log1p(sums.ratio / sums.level_weight), rows, parameters);
  if (sums.ratio == 0) {
    if (!gradient.empty()) fill(gradient, 0);
    if (!hessian.empty()) fill(hessian, 1 / sums.entries);
    return -std::numeric_limits<double>::infinity();
  }
  if (!gradient.empty()) differentiate(entries, sums, parameters, derivatives, gradient, hessian);
  return width + std::log(sums.ratio / sums.level_weight);
}

KeptTerms ScaleObjective::memory_of_derivatives(const ScaleEntries& entries, MutableMatrixView gradient,
                                                MutableMatrixView hessian, Workspace& workspace) const {
  if (gradient.empty()) return {nullptr, nullptr};
  if (form_.constant_slope()) return {gradient.data(), hessian.data()};
  return {workspace.numbers(kGradientScale, entries.n).data(), workspace.numbers(kHessianScale, entries.n).data()};
}

void ScaleObjective::differentiate(const ScaleEntries& entries, const ScaleSums& sums, MatrixView parameters,
                                   const KeptTerms& derivatives, MutableMatrixView gradient,
                                   MutableMatrixView hessian) const {
  differentiate_scale(entries, width_power(), sums, derivatives.width, derivatives.ratio);
  if (form_.constant_slope()) return;
  const std::size_t n = entries.n;
  const MatrixView entry_parameters(parameters.data(), n, 1);
  form_.pull_back(entry_parameters, {derivatives.width, n}, {}, {gradient.data(), n, 1});
  if (hessian.empty()) return;
  form_.pull_back_curvature(entry_parameters, {derivatives.ratio, n}, {}, {hessian.data(), n, 1});
  // If the scale does not depend on the parameter (erc at g = 0), the curvature is 0.
  for (double& h : std::span(hessian.data(), n)) h = std::max(h, kMinCurvature / sums.entries);
}

}  // namespace

std::unique_ptr<const Objective> make_scale_objective(std::shared_ptr<const Transform> transform, Score score,
                                                      const WidthOptions& options) {
  return std::make_unique<ScaleObjective>(std::move(transform), score, options);
}

}  // namespace widthwise::internal
