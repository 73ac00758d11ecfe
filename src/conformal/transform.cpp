#include <widthwise/transform.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <widthwise/error.hpp>
#include "base/root_finding.hpp"

#include "base/message.hpp"
#include "conformal/transform/named.hpp"

namespace widthwise {

double Transform::inverse(double b, std::span<const double> p) const {
  return invert_increasing(ScalarFunction([&](double a) { return value(a, p); }), b, 1.0);
}

double Transform::inverse_down(double b, std::span<const double> p) const {
  const double start = std::min(inverse(b, p), std::numeric_limits<double>::max());
  const double unit = takes_negative_scores() ? 1 : 0;
  double a = start;
  // The first step exceeds the rounding errors of value(), which need not be monotone in the last places.
  double factor = 32 * std::numeric_limits<double>::epsilon();
  do {
    a = start - factor * std::max(std::abs(start), unit);
    factor *= 2;
  } while (a > -std::numeric_limits<double>::max() && (unit > 0 || a > 0) && value(a, p) >= b);
  return unit > 0 ? a : std::max(a, 0.0);
}

double Transform::inverse_d_value(double b, std::span<const double> p) const { return 1 / d_score(inverse(b, p), p); }

void Transform::inverse_d_parameters(double b, std::span<const double> p, std::span<double> out) const {
  const double a = inverse(b, p);
  d_parameters(a, p, out);
  const double slope = d_score(a, p);
  for (double& d : out) d = -d / slope;
}

void Transform::values(std::span<const double> scores, MatrixView parameters, std::span<double> out) const {
  for (std::size_t i = 0; i < scores.size(); ++i) out[i] = value(scores[i], parameters.row(i));
}

void Transform::inverses(MatrixView quantiles, MatrixView parameters, MutableMatrixView out) const {
  for (std::size_t i = 0; i < out.rows(); ++i) {
    for (std::size_t j = 0; j < out.columns(); ++j) out(i, j) = inverse(quantiles(i, j), parameters.row(i));
  }
}

void Transform::row_inverses(std::span<const double> levels, std::span<const double> p, const RowInverses& out) const {
  for (std::size_t j = 0; j < levels.size(); ++j) {
    out.scores[j] = inverse(levels[j], p);
    if (out.d_scores.empty()) continue;
    out.d_scores[j] = d_score(out.scores[j], p);
    d_parameters(out.scores[j], p, out.d_parameters.row(j));
  }
}

namespace {

struct Entry {
  std::string_view name;
  std::shared_ptr<const Transform> (*make)(const TransformOptions&);
};

constexpr std::array kTransforms{
    Entry{"identity", internal::make_identity}, Entry{"erc", internal::make_erc},
    Entry{"linear", internal::make_linear},     Entry{"exp", internal::make_exp},
    Entry{"sigma", internal::make_sigma},       Entry{"density", internal::make_density},
    Entry{"affine", internal::make_affine},     Entry{"spline", internal::make_spline},
    Entry{"shortest", internal::make_shortest}, Entry{"mixture", internal::make_mixture},
};

}  // namespace

std::shared_ptr<const Transform> make_transform(std::string_view name, const TransformOptions& options) {
  for (const Entry& entry : kTransforms) {
    if (entry.name == name) return entry.make(options);
  }
  std::string known;
  for (const Entry& entry : kTransforms) known += (known.empty() ? "" : ", ") + std::string(entry.name);
  throw internal::make_error(ErrorCode::kInvalidArgument, "unknown transform '{}': expected one of {}", name, known);
}

std::vector<std::string_view> transform_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kTransforms) names.push_back(entry.name);
  return names;
}

}  // namespace widthwise
