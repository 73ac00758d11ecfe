#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_function.hpp>

#include "support/allocation_counter.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

/// A net of the given numbers of units, inputs first, that keeps numbers near 1 from layer to layer.
DenseNetArrays net_of(const std::vector<std::uint32_t>& units, std::uint64_t seed = 1) {
  Random random(seed);
  DenseNetArrays arrays;
  for (std::uint32_t k = 0; k < units.front(); ++k) {
    arrays.centre.push_back(random.normal());
    arrays.scale.push_back(0.5 + random.uniform());
  }
  for (std::size_t l = 1; l < units.size(); ++l) {
    DenseLayer layer{units[l - 1], units[l], {}, {}};
    const double size = std::sqrt(2.0 / units[l - 1]);
    for (std::size_t i = 0; i < std::size_t{layer.inputs} * layer.outputs; ++i) {
      layer.weights.push_back(static_cast<float>(size * random.normal()));
    }
    for (std::size_t i = 0; i < layer.outputs; ++i) layer.biases.push_back(static_cast<float>(0.1 * random.normal()));
    arrays.layers.push_back(std::move(layer));
  }
  return arrays;
}

/// The definition, in doubles.
std::vector<double> reference(const DenseNetArrays& arrays, std::span<const double> x) {
  std::vector<double> values(x.begin(), x.end());
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = (values[k] - arrays.centre[k]) / arrays.scale[k];
    values[k] = std::isnan(values[k]) ? 0 : std::clamp(values[k], -arrays.bound, arrays.bound);
  }
  for (std::size_t l = 0; l < arrays.layers.size(); ++l) {
    const DenseLayer& layer = arrays.layers[l];
    std::vector<double> next(layer.outputs);
    for (std::size_t j = 0; j < layer.outputs; ++j) {
      next[j] = static_cast<double>(layer.biases[j]);
      for (std::size_t k = 0; k < layer.inputs; ++k) {
        next[j] += static_cast<double>(layer.weights[j * layer.inputs + k]) * values[k];
      }
      if (l + 1 < arrays.layers.size()) next[j] = std::max(next[j], 0.0);
    }
    values = std::move(next);
  }
  return values;
}

std::vector<double> random_rows(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> rows(count);
  for (double& number : rows) number = 2 * random.normal();
  return rows;
}

std::vector<double> evaluate(const DenseNet& net, MatrixView x) {
  std::vector<double> out(x.rows() * net.outputs());
  net.evaluate(x, {out.data(), x.rows(), net.outputs()});
  return out;
}

const std::vector<std::vector<std::uint32_t>>& shapes() {
  static const std::vector<std::vector<std::uint32_t>> kShapes = {
      {1, 1},          {3, 2},         {5, 100, 100, 100, 100, 100, 2}, {40, 16, 1}, {7, 15, 17, 31, 33, 3}, {300, 20},
      {2, 2000, 4, 1}, {1500, 10, 40},
  };
  return kShapes;
}

TEST(DenseNet, AgreesWithAPlainLoopInDoubles) {
  for (const auto& units : shapes()) {
    const DenseNetArrays arrays = net_of(units);
    const DenseNet net(arrays);
    ASSERT_EQ(net.inputs(), units.front());
    ASSERT_EQ(net.outputs(), units.back());
    const std::size_t n = 50;
    const std::vector<double> rows = random_rows(n * net.inputs(), 2);
    const MatrixView x(rows.data(), n, net.inputs());
    const std::vector<double> out = evaluate(net, x);
    for (std::size_t i = 0; i < n; ++i) {
      const std::vector<double> expected = reference(arrays, x.row(i));
      for (std::size_t j = 0; j < net.outputs(); ++j) {
        EXPECT_NEAR(out[i * net.outputs() + j], expected[j], 1e-5 * (1 + std::abs(expected[j])));
      }
    }
  }
}

TEST(DenseNet, GivesARowTheSameBitsInEveryBatch) {
  for (const auto& units : shapes()) {
    const DenseNet net(net_of(units));
    const std::size_t n = 70;
    std::vector<double> rows = random_rows(n * net.inputs(), 3);
    rows[0] = kNaN;
    const MatrixView x(rows.data(), n, net.inputs());
    const std::vector<double> together = evaluate(net, x);
    for (const std::size_t block : {1U, 2U, 3U, 8U, 31U}) {
      for (std::size_t first = 0; first < n; first += block) {
        const MatrixView part = x.slice(first, std::min(block, n - first));
        const std::vector<double> apart = evaluate(net, part);
        for (std::size_t i = 0; i < apart.size(); ++i) {
          ASSERT_EQ(std::bit_cast<std::uint64_t>(apart[i]),
                    std::bit_cast<std::uint64_t>(together[first * net.outputs() + i]));
        }
      }
    }
  }
}

TEST(DenseNet, ReadsAndWritesOnlyTheRowsOfStridedViews) {
  const DenseNet net(net_of({4, 20, 2}));
  const std::size_t n = 9;
  const std::vector<double> rows = random_rows(n * 4, 4);
  std::vector<double> wide(n * 7, kNaN);
  for (std::size_t i = 0; i < n; ++i) std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, &wide[7 * i]);
  const std::vector<double> expected = evaluate(net, {rows.data(), n, 4});
  std::vector<double> out(n * 5, -77);
  net.evaluate({wide.data(), n, 4, 7}, {out.data(), n, 2, 5});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(out[5 * i + j], j < 2 ? expected[2 * i + j] : -77);
  }
}

TEST(DenseNet, TakesAMissingValueForTheCentre) {
  const DenseNetArrays arrays = net_of({3, 30, 1});
  const DenseNet net(arrays);
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<double> missing = random_rows(3, 5 + k);
    std::vector<double> central = missing;
    missing[k] = kNaN;
    central[k] = arrays.centre[k];
    EXPECT_EQ(evaluate(net, {missing.data(), 1, 3}), evaluate(net, {central.data(), 1, 3}));
  }
}

TEST(DenseNet, CutsInfinitiesAndFarOutValuesToTheBound) {
  DenseNetArrays arrays = net_of({2, 30, 1});
  arrays.centre = {1, -2};
  arrays.scale = {2, 4};
  arrays.bound = 8;
  const DenseNet net(arrays);
  for (const double sign : {-1.0, 1.0}) {
    const std::vector<double> edge = {1 + sign * 16, 0.5};
    const std::vector<double> expected = evaluate(net, {edge.data(), 1, 2});
    for (const double far : {17.5, 1e6, 1e300, std::numeric_limits<double>::max(), kInfinity}) {
      const std::vector<double> row = {sign * far, 0.5};
      EXPECT_EQ(evaluate(net, {row.data(), 1, 2}), expected) << sign * far;
    }
  }
}

TEST(DenseNet, HasFiniteOutputsWhateverTheScaleOfItsInputs) {
  DenseNetArrays arrays = net_of({2, 5, 1});
  arrays.scale = {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()};
  arrays.centre = {-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  const DenseNet net(arrays);
  for (const double value : {-kInfinity, -1e308, -1.0, 0.0, 1e-320, 1e308, kInfinity, kNaN}) {
    const std::vector<double> row = {value, value};
    EXPECT_TRUE(std::isfinite(evaluate(net, {row.data(), 1, 2})[0])) << value;
  }
}

TEST(DenseNet, EvaluatesNoRows) {
  const DenseNet net(net_of({3, 4, 2}));
  net.evaluate({nullptr, 0, 3}, {nullptr, 0, 2});
}

TEST(DenseNet, DoesNotAllocateForLayersOfUpTo1024Units) {
  if (!counts_allocations()) GTEST_SKIP() << "allocations are not counted in this build";
  const DenseNet net(net_of({1024, 1024, 2}));
  const std::vector<double> rows = random_rows(3 * 1024, 6);
  std::vector<double> out(6);
  const std::size_t before = allocation_count();
  net.evaluate({rows.data(), 3, 1024}, {out.data(), 3, 2});
  EXPECT_EQ(allocation_count(), before);
}

TEST(DenseNet, RefusesMatricesOfOtherShapes) {
  const DenseNet net(net_of({3, 4, 2}));
  std::vector<double> numbers(100);
  const auto try_shapes = [&](std::size_t n, std::size_t inputs, std::size_t m, std::size_t outputs) {
    expect_error(ErrorCode::kShapeMismatch, "the net has 3 inputs and 2 outputs",
                 [&] { net.evaluate({numbers.data(), n, inputs}, {numbers.data() + 50, m, outputs}); });
  };
  try_shapes(5, 2, 5, 2);
  try_shapes(5, 3, 5, 3);
  try_shapes(5, 3, 4, 2);
  try_shapes(0, 4, 0, 2);
}

TEST(DenseNet, RefusesArraysThatAreNotANet) {
  const auto refuse = [](const std::string& part, const std::function<void(DenseNetArrays&)>& spoil) {
    DenseNetArrays arrays = net_of({3, 4, 5, 2});
    spoil(arrays);
    expect_error(ErrorCode::kBadData, part, [&] { const DenseNet net(arrays); });
  };
  refuse("inputs: expected 1 to", [](auto& a) { a.centre.clear(); });
  refuse("inputs: expected 1 to", [](auto& a) { a.centre.resize((1U << 20U) + 1); });
  refuse("expected 3 scales", [](auto& a) { a.scale.pop_back(); });
  refuse("centre 1 is nan", [](auto& a) { a.centre[1] = kNaN; });
  refuse("centre 2 is inf", [](auto& a) { a.centre[2] = kInfinity; });
  refuse("scale 0 is nan", [](auto& a) { a.scale[0] = kNaN; });
  refuse("scale 0 is inf", [](auto& a) { a.scale[0] = kInfinity; });
  refuse("scale 0 is 0", [](auto& a) { a.scale[0] = 0; });
  refuse("scale 0 is -1", [](auto& a) { a.scale[0] = -1; });
  for (const double bound : {0.0, -1.0, kNaN, kInfinity, 1e300}) {
    refuse("the bound is", [bound](auto& a) { a.bound = bound; });
  }
  refuse("layers, found 0", [](auto& a) { a.layers.clear(); });
  refuse("layers, found 1001", [](auto& a) { a.layers.resize(1001); });
  for (std::size_t l = 0; l < 3; ++l) {
    const std::string layer = "layer " + std::to_string(l);
    refuse("inputs of " + layer, [l](auto& a) { ++a.layers[l].inputs; });
    refuse(layer, [l](auto& a) { a.layers[l].outputs = 0; });
    refuse(layer, [l](auto& a) { a.layers[l].outputs = std::numeric_limits<std::uint32_t>::max(); });
    refuse("weights of " + layer, [l](auto& a) { ++a.layers[l].outputs; });
    refuse("weights of " + layer, [l](auto& a) { a.layers[l].weights.pop_back(); });
    refuse("biases of " + layer, [l](auto& a) { a.layers[l].biases.push_back(0); });
    refuse(layer + ": weight 1 is nan", [l](auto& a) { a.layers[l].weights[1] = std::nanf(""); });
    refuse(layer + ": bias 1 is inf", [l](auto& a) { a.layers[l].biases[1] = std::numeric_limits<float>::infinity(); });
  }
}

}  // namespace
}  // namespace widthwise
