#pragma once

#include <memory>

#include <widthwise/transform.hpp>

/// The factory functions of make_transform, one per transform.
namespace widthwise::internal {

std::shared_ptr<const Transform> make_identity(const TransformOptions& options);
std::shared_ptr<const Transform> make_erc(const TransformOptions& options);
std::shared_ptr<const Transform> make_linear(const TransformOptions& options);
std::shared_ptr<const Transform> make_exp(const TransformOptions& options);
std::shared_ptr<const Transform> make_sigma(const TransformOptions& options);
std::shared_ptr<const Transform> make_density(const TransformOptions& options);
std::shared_ptr<const Transform> make_affine(const TransformOptions& options);
std::shared_ptr<const Transform> make_spline(const TransformOptions& options);
std::shared_ptr<const Transform> make_shortest(const TransformOptions& options);
std::shared_ptr<const Transform> make_mixture(const TransformOptions& options);

}  // namespace widthwise::internal
