#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>

#include <widthwise/objective.hpp>

/// The objectives of make_width_objective, and shared helpers.
namespace widthwise::internal {

std::unique_ptr<const Objective> make_scale_objective(std::shared_ptr<const Transform> transform, Score score,
                                                      const WidthOptions& options);

std::unique_ptr<const Objective> make_offset_objective(std::shared_ptr<const Transform> transform,
                                                       const WidthOptions& options);

/// Special number of nodes: every row is a node, and the loss is the exact sum over all pairs.
inline constexpr std::size_t kEveryRow = std::numeric_limits<std::size_t>::max();

std::unique_ptr<const Objective> make_general_objective(std::shared_ptr<const Transform> transform, Score score,
                                                        const WidthOptions& options, std::size_t nodes);

/// Lower bound of a Hessian relative to the mean per row; tiny Hessians make extreme leaves.
inline constexpr double kMinCurvature = 1e-3;

/// Throw kInvalidArgument unless the evenness is in [0, 1] and the window is valid.
void check_levels(std::string_view what, double evenness, const LevelWindow& window);

/// Throw kShapeMismatch unless all matrices are contiguous n x parameter_count (outputs may be empty), and
/// kInvalidArgument unless all weights are finite and >= 0.
void check_shapes(std::size_t parameter_count, const ResidualRows& rows, MatrixView parameters,
                  MutableMatrixView gradient, MutableMatrixView hessian);

/// Throw for the first row with an invalid residual, weight or parameter; return if there is none.
void explain_bad_input(const ResidualRows& rows, MatrixView parameters);

/// Throw unless the loss is finite. Inputs are checked only if it is not finite or huge; otherwise they are valid.
void require_finite(double loss, const ResidualRows& rows, MatrixView parameters);

/// The entry that row i calibrates: with two sides a row has two entries, lower first, and its residual is on one side.
// Loops over rows use pointers, because spans check every index (cmake/hardening.cmake), which prevents vectorisation.
[[nodiscard]] inline std::size_t own_entry(const ResidualRows& rows, std::size_t sides, std::size_t i) {
  return sides == 1 ? i : 2 * i + (rows.residuals.data()[i] > 0 ? 1 : 0);
}

[[nodiscard]] inline double weight_of(const ResidualRows& rows, std::size_t i) {
  return rows.weights.empty() ? 1.0 : rows.weights.data()[i];
}

void fill(MutableMatrixView matrix, double value);

/// The sum of n weights, or n if there are none.
double total_of(std::span<const double> weights, std::size_t n);

/// Names of the slots in the workspace.
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
  kBucketedThresholds = kPartedValues + 2,  // a partition uses two slots
  kGathered = kBucketedThresholds + 2,
  kGatheredGradient,
  kGatheredHessian,
  kMeanParameters,
  kIntervalScores,
};

}  // namespace widthwise::internal
