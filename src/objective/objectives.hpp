#pragma once

#include <cstddef>
#include <limits>
#include <memory>

#include <widthwise/objective.hpp>

/// The objectives behind make_width_objective, and what they share.
namespace widthwise::internal {

std::unique_ptr<const Objective> make_scale_objective(std::shared_ptr<const Transform> transform, Score score,
                                                      const WidthOptions& options);

std::unique_ptr<const Objective> make_offset_objective(std::shared_ptr<const Transform> transform,
                                                       const WidthOptions& options);

/// As the number of nodes: every row is one, the loss is the exact sum over all pairs.
inline constexpr std::size_t kEveryRow = std::numeric_limits<std::size_t>::max();

std::unique_ptr<const Objective> make_general_objective(std::shared_ptr<const Transform> transform, Score score,
                                                        const WidthOptions& options, std::size_t nodes);

/// Hessians are at least this share of a row's fair share: tiny ones make extreme leaves.
inline constexpr double kMinCurvature = 1e-3;

/// Throw kShapeMismatch unless all matrices are n x parameter_count without gaps (or, the outputs, empty), and
/// kInvalidArgument unless all weights are finite and >= 0.
void check_shapes(std::size_t parameter_count, const ResidualRows& rows, MatrixView parameters,
                  MutableMatrixView gradient, MutableMatrixView hessian);

/// Throw, naming the first row whose residual, weight or parameter is not what it must be; return if there is none.
void explain_bad_input(const ResidualRows& rows, MatrixView parameters);

/// Throw unless the loss is finite. Inputs are checked only when it is not, or is huge: bad ones cannot hide otherwise.
void require_finite(double loss, const ResidualRows& rows, MatrixView parameters);

/// The entry that row i calibrates: with two sides a row has two, lower first, and its residual is on one of them.
// Loops over rows read through pointers: the operators of spans check every index (cmake/hardening.cmake), and a check
// inside a loop keeps the compiler from turning it into vector code.
[[nodiscard]] inline std::size_t own_entry(const ResidualRows& rows, std::size_t sides, std::size_t i) {
  return sides == 1 ? i : 2 * i + (rows.residuals.data()[i] > 0 ? 1 : 0);
}

[[nodiscard]] inline double weight_of(const ResidualRows& rows, std::size_t i) {
  return rows.weights.empty() ? 1.0 : rows.weights.data()[i];
}

void fill(MutableMatrixView matrix, double value);

/// The sum of n weights, or n when there are none.
double total_of(std::span<const double> weights, std::size_t n);

/// The memory an objective borrows, by name.
enum Slot : std::size_t {
  kLogScales,
  kOffsets,
  kScales,
  kResiduals,
  kValues,
  kTestWeights,
  kLevelWeights,
  kEntryLevelWeights,
  kExcess,
  kWeightAbove,
  kWeightBelow,
  kGradientScale,
  kHessianScale,
  kSelection,
  kPartedValues,
  kBucketedThresholds = kPartedValues + 2,  // a partition takes two slots
  kGathered = kBucketedThresholds + 2,
  kGatheredGradient,
  kGatheredHessian,
};

}  // namespace widthwise::internal
