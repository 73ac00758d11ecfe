#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>
#include <widthwise/interface.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/reducer.hpp>
#include <widthwise/score.hpp>
#include <widthwise/transform.hpp>

namespace widthwise {

/// What an objective is about: the errors of the base model on rows it has not seen.
struct ResidualRows {
  std::span<const double> residuals;     ///< y - f(x) (n); one-sided objectives look at the size only
  std::span<const double> weights = {};  ///< n numbers >= 0, or empty: every row counts once
};

/// Memory that an evaluation needs beside its inputs and outputs, kept from call to call. One per thread.
class Workspace {
 public:
  /// Borrow n numbers, of any value; the same slot gives the same memory again.
  [[nodiscard]] std::span<double> numbers(std::size_t slot, std::size_t n);

  /// Borrow n bytes, aligned for any type.
  [[nodiscard]] std::span<std::byte> bytes(std::size_t slot, std::size_t n);

 private:
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::vector<std::size_t> sizes_;
};

/// A loss over the parameters of all rows, with its gradient and a positive diagonal in place of its Hessian. This is
/// the seam between widthwise and any training engine: spans in, loss and derivatives out.
/// Thread safety: evaluate is const; concurrent calls need a workspace each.
class Objective : public Interface {
 public:
  /// Columns of the parameter matrix: P of the transform, twice that when two-sided (lower side first).
  [[nodiscard]] virtual std::size_t parameter_count() const = 0;

  /// Return the loss over all workers' rows. parameters, gradient and hessian are n x P of this worker's rows;
  /// the latter two may be empty when only the loss is wanted.
  ///
  /// Width losses are the log of a mean half-width: -infinity, with a gradient of 0, when every interval is a point.
  virtual double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                          MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const = 0;

  /// The same in one process, with memory of its own.
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient = {},
                  MutableMatrixView hessian = {}) const;
};

/// The levels a loss cares about: it averages the width over the ranks of these levels (docs/mathematics.md).
/// lower == upper with outside = 0 is the paper's l_alpha; windows narrower than about 0.1 overfit, and so do few rows
/// when no other level counts.
struct LevelWindow {
  Level lower;
  Level upper;
  double outside = 0;  ///< what a level outside counts beside one inside, from 0 to 1

  /// All levels alike, the paper's l_all.
  [[nodiscard]] static LevelWindow all() { return {0.5, 0.5, 1}; }

  /// For intervals of these levels (one at least): a tenth to either side, but less than the way to 0 or 1; the other
  /// levels count less than half as much. Chosen on the fitting parts of real data (experiments/NOTES.md).
  [[nodiscard]] static LevelWindow around(std::span<const Level> levels);
};

/// How the sums over all pairs of rows are done where the transform has an offset.
enum class PairMethod {
  kAuto,     ///< exact for few rows, else the summary; several workers never send more than 64 kB each
  kExact,    ///< O(N log N); several workers gather all rows
  kSummary,  ///< O(N), and at most 64 kB a worker whatever N; within 1e-3 of exact (docs/mathematics.md)
};

struct WidthOptions {
  Sides sides = Sides::kOne;
  double evenness = 0;  ///< 0: narrowest mean width; 1: coverage even over x; scale transforms only
  std::optional<LevelWindow> level_window = std::nullopt;  ///< empty: all levels count the same, the paper's l_all
  PairMethod method = PairMethod::kAuto;
  std::size_t exact_rows = 100'000;  ///< how many rows are few
  std::size_t nodes = 256;           ///< transforms without affine form: quantile nodes; O(N nodes)
};

/// The log of the half-width averaged over rows and levels, as a loss in the parameters of the transform: the log of
/// the paper's l_all. For scale transforms it is the member `evenness` = 1 - p of the family (docs/mathematics.md)
///   L_p(u) = (1/p) log mean(e^{p u}) + log mean(r e^-u),  u = log s(x).
/// Picks the fastest exact way the transform allows: O(N) for scale transforms, O(N log N) or a summary with an
/// offset, quantile nodes for any other.
[[nodiscard]] std::unique_ptr<const Objective> make_width_objective(std::shared_ptr<const Transform> transform,
                                                                    Score score, const WidthOptions& options = {});

/// The same loss from all pairs of rows, O(N^2), for any transform and score and evenness 0: the definition that the
/// fast ones are tested against.
[[nodiscard]] std::unique_ptr<const Objective> make_pairwise_objective(std::shared_ptr<const Transform> transform,
                                                                       Score score, const WidthOptions& options = {});

/// mean (g - r^2)^2: the fit of the squared error that the paper's `ERC (error fit)` row uses.
[[nodiscard]] std::unique_ptr<const Objective> make_error_fit_objective();

}  // namespace widthwise
