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

struct TransformOptions {
  double gamma = 0.01;    ///< erc: the least scale, in units of A; positive
  double epsilon = 0.01;  ///< mixture: the weight of log A that gives every x the same codomain; positive

  friend bool operator==(const TransformOptions& a, const TransformOptions& b) = default;
};

/// Monotone map B = phi(A; p) of the conformity score A; x enters only through the parameters p = g(x).
/// Invariant: d_score(a, p) > 0 for every a > 0  [paper, Assumption 1].
/// Thread safety: stateless after construction; const methods may run concurrently.
///
/// A new transform implements the first five methods; everything below them has a default that needs nothing else.
class Transform : public Interface {
 public:
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// P, the length of p.
  [[nodiscard]] virtual std::size_t parameter_count() const = 0;

  /// phi(a; p).
  [[nodiscard]] virtual double value(double a, std::span<const double> p) const = 0;

  /// phi'(a; p), the derivative in a.
  [[nodiscard]] virtual double d_score(double a, std::span<const double> p) const = 0;

  /// The P derivatives of phi(a; p) in p.
  virtual void d_parameters(double a, std::span<const double> p, std::span<double> out) const = 0;

  /// True when a may be any number, not only positive: then the log score can be used.
  [[nodiscard]] virtual bool takes_negative_scores() const { return false; }

  /// Return the a with phi(a; p) = b, rounded up: value(a, p) <= b implies a <= inverse(b, p) in floating point too.
  /// Where b lies below the codomain the result is at most 0, and 0 is reported as the half-width
  /// (docs/mathematics.md): B <= q still implies r <= D, so coverage does not need the paper's assumption of equal
  /// codomains.
  [[nodiscard]] virtual double inverse(double b, std::span<const double> p) const;

  /// d phi^-1(b; p) / db = 1 / phi'(a), at a = phi^-1(b; p)  [paper, Gradient optimization].
  [[nodiscard]] virtual double inverse_d_value(double b, std::span<const double> p) const;

  /// Differentiate the inverse in p through phi(phi^-1(b; p); p) = b  [paper, Gradient optimization]:
  /// -phi_p / phi_a, at a = phi^-1(b; p). Never differentiates the root-finder's iterations.
  virtual void inverse_d_parameters(double b, std::span<const double> p, std::span<double> out) const;

  /// The options it was made with, 0 for those it does not take: make_transform(name(), options()) makes its equal.
  [[nodiscard]] virtual TransformOptions options() const { return {.gamma = 0, .epsilon = 0}; }

  /// phi of many rows: scores (n), parameters (n x P), out (n).
  virtual void values(std::span<const double> scores, MatrixView parameters, std::span<double> out) const;

  /// phi^-1 of many rows and levels: quantiles (n x k, stride 0 when all rows share them), parameters (n x P),
  /// out (n x k).
  virtual void inverses(MatrixView quantiles, MatrixView parameters, MutableMatrixView out) const;

  /// The transform as phi = link(A e^-v + c), or null when it has no such form: what makes objectives exact in
  /// O(N) or O(N log N).
  [[nodiscard]] virtual const AffineForm* affine_form() const { return nullptr; }
};

/// The common form of every named transform but the mixture: phi(A; p) = link(A e^-v + c), v = v(p), c = c(p), with a
/// link that is the identity or, where c = 0, the logarithm. The link is a global monotone function and changes no
/// interval (docs/mathematics.md).
class AffineForm : public Interface {
 public:
  /// False for scale transforms, whose c is 0 for every p.
  [[nodiscard]] virtual bool has_offset() const = 0;

  /// dv/dp when it is one number for every p (P = 1, no offset): lets a trainer's inner loop skip a pass.
  [[nodiscard]] virtual std::optional<double> constant_slope() const { return std::nullopt; }

  /// v and c of many rows: parameters (n x P), log_scales (n), offsets (n, or empty when has_offset() is false).
  virtual void coefficients(MatrixView parameters, std::span<double> log_scales, std::span<double> offsets) const = 0;

  /// Carry derivatives of a loss in (v, c) back to p, row by row: d_log_scales (n), d_offsets (n or empty),
  /// out (n x P).
  virtual void pull_back(MatrixView parameters, std::span<const double> d_log_scales, std::span<const double> d_offsets,
                         MutableMatrixView out) const = 0;

  /// The same for a positive diagonal of second derivatives. Where one parameter moves both v and c, the larger of
  /// the two serves.
  virtual void pull_back_curvature(MatrixView parameters, std::span<const double> d2_log_scales,
                                   std::span<const double> d2_offsets, MutableMatrixView out) const = 0;
};

/// Make a transform by name:
///
/// | name     | P | phi                     |                                                                       |
/// |----------|---|-------------------------|-----------------------------------------------------------------------|
/// | identity | 0 | A                       | one width for all x                                                   |
/// | erc      | 1 | A / (g^2 + gamma)       | error re-weighting [paper, Experiments]                               |
/// | linear   | 1 | log A + g               | [paper, Experiments]                                                  |
/// | exp      | 1 | A e^g                   | [paper, Experiments]                                                  |
/// | sigma    | 1 | sigma(log A + g)        | [paper, Experiments]; carried as its logit, log A + g                 |
/// | density  | 1 | A e^-g + g              | how surprising the residual is, with a Laplace shape                  |
/// | affine   | 2 | A e^-g1 + g2            | the same freed from the shape                                         |
/// | mixture  | 8 | sum_j softplus(w_j) phi_j + epsilon log A | erc, linear, exp, sigma; p = (w_1, g_1, ...)          |
[[nodiscard]] std::shared_ptr<const Transform> make_transform(std::string_view name,
                                                              const TransformOptions& options = {});

/// The names that make_transform knows.
[[nodiscard]] std::vector<std::string_view> transform_names();

}  // namespace widthwise
