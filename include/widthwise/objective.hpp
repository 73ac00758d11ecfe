#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <widthwise/interface.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/score.hpp>
#include <widthwise/transform.hpp>

namespace widthwise {

/// Sum over the workers that train one model together; each worker has its own rows. Objectives communicate with other
/// workers only through this interface.
class Reducer : public Interface {
 public:
  /// Replace values by their sum over all workers. Every worker calls it with the same length, in the same order.
  virtual void sum(std::span<double> values) const = 0;

  [[nodiscard]] virtual std::size_t rank() const = 0;     ///< number of this worker, from 0
  [[nodiscard]] virtual std::size_t workers() const = 0;  ///< number of workers; ranks are below it
};

/// A single worker: sums are unchanged.
class SingleWorker final : public Reducer {
 public:
  void sum(std::span<double> /*values*/) const override {}
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] std::size_t workers() const override { return 1; }
};

/// The input of an objective: errors of the base model on rows it has not seen.
struct ResidualRows {
  std::span<const double> residuals;     ///< y - f(x) (n); symmetric objectives use only the absolute value
  std::span<const double> weights = {};  ///< n numbers >= 0, or empty: every row counts once
};

/// Temporary memory of an evaluation, reused from call to call. One per thread.
class Workspace {
 public:
  /// Borrow n uninitialised numbers; the same slot returns the same memory again.
  [[nodiscard]] std::span<double> numbers(std::size_t slot, std::size_t n);

  /// Borrow n bytes, aligned for any type.
  [[nodiscard]] std::span<std::byte> bytes(std::size_t slot, std::size_t n);

 private:
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::vector<std::size_t> sizes_;
};

/// A loss over the parameters of all rows, with its gradient and a positive diagonal in place of its Hessian. This is
/// the interface between widthwise and training engines: spans in, loss and derivatives out.
/// Thread safety: evaluate is const; concurrent calls need separate workspaces.
class Objective : public Interface {
 public:
  /// Columns of the parameter matrix: P of the transform, or 2P for two sides (lower side first).
  [[nodiscard]] virtual std::size_t parameter_count() const = 0;

  /// Return the loss over the rows of all workers. parameters, gradient and hessian are n x P for the rows of this
  /// worker; gradient and hessian may be empty if only the loss is needed.
  ///
  /// Width losses are the log of a mean half-width: -infinity, with a gradient of 0, if every interval is a point.
  virtual double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                          MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const = 0;

  /// Whether training starts from the best constants, instead of from 0. Not needed where constants do not change the
  /// loss.
  [[nodiscard]] virtual bool starts_from_best_constants() const { return false; }

  /// Evaluate in one process with a temporary workspace.
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient = {},
                  MutableMatrixView hessian = {}) const;
};

/// The levels that a loss optimises: it averages the width over the ranks of these levels (docs/mathematics.md).
/// lower == upper with outside = 0 is the paper's l_alpha. Windows narrower than about 0.1 overfit, and with few rows
/// any window with outside = 0 does.
struct LevelWindow {
  Level lower;         ///< lowest level of the window
  Level upper;         ///< highest level, at least `lower`
  double outside = 0;  ///< weight of levels outside the window relative to those inside, in [0, 1]

  /// Equal weights for all levels, the paper's l_all.
  [[nodiscard]] static LevelWindow all() { return {0.5, 0.5, 1}; }

  /// The window for intervals of these levels (at least one): a tenth to either side, but not up to 0 or 1. Other
  /// levels have less than half the weight. Chosen on the fitting parts of real data (experiments/NOTES.md).
  [[nodiscard]] static LevelWindow around(std::span<const Level> levels);
};

/// How to compute the sums over all pairs of rows if the transform has an offset.
enum class PairMethod {
  kAuto,     ///< exact for few rows, else the summary; each of several workers sends at most 64 kB
  kExact,    ///< O(N log N); several workers gather all rows
  kSummary,  ///< O(N), at most 64 kB per worker for any N; within 1e-3 of exact (docs/mathematics.md)
};

/// Options of make_width_objective and make_pairwise_objective.
struct WidthOptions {
  Sides sides = Sides::kOne;  ///< kTwo: parameters have 2P columns, chosen by the sign of the residual
  double evenness = 0;        ///< 0: narrowest mean width; 1: coverage even over x; scale transforms only
  std::optional<LevelWindow> level_window = std::nullopt;  ///< empty: equal weights for all levels, the paper's l_all
  PairMethod method = PairMethod::kAuto;                   ///< for transforms with an offset; others ignore it
  std::size_t exact_rows = 100'000;                        ///< maximum number of rows for which kAuto is exact
  std::size_t nodes = 64;  ///< transforms without affine form: quantile nodes; O(N nodes)
};

/// The log of the mean half-width over rows and levels, as a loss in the parameters of the transform: the log of the
/// paper's l_all. For scale transforms it is the member `evenness` = 1 - p of the family (docs/mathematics.md)
///   L_p(u) = (1/p) log mean(e^{p u}) + log mean(r e^-u),  u = log s(x).
/// Uses the fastest method for the transform: O(N) for scale transforms, O(N log N) or a summary for transforms with an
/// offset, quantile nodes for all others.
[[nodiscard]] std::unique_ptr<const Objective> make_width_objective(std::shared_ptr<const Transform> transform,
                                                                    Score score, const WidthOptions& options = {});

/// The same loss computed from all pairs of rows in O(N^2), for any transform and score and evenness 0. The fast
/// methods are tested against this definition.
[[nodiscard]] std::unique_ptr<const Objective> make_pairwise_objective(std::shared_ptr<const Transform> transform,
                                                                       Score score, const WidthOptions& options = {});

/// Options of make_distribution_objective.
struct DistributionOptions {
  Sides sides = Sides::kOne;                      ///< as in WidthOptions
  double evenness = 1;                            ///< as in WidthOptions
  LevelWindow level_window = LevelWindow::all();  ///< levels whose intervals the loss scores
};

/// The loss of a conditional distribution of the error, for transforms with a spline inverse on the absolute score. R
/// is the mean interval score over a grid of levels, where the interval of level l is that of b = -log(1 - l), and v
/// the mean parameter of the row, a log scale (docs/mathematics.md):
///   L_p = (1/p) log mean(e^{p v}) + log mean(R e^-v),  p = 1 - evenness.
/// Its minimum has the coverage l at every x and level of the grid if evenness is 1. O(N) for any number of workers,
/// which send four numbers each.
[[nodiscard]] std::unique_ptr<const Objective> make_distribution_objective(const Transform& transform,
                                                                           const DistributionOptions& options = {});

}  // namespace widthwise
