#include <widthwise/row_function.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "base/vector_math.hpp"
#include "functions/row_function_checks.hpp"

namespace widthwise {
namespace {

constexpr std::size_t kMaxLayers = 1000;
constexpr std::size_t kMaxUnits = std::size_t{1} << 20;
constexpr double kMaxBound = 1e6;

/// Columns of weights are padded to a multiple of this if that is cheap, so that vector loops have no remainder.
constexpr std::size_t kPadding = 16;

/// Number of inputs added in one pass over the outputs.
constexpr std::size_t kAtOnce = 8;

/// Maximum width of layers that are evaluated without allocation.
constexpr std::size_t kOnStack = 1024;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kBadData, "DenseNet: " + what); }

template <class Number>
void check_finite(std::span<const Number> numbers, const std::string& what) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i])) {
      refuse(fmt::format("{} {} is {}", what, i, static_cast<double>(numbers[i])));
    }
  }
}

void check_units(std::size_t units, const std::string& what) {
  if (units == 0 || units > kMaxUnits) {
    refuse(fmt::format("{}: expected 1 to {}, found {}", what, kMaxUnits, units));
  }
}

void check_size(std::size_t size, std::size_t expected, const std::string& what) {
  if (size != expected) {
    refuse(fmt::format("expected {} {}, found {}", expected, what, size));
  }
}

void check_arrays(const DenseNetArrays& arrays) {
  check_units(arrays.centre.size(), "inputs");
  check_size(arrays.scale.size(), arrays.centre.size(), "scales, one for each centre");
  check_finite(std::span(arrays.centre), "centre");
  check_finite(std::span(arrays.scale), "scale");
  for (std::size_t i = 0; i < arrays.scale.size(); ++i) {
    if (!(arrays.scale[i] > 0)) {
      refuse(fmt::format("scale {} is {}; expected a positive number", i, arrays.scale[i]));
    }
  }
  if (!(arrays.bound > 0 && arrays.bound <= kMaxBound)) {
    refuse(fmt::format("the bound is {}; expected a number in (0, {}]", arrays.bound, kMaxBound));
  }
  if (arrays.layers.empty() || arrays.layers.size() > kMaxLayers) {
    refuse(fmt::format("expected 1 to {} layers, found {}", kMaxLayers, arrays.layers.size()));
  }
  std::size_t inputs = arrays.centre.size();
  for (std::size_t i = 0; i < arrays.layers.size(); ++i) {
    const DenseLayer& layer = arrays.layers[i];
    const std::string name = fmt::format("layer {}: ", i);
    check_size(layer.inputs, inputs, fmt::format("inputs of layer {}, as many as outputs of the layer before", i));
    check_units(layer.outputs, name + "outputs");
    // Both factors are at most kMaxUnits, so the product does not overflow.
    check_size(layer.weights.size(), std::size_t{layer.inputs} * layer.outputs, fmt::format("weights of layer {}", i));
    check_size(layer.biases.size(), layer.outputs, fmt::format("biases of layer {}", i));
    check_finite(std::span(layer.weights), name + "weight");
    check_finite(std::span(layer.biases), name + "bias");
    inputs = layer.outputs;
  }
}

/// Padded length of a column of n weights, less than 2 n.
std::size_t padded(std::size_t n) { return n < kPadding ? n : (n + kPadding - 1) / kPadding * kPadding; }

/// sums += the columns `which` of `weights`, times `factors`; `count` is a multiple of kAtOnce. Each output adds its
/// terms in order and without fused multiply-add, so that the bits do not depend on the machine.
WIDTHWISE_VECTORISED void add_columns(const float* weights, std::size_t stride, const std::uint32_t* which,
                                      const float* factors, std::size_t count, float* __restrict sums) {
  for (std::size_t i = 0; i < count; i += kAtOnce) {
    const float* column[kAtOnce];
    float factor[kAtOnce];
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      column[k] = weights + which[i + k] * stride;
      factor[k] = factors[i + k];
    }
    for (std::size_t j = 0; j < stride; ++j) {
      float sum = sums[j];
      for (std::size_t k = 0; k < kAtOnce; ++k) sum += factor[k] * column[k][j];
      sums[j] = sum;
    }
  }
}

/// The nonzero inputs of a layer. After ReLU about half of the inputs are 0, and their weights need not be read.
class ActiveInputs {
 public:
  ActiveInputs(std::uint32_t* which, float* factors) : which_(which), factors_(factors) {}

  void clear() { count_ = 0; }

  /// Branch-free, because active units are not predictable.
  void add(std::uint32_t input, float value, bool on) {
    which_[count_] = input;
    factors_[count_] = value;
    count_ += static_cast<std::size_t>(on);
  }

  /// Pad with zeros to a multiple of kAtOnce; return the padded number.
  std::size_t close() {
    while (count_ % kAtOnce != 0) {
      which_[count_] = 0;
      factors_[count_++] = 0;
    }
    return count_;
  }

 private:
  std::uint32_t* which_;
  float* factors_;
  std::size_t count_ = 0;
};

}  // namespace

DenseNet::DenseNet(DenseNetArrays arrays) : arrays_(std::move(arrays)), widest_(arrays_.centre.size()) {
  check_arrays(arrays_);
  columns_.reserve(arrays_.layers.size());
  for (const DenseLayer& layer : arrays_.layers) {
    const std::size_t stride = padded(layer.outputs);
    std::vector<float>& columns = columns_.emplace_back(stride * layer.inputs);
    for (std::size_t j = 0; j < layer.outputs; ++j) {
      for (std::size_t k = 0; k < layer.inputs; ++k) columns[k * stride + j] = layer.weights[j * layer.inputs + k];
    }
    widest_ = std::max(widest_, stride);
  }
}

std::size_t DenseNet::inputs() const { return arrays_.centre.size(); }

std::size_t DenseNet::outputs() const { return arrays_.layers.back().outputs; }

// One row at a time, so that no row changes the bits of another. The weights of a layer are then read once per row, but
// the second-level cache delivers them about as fast as they are used, and inputs that ReLU made 0 are skipped.
void DenseNet::evaluate(MatrixView x, MutableMatrixView out) const {
  if (x.rows() != out.rows() || x.columns() != inputs() || out.columns() != outputs()) {
    throw internal::make_error(
        ErrorCode::kShapeMismatch,
        "DenseNet::evaluate: the net has {} inputs and {} outputs, but x is {} x {} and out is {} x {}", inputs(),
        outputs(), x.rows(), x.columns(), out.rows(), out.columns());
  }
  const std::size_t room = widest_ + kAtOnce;
  std::array<float, 2 * (kOnStack + kAtOnce)> small_numbers;
  std::array<std::uint32_t, kOnStack + kAtOnce> small_which;
  std::vector<float> large_numbers;
  std::vector<std::uint32_t> large_which;
  float* factors = small_numbers.data();
  std::uint32_t* which = small_which.data();
  if (widest_ > kOnStack) {
    large_numbers.resize(2 * room);
    large_which.resize(room);
    factors = large_numbers.data();
    which = large_which.data();
  }
  float* const sums = factors + room;
  ActiveInputs active(which, factors);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    active.clear();
    for (std::size_t k = 0; k < x.columns(); ++k) {
      const float value = internal::standardise(x(i, k), arrays_.centre[k], arrays_.scale[k], arrays_.bound);
      active.add(static_cast<std::uint32_t>(k), value, value != 0);
    }
    for (std::size_t l = 0; l < arrays_.layers.size(); ++l) {
      const DenseLayer& layer = arrays_.layers[l];
      const std::size_t stride = padded(layer.outputs);
      std::fill(std::copy(layer.biases.begin(), layer.biases.end(), sums), sums + stride, 0.0F);
      add_columns(columns_[l].data(), stride, which, factors, active.close(), sums);
      if (l + 1 == arrays_.layers.size()) break;
      active.clear();
      for (std::size_t j = 0; j < layer.outputs; ++j) {
        active.add(static_cast<std::uint32_t>(j), sums[j], sums[j] > 0);
      }
    }
    std::copy_n(sums, out.columns(), out.row(i).begin());
  }
}

RowFunctionDescription DenseNet::describe() const {
  const std::uint64_t layers = arrays_.layers.size();
  std::uint64_t weights = 0;
  for (const DenseLayer& layer : arrays_.layers) weights += layer.weights.size() + layer.biases.size();
  RowFunctionDescription description{.kind = "net",
                                     .summary = "dense network with " + internal::count_of(layers, "layer") + " and " +
                                                internal::count_of(weights, "weight"),
                                     .figures = {{"layers", layers}, {"weights", weights}},
                                     .numbers = {{"bound", arrays_.bound}, {"layers", layers}}};
  description.add("centre", arrays_.centre);
  description.add("scale", arrays_.scale);
  for (std::size_t i = 0; i < layers; ++i) {
    const DenseLayer& layer = arrays_.layers[i];
    description.add(std::to_string(i) + ".weights", layer.weights, {layer.outputs, layer.inputs});
    description.add(std::to_string(i) + ".biases", layer.biases);
  }
  return description;
}

}  // namespace widthwise
