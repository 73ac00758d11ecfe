#include "train/engines/net/start.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "functions/row_function_checks.hpp"
#include "train/engines/first_outputs.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kMinBatches = 20;
constexpr std::size_t kSmallestBatch = 16;

/// Scale of the weights of the last layer, relative to weights that preserve the size of the inputs.
constexpr double kFirstOutputs = 0.01;

void set_centre_and_scale(MatrixView x, std::size_t column, double& centre, double& scale) {
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -minimum;
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const double value = x(i, column);
    if (!std::isfinite(value)) continue;
    minimum = std::min(minimum, value);
    maximum = std::max(maximum, value);
    ++count;
  }
  centre = count == 0 ? 0 : minimum;
  scale = 1;
  if (count == 0 || minimum == maximum) return;
  // In units of the largest absolute value, so that no square overflows.
  const double unit = std::max(std::abs(minimum), std::abs(maximum));
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    if (std::isfinite(x(i, column))) sum += x(i, column) / unit;
  }
  const double mean = sum / static_cast<double>(count);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const double deviation = x(i, column) / unit - mean;
    if (std::isfinite(x(i, column))) squares += deviation * deviation;
  }
  const double deviation = unit * std::sqrt(squares / static_cast<double>(count));
  centre = mean * unit;
  if (std::isnormal(deviation)) scale = deviation;
}

}  // namespace

void check_rows(const TrainingRows& rows, const char* what) {
  const std::string where = fmt::format("net trainer: {}: ", what);
  const std::size_t n = rows.residuals.residuals.size();
  const std::span<const double> weights = rows.residuals.weights;
  if (rows.x.rows() != n || (!weights.empty() && weights.size() != n)) {
    throw make_error(ErrorCode::kShapeMismatch, "{}{} residuals, but x has {} rows and there are {} weights", where, n,
                     rows.x.rows(), weights.size());
  }
  if (rows.x.columns() == 0) throw Error(ErrorCode::kInvalidArgument, where + "x has no columns");
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(rows.residuals.residuals[i])) {
      throw make_error(ErrorCode::kNotFinite, "{}residual {} is {}", where, i, rows.residuals.residuals[i]);
    }
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0 && std::isfinite(weights[i]))) {
      throw make_error(ErrorCode::kInvalidArgument, "{}weight {} is {}, expected a finite number >= 0", where, i,
                       weights[i]);
    }
  }
  if (counting_rows(rows.residuals).empty()) {
    throw Error(ErrorCode::kTooFewRows, where + "expected rows of positive weight, found none");
  }
}

std::vector<std::size_t> counting_rows(const ResidualRows& rows) {
  std::vector<std::size_t> counting;
  for (std::size_t i = 0; i < rows.residuals.size(); ++i) {
    if (rows.weights.empty() || rows.weights[i] > 0) counting.push_back(i);
  }
  return counting;
}

std::size_t batch_count(std::size_t n, const NetOptions& options) {
  const std::size_t size = std::min(options.batch_size, std::max(n / kMinBatches, kSmallestBatch));
  return std::max<std::size_t>(n / size, 1);
}

double rate_share(double done, const NetOptions& options) {
  return options.cosine ? (1 + std::cos(std::numbers::pi * std::min(done, 1.0))) / 2 : 1;
}

DenseNetArrays initial_net(const TrainingRows& rows, const Objective& objective, const NetOptions& options,
                           Random& random) {
  const std::size_t inputs = rows.x.columns();
  DenseNetArrays net;
  net.centre.resize(inputs);
  net.scale.resize(inputs);
  for (std::size_t k = 0; k < inputs; ++k) set_centre_and_scale(rows.x, k, net.centre[k], net.scale[k]);
  std::size_t before = inputs;
  for (std::size_t l = 0; l <= options.layers; ++l) {
    const bool last = l == options.layers;
    DenseLayer layer;
    layer.inputs = static_cast<std::uint32_t>(before);
    layer.outputs = static_cast<std::uint32_t>(last ? objective.parameter_count() : options.width);
    // ReLU removes half of the squares, so weights of variance 2 / inputs preserve the size.
    const double size = last ? kFirstOutputs / std::sqrt(before) : std::sqrt(2.0 / static_cast<double>(before));
    layer.weights.resize(before * layer.outputs);
    for (float& weight : layer.weights) weight = static_cast<float>(size * random.normal());
    layer.biases.assign(layer.outputs, 0);
    before = layer.outputs;
    net.layers.push_back(std::move(layer));
  }
  net.layers.back().biases = first_outputs(rows.residuals, objective);
  return net;
}

std::vector<float> standardised_rows(const DenseNetArrays& net, MatrixView x) {
  std::vector<float> out;
  out.reserve(x.rows() * x.columns());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t k = 0; k < x.columns(); ++k) {
      out.push_back(standardise(x(i, k), net.centre[k], net.scale[k], net.bound));
    }
  }
  return out;
}

}  // namespace widthwise::internal
