#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include <widthwise/transform.hpp>

#include "base/vector_math.hpp"

namespace widthwise::internal {

enum class Link {
  kIdentity,  ///< phi = A e^-v + c
  kLog,       ///< phi = log A - v; c = 0
};

/// v(p) and c(p) of one row, and their derivatives.
template <std::size_t P>
struct Jacobian {
  std::array<double, P> d_log_scale{};
  std::array<double, P> d_offset{};
};

/// Every transform of the form phi(A; p) = link(A e^-v(p) + c(p)). A Rule is a few lines:
///   kName, kParameters (P), kLink, kHasOffset,
///   log_scale(p) -> v, offset(p) -> c, jacobian(p) -> derivatives of both, p being a pointer to P numbers;
///   options(), if it has any.
template <class Rule>
class AffineFamily final : public Transform, public AffineForm {
 public:
  static constexpr std::size_t kP = Rule::kParameters;

  explicit AffineFamily(Rule rule) : rule_(rule) {}

  [[nodiscard]] std::string_view name() const override { return Rule::kName; }
  [[nodiscard]] std::size_t parameter_count() const override { return kP; }
  [[nodiscard]] bool takes_negative_scores() const override { return Rule::kLink == Link::kIdentity; }
  [[nodiscard]] TransformOptions options() const override {
    if constexpr (requires { rule_.options(); }) return rule_.options();
    return Transform::options();
  }
  [[nodiscard]] const AffineForm* affine_form() const override { return this; }
  [[nodiscard]] bool has_offset() const override { return Rule::kHasOffset; }
  [[nodiscard]] std::optional<double> constant_slope() const override {
    if constexpr (requires { Rule::kSlope; }) return Rule::kSlope;
    return std::nullopt;
  }

  [[nodiscard]] double value(double a, std::span<const double> p) const override { return value_of(a, p.data()); }

  [[nodiscard]] double d_score(double a, std::span<const double> p) const override {
    if constexpr (Rule::kLink == Link::kLog) return 1 / a;
    return 1 / bounded_exp(rule_.log_scale(p.data()));
  }

  void d_parameters(double a, std::span<const double> p, std::span<double> out) const override {
    const auto jacobian = rule_.jacobian(p.data());
    const double factor = Rule::kLink == Link::kLog ? 1.0 : a / bounded_exp(rule_.log_scale(p.data()));
    for (std::size_t j = 0; j < kP; ++j) out[j] = jacobian.d_offset[j] - factor * jacobian.d_log_scale[j];
  }

  [[nodiscard]] double inverse(double b, std::span<const double> p) const override { return inverse_of(b, p.data()); }

  [[nodiscard]] double inverse_down(double b, std::span<const double> p) const override {
    const double v = rule_.log_scale(p.data());
    if constexpr (Rule::kLink == Link::kLog) {
      const double slack = kRoundingSlack * (1 + std::abs(b) + std::abs(v));
      return b + v <= -kExponentBound || slack >= 1 ? 0 : bounded_exp(b + v) * (1 - slack);
    }
    return affine_inverse_down(b, bounded_exp(v), rule_.offset(p.data()));
  }

  [[nodiscard]] double inverse_d_value(double b, std::span<const double> p) const override {
    if constexpr (Rule::kLink == Link::kLog) return inverse_of(b, p.data());
    return bounded_exp(rule_.log_scale(p.data()));
  }

  void inverse_d_parameters(double b, std::span<const double> p, std::span<double> out) const override {
    const auto jacobian = rule_.jacobian(p.data());
    const double a = inverse_of(b, p.data());
    const double scale = bounded_exp(rule_.log_scale(p.data()));
    for (std::size_t j = 0; j < kP; ++j) out[j] = a * jacobian.d_log_scale[j] - scale * jacobian.d_offset[j];
  }

  void values(std::span<const double> scores, MatrixView parameters, std::span<double> out) const override {
    if constexpr (Rule::kLink == Link::kLog) {
      for (std::size_t i = 0; i < scores.size(); ++i) out[i] = value_of(scores[i], parameters.row(i).data());
    } else {
      double v[kBlock];
      double c[kBlock];
      for (std::size_t first = 0; first < scores.size(); first += kBlock) {
        const std::size_t n = std::min(kBlock, scores.size() - first);
        coefficients(parameters.slice(first, n), {v, n}, {c, n});
        affine_values(scores.data() + first, v, c, n, out.data() + first);
      }
    }
  }

  void inverses(MatrixView quantiles, MatrixView parameters, MutableMatrixView out) const override {
    if (kP == 0 && quantiles.stride() == 0 && out.rows() > 1) {  // all rows are the same
      inverses(quantiles, parameters.slice(0, 1), out.slice(0, 1));
      for (std::size_t i = 1; i < out.rows(); ++i) std::copy_n(out.data(), out.columns(), out.row(i).data());
      return;
    }
    double v[kBlock];
    double c[kBlock];
    double scales[kBlock];
    for (std::size_t first = 0; first < out.rows(); first += kBlock) {
      const std::size_t n = std::min(kBlock, out.rows() - first);
      coefficients(parameters.slice(first, n), {v, n}, {c, n});
      const MutableMatrixView to = out.slice(first, n);
      if constexpr (Rule::kLink == Link::kIdentity) {
        if (quantiles.stride() == 0 && to.columns() == 1 && to.contiguous()) {
          affine_inverses(quantiles.data()[0], v, c, n, to.data());
          continue;
        }
        exp_all({v, n}, {scales, n});
      }
      for (std::size_t i = 0; i < n; ++i) {
        const double* const b = quantiles.data() + (first + i) * quantiles.stride();
        double* const a = to.row(i).data();
        for (std::size_t j = 0; j < to.columns(); ++j) a[j] = inverse_at(b[j], v[i], scales[i], c[i]);
      }
    }
  }

  void coefficients(MatrixView parameters, std::span<double> log_scales, std::span<double> offsets) const override {
    const auto fill_from = [&](std::size_t stride) {
      const double* p = parameters.data();
      const std::size_t n = parameters.rows();
      double* const v = log_scales.data();
      double* const c = offsets.data();
      for (std::size_t i = 0; i < n; ++i) v[i] = rule_.log_scale(p + i * stride);
      if (offsets.empty()) return;
      for (std::size_t i = 0; i < n; ++i) c[i] = rule_.offset(p + i * stride);
    };
    // A constant stride and raw pointers without bounds checks allow vectorisation.
    parameters.contiguous() ? fill_from(kP) : fill_from(parameters.stride());
  }

  void pull_back(MatrixView parameters, std::span<const double> d_log_scales, std::span<const double> d_offsets,
                 MutableMatrixView out) const override {
    through_jacobian(parameters, d_log_scales, d_offsets, out,
                     [](double d_v, double v_j, double d_c, double c_j) { return d_v * v_j + d_c * c_j; });
  }

  void pull_back_curvature(MatrixView parameters, std::span<const double> d2_log_scales,
                           std::span<const double> d2_offsets, MutableMatrixView out) const override {
    through_jacobian(parameters, d2_log_scales, d2_offsets, out, [](double d2_v, double v_j, double d2_c, double c_j) {
      return std::max(d2_v * v_j * v_j, d2_c * c_j * c_j);
    });
  }

 private:
  /// Set out(i, j) to combine(of the log scale of row i, dv/dp_j, of its offset or 0, dc/dp_j).
  template <class Combine>
  [[gnu::always_inline]] void through_jacobian(MatrixView parameters, std::span<const double> of_log_scales,
                                               std::span<const double> of_offsets, MutableMatrixView out,
                                               const Combine& combine) const {
    const double* const of_v = of_log_scales.data();
    const double* const of_c = of_offsets.empty() ? nullptr : of_offsets.data();
    for (std::size_t i = 0; i < parameters.rows(); ++i) {
      const auto jacobian = rule_.jacobian(parameters.data() + i * parameters.stride());
      const double of_offset = of_c == nullptr ? 0.0 : of_c[i];
      for (std::size_t j = 0; j < kP; ++j) {
        out(i, j) = combine(of_v[i], jacobian.d_log_scale[j], of_offset, jacobian.d_offset[j]);
      }
    }
  }

  [[gnu::always_inline]] double value_of(double a, const double* p) const {
    const double v = rule_.log_scale(p);
    if constexpr (Rule::kLink == Link::kLog) return std::log(a) - v;
    return a / bounded_exp(v) + rule_.offset(p);
  }

  [[gnu::always_inline]] double inverse_of(double b, const double* p) const {
    const double v = rule_.log_scale(p);
    return inverse_at(b, v, bounded_exp(v), rule_.offset(p));
  }

  [[gnu::always_inline]] static double inverse_at(double b, double v, double scale, double c) {
    if constexpr (Rule::kLink == Link::kLog) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (b == -kInfinity) return 0;
      if (b == kInfinity) return kInfinity;
      return bounded_exp(b + v) * (1 + kRoundingSlack * (1 + std::abs(b) + std::abs(v)));
    }
    return affine_inverse(b, scale, c);
  }

  [[no_unique_address]] Rule rule_;
};

}  // namespace widthwise::internal
