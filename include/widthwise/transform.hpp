#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>
#include <widthwise/interface.hpp>
#include <widthwise/matrix_view.hpp>

namespace widthwise {

class AffineForm;

/// Constants of the transforms erc and mixture; other transforms ignore them.
struct TransformOptions {
  double gamma = 0.01;    ///< erc: the smallest scale, in units of A; positive
  double epsilon = 0.01;  ///< mixture: the weight of log A that gives every x the same codomain; positive

  /// Whether all constants are equal.
  friend bool operator==(const TransformOptions& a, const TransformOptions& b) = default;
};

/// The inverse of one row at k levels: the scores (k), phi' there (k), and the derivatives of phi in p there (k x P).
/// The last two are empty if not requested.
struct RowInverses {
  std::span<double> scores;        ///< phi^-1 at each level
  std::span<double> d_scores;      ///< phi' at each of these scores
  MutableMatrixView d_parameters;  ///< derivatives of phi in p at each of these scores
};

/// Monotone map B = phi(A; p) of the conformity score A; x enters only through the parameters p = g(x).
/// Invariant: d_score(a, p) > 0 for every a > 0  [paper, Assumption 1].
/// Thread safety: stateless after construction; const methods may run concurrently.
///
/// A new transform implements the first five methods; all others have defaults that use only these.
class Transform : public Interface {
 public:
  [[nodiscard]] virtual std::string_view name() const = 0;  ///< name for make_transform and in model files

  /// P, the length of p.
  [[nodiscard]] virtual std::size_t parameter_count() const = 0;

  /// phi(a; p).
  [[nodiscard]] virtual double value(double a, std::span<const double> p) const = 0;

  /// phi'(a; p), the derivative in a.
  [[nodiscard]] virtual double d_score(double a, std::span<const double> p) const = 0;

  /// The P derivatives of phi(a; p) in p.
  virtual void d_parameters(double a, std::span<const double> p, std::span<double> out) const = 0;

  /// Whether a may be any number, not only positive, so that the log score can be used.
  [[nodiscard]] virtual bool takes_negative_scores() const { return false; }

  /// Return the a with phi(a; p) = b, rounded up: value(a, p) <= b implies a <= inverse(b, p) in floating point as
  /// well. If b lies below the codomain, the result is at most 0, and the half-width is 0 (docs/mathematics.md). B <= q
  /// still implies r <= D, so coverage does not need the paper's assumption of equal codomains.
  [[nodiscard]] virtual double inverse(double b, std::span<const double> p) const;

  /// The same for b < +infinity, rounded down: value(a, p) >= b implies a >= inverse_down(b, p) in floating point as
  /// well. Bounds on the other side of the prediction need it (ConformalPredictor::quantiles). By default, value() is
  /// evaluated below inverse(b, p) until it is less than b.
  [[nodiscard]] virtual double inverse_down(double b, std::span<const double> p) const;

  /// d phi^-1(b; p) / db = 1 / phi'(a), at a = phi^-1(b; p)  [paper, Gradient optimization].
  [[nodiscard]] virtual double inverse_d_value(double b, std::span<const double> p) const;

  /// Differentiate the inverse in p through phi(phi^-1(b; p); p) = b  [paper, Gradient optimization]:
  /// -phi_p / phi_a, at a = phi^-1(b; p). The iterations of the root-finder are never differentiated.
  virtual void inverse_d_parameters(double b, std::span<const double> p, std::span<double> out) const;

  /// The options of this transform, 0 for those it does not use: make_transform(name(), options()) makes an equal one.
  [[nodiscard]] virtual TransformOptions options() const { return {.gamma = 0, .epsilon = 0}; }

  /// Evaluate phi for n rows: scores (n), parameters (n x P), out (n).
  virtual void values(std::span<const double> scores, MatrixView parameters, std::span<double> out) const;

  /// Evaluate phi^-1 for n rows and k levels: quantiles (n x k, stride 0 if all rows share them), parameters (n x P),
  /// out (n x k).
  virtual void inverses(MatrixView quantiles, MatrixView parameters, MutableMatrixView out) const;

  /// Evaluate phi^-1 of one row at k ascending levels, and the derivatives that training needs there. Unlike
  /// inverse(), the scores need not be rounded up. A transform with costly inverses can share work between levels.
  virtual void row_inverses(std::span<const double> levels, std::span<const double> p, const RowInverses& out) const;

  /// The transform in the form phi = link(A e^-v + c), or null if it has no such form. This form makes objectives exact
  /// in O(N) or O(N log N).
  [[nodiscard]] virtual const AffineForm* affine_form() const { return nullptr; }

  /// Whether the inverse is a spline in b = -log(1 - level), so that the parameters are a distribution of the error and
  /// can be trained by make_distribution_objective.
  [[nodiscard]] virtual bool has_spline_inverse() const { return false; }

  /// Whether the two sides of an interval depend on the parameters of both, through join_sides.
  [[nodiscard]] virtual bool joins_sides() const { return false; }

  /// Replace the trained parameters of n rows, those of the lower side before those of the upper one (n x 2P), by the
  /// parameters of phi on each side. ConformalRule calls this for scores and for intervals alike.
  virtual void join_sides(MutableMatrixView /*parameters*/) const {}
};

/// The common form of all named transforms except spline, shortest and mixture: phi(A; p) = link(A e^-v + c), v = v(p),
/// c = c(p). The link is the identity or, if c = 0, the logarithm. It is a global monotone function and changes no
/// interval (docs/mathematics.md).
class AffineForm : public Interface {
 public:
  /// False for scale transforms, whose c is 0 for every p.
  [[nodiscard]] virtual bool has_offset() const = 0;

  /// dv/dp if it is constant (P = 1, no offset), which lets the inner loop of a trainer skip a pass.
  [[nodiscard]] virtual std::optional<double> constant_slope() const { return std::nullopt; }

  /// Compute v and c of n rows: parameters (n x P), log_scales (n), offsets (n, or empty if has_offset() is false).
  virtual void coefficients(MatrixView parameters, std::span<double> log_scales, std::span<double> offsets) const = 0;

  /// Convert derivatives of a loss in (v, c) to derivatives in p, row by row: d_log_scales (n), d_offsets (n or empty),
  /// out (n x P).
  virtual void pull_back(MatrixView parameters, std::span<const double> d_log_scales, std::span<const double> d_offsets,
                         MutableMatrixView out) const = 0;

  /// Convert a positive diagonal of second derivatives. If one parameter affects both v and c, the larger value is
  /// used.
  virtual void pull_back_curvature(MatrixView parameters, std::span<const double> d2_log_scales,
                                   std::span<const double> d2_offsets, MutableMatrixView out) const = 0;
};

/// Make a transform by name:
///
/// | name     | P | phi                     |                                                                       |
/// |----------|---|-------------------------|-----------------------------------------------------------------------|
/// | identity | 0 | A                       | constant width                                                        |
/// | erc      | 1 | A / (g^2 + gamma)       | error re-weighting [paper, Experiments]                               |
/// | linear   | 1 | log A + g               | [paper, Experiments]                                                  |
/// | exp      | 1 | A e^g                   | [paper, Experiments]                                                  |
/// | sigma    | 1 | sigma(log A + g)        | [paper, Experiments]; stored as its logit, log A + g                  |
/// | density  | 1 | A e^-g + g              | minus the log of a Laplace density of the residual                    |
/// | affine   | 2 | A e^-g1 + g2            | density with independent scale and offset                             |
/// | spline   | 3 | inverse: sum_k e^{g_k} M_k(b) | the distribution of the error, with a slope per range of levels   |
/// | shortest | 3 | as spline               | two sides: the shortest instead of the central intervals of spline    |
/// | mixture  | 8 | sum_j softplus(w_j) phi_j + epsilon log A | erc, linear, exp, sigma; p = (w_1, g_1, ...)          |
[[nodiscard]] std::shared_ptr<const Transform> make_transform(std::string_view name,
                                                              const TransformOptions& options = {});

/// The names that make_transform accepts.
[[nodiscard]] std::vector<std::string_view> transform_names();

}  // namespace widthwise
