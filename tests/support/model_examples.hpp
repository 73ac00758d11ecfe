#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/track.hpp>

#include "support/numbers.hpp"

/// Models and rows of random numbers, for tests that do not depend on training.
namespace widthwise::examples {

inline float small_float(Random& random) { return static_cast<float>(0.5 * random.normal()); }

/// Complete trees.
inline std::shared_ptr<const RowFunction> trees(std::uint32_t inputs, std::uint32_t outputs, std::uint32_t trees,
                                                std::uint32_t depth, std::uint64_t seed) {
  Random random(seed);
  TreeArrays arrays;
  arrays.inputs = inputs;
  for (std::uint32_t i = 0; i < outputs; ++i) arrays.base.push_back(small_float(random));
  const std::uint32_t splits = (1U << depth) - 1;
  const std::uint32_t nodes = 2 * splits + 1;
  for (std::uint32_t tree = 0; tree < trees; ++tree) {
    const auto root = static_cast<std::uint32_t>(arrays.feature.size());
    arrays.roots.push_back(root);
    arrays.output_of.push_back(tree % outputs);
    for (std::uint32_t node = 0; node < nodes; ++node) {
      const bool split = node < splits;
      arrays.feature.push_back(split ? static_cast<std::int32_t>(random.below(inputs)) : -1);
      arrays.value.push_back(small_float(random));
      arrays.left.push_back(split ? root + 2 * node + 1 : 0);
      arrays.right.push_back(split ? root + 2 * node + 2 : 0);
      arrays.missing_left.push_back(split && random.below(2) == 1 ? 1 : 0);
    }
  }
  return std::make_shared<Trees>(std::move(arrays));
}

/// The trees with sets of categories in place of thresholds where a split is on one of these features, by their numbers
/// of categories.
inline std::shared_ptr<const Trees> with_sets(const RowFunction& thresholds, const std::vector<std::size_t>& counts,
                                              std::uint64_t seed) {
  Random random(seed);
  TreeArrays arrays = dynamic_cast<const Trees&>(thresholds).arrays();
  for (std::uint32_t node = 0; node < arrays.feature.size(); ++node) {
    const std::int32_t feature = arrays.feature[node];
    const std::size_t count = feature >= 0 && static_cast<std::size_t>(feature) < counts.size()
                                  ? counts[static_cast<std::size_t>(feature)]
                                  : 0;
    if (count == 0) continue;
    arrays.value[node] = 0;
    arrays.set_nodes.push_back(node);
    for (std::size_t first = 0; first < count; first += 32) {
      const std::size_t bits = std::min<std::size_t>(32, count - first);
      arrays.set_words.push_back(static_cast<std::uint32_t>(random.below(std::uint64_t{1} << bits)));
    }
    arrays.set_ends.push_back(static_cast<std::uint32_t>(arrays.set_words.size()));
  }
  return std::make_shared<const Trees>(std::move(arrays));
}

inline std::vector<double> numbers(std::size_t n, double centre, double scale, Random& random) {
  std::vector<double> values(n);
  for (double& value : values) value = centre + scale * random.normal();
  return values;
}

/// One hidden layer of 5, or layers of these sizes.
inline std::shared_ptr<const RowFunction> net(std::uint32_t inputs, std::uint32_t outputs, std::uint64_t seed,
                                              const std::vector<std::uint32_t>& hidden = {5}) {
  Random random(seed);
  DenseNetArrays arrays;
  arrays.centre = numbers(inputs, 0, 1, random);
  arrays.scale = std::vector<double>(inputs, 1.5);
  arrays.bound = 4;
  for (std::size_t i = 0; i <= hidden.size(); ++i) {
    const std::uint32_t from = i == 0 ? inputs : hidden[i - 1];
    const std::uint32_t to = i == hidden.size() ? outputs : hidden[i];
    DenseLayer layer{.inputs = from, .outputs = to, .weights = {}, .biases = {}};
    for (std::uint32_t j = 0; j < from * to; ++j) layer.weights.push_back(small_float(random));
    for (std::uint32_t j = 0; j < to; ++j) layer.biases.push_back(small_float(random));
    arrays.layers.push_back(std::move(layer));
  }
  return std::make_shared<DenseNet>(std::move(arrays));
}

inline std::vector<std::string> names(std::size_t n) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < n; ++i) result.push_back("x" + std::to_string(i));
  return result;
}

/// Rows with some missing values, outcomes and predictions.
struct Table {
  std::size_t columns = 0;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> predictions;
  std::vector<double> quantiles;  ///< two per row
  std::vector<std::int64_t> groups;

  Table(std::size_t rows, std::size_t features, std::uint64_t seed) : columns(features) {
    Random random(seed);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < features; ++j) {
        x.push_back(random.below(10) == 0 ? kNaN : random.normal());
      }
      y.push_back(3 * random.normal());
      predictions.push_back(random.normal());
      quantiles.insert(quantiles.end(), {predictions.back() - 1, predictions.back() + 2});
      groups.push_back(static_cast<std::int64_t>(random.below(3)));
    }
  }

  [[nodiscard]] std::size_t rows() const { return y.size(); }
  [[nodiscard]] MatrixView matrix() const { return {x.data(), rows(), columns}; }
  [[nodiscard]] Rows for_model(const Model& model) const {
    Rows rows{.x = matrix()};
    if (model.needs_predictions()) rows.predictions = model.predicts_quantiles() ? quantiles : predictions;
    return rows;
  }
};

/// The predictions of a model for rows.
struct Answers {
  std::vector<double> predictions;
  std::vector<double> lower;
  std::vector<double> upper;

  friend bool operator==(const Answers& a, const Answers& b) = default;
};

inline Answers answers(const Model& model, const Rows& rows, const std::vector<Level>& levels) {
  const std::size_t n = rows.x.rows();
  const std::size_t k = levels.size();
  Answers result{std::vector<double>(n), std::vector<double>(n * k), std::vector<double>(n * k)};
  model.intervals(rows, levels, result.predictions, {result.lower.data(), n, k}, {result.upper.data(), n, k});
  return result;
}

/// The model with a calibration of these rows.
inline Model calibrated(const Model& model, const Table& table, const Calibration::Options& options = {}) {
  Calibration calibration(options);
  model.calibrate(calibration, table.for_model(model), table.y, 0);
  return model.with_calibration(std::move(calibration));
}

/// Read arbitrary bytes as a model. Return false if they are rejected with kBadData. Otherwise the model must predict
/// and survive a round trip through bytes; std::logic_error if not.
inline bool check_model_bytes(std::span<const std::byte> bytes) {
  std::optional<Model> read;
  try {
    read.emplace(deserialise(bytes));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kBadData) return false;
    throw std::logic_error(std::string("refused with another code: ") + error.what());
  }
  const Model& model = *read;
  const std::size_t features = model.parts().features.size();
  constexpr double kValues[] = {0, kNaN, -1.5, 1e300, 0.25, kInfinity};
  constexpr std::size_t kRows = std::size(kValues);
  std::vector<double> x;
  for (std::size_t i = 0; i < kRows * features; ++i) x.push_back(kValues[(i + i / features) % kRows]);
  const std::vector<std::int64_t> known = model.parts().calibration.groups();
  std::vector<std::int64_t> groups(kRows, known.empty() ? 0 : known.back());
  groups[0] = 7;
  const bool grouped = have_groups(model.parts().calibration.keys());
  Rows rows{.x = {x.data(), kRows, features}, .groups = grouped ? groups : std::span<const std::int64_t>()};
  std::vector<double> given;  // one per row, two quantiles per row, or one per row and fold
  const std::size_t prediction_columns = model.prediction_columns().size();
  for (std::size_t i = 0; i < kRows * prediction_columns; ++i) given.push_back(kValues[i / prediction_columns]);
  rows.predictions = given;
  constexpr double kWeights[] = {1, 1e-300, 2, 1e300, 0.5, kInfinity};
  if (model.scheme().reads(Role::kWeight, Step::kPredict)) rows.weights = kWeights;
  const Answers found = answers(model, rows, model.parts().levels);
  for (std::size_t i = 0; i < found.lower.size(); ++i) {
    if (!(found.lower[i] <= found.upper[i])) throw std::logic_error("an interval that is none");
  }
  std::vector<double> p_values(kRows);
  model.p_values(rows, kValues, p_values);
  if (!grouped && prediction_columns <= 1) {
    std::optional<RowPrediction> prediction;
    if (model.needs_predictions()) prediction = kValues[2];
    const auto weight = model.scheme().reads(Role::kWeight, Step::kPredict) ? std::optional(kWeights[2]) : std::nullopt;
    const Interval alone = model.interval(rows.x.row(2), model.parts().levels[0], prediction, std::nullopt, weight);
    if (alone.upper < alone.lower) throw std::logic_error("an interval that is none");
  }
  if (const std::optional<OnlineCalibration>& tracked = model.parts().online; tracked.has_value()) {
    OnlineCalibration online = *tracked;
    const std::size_t k = online.levels().size();
    std::vector<double> outcomes(std::begin(kValues), std::end(kValues));
    outcomes.back() = 1;  // an infinite outcome is an error, and so is one that the model excludes
    const OutcomeSpace& space = model.parts().outcome_space;
    for (double& y : outcomes) y = space.inside({y, y}).lower;
    std::vector<double> predictions(kRows);
    std::vector<double> lower(kRows * k);
    std::vector<double> upper(kRows * k);
    Tracker(model, online)
        .track({.x = rows.x, .predictions = rows.predictions}, outcomes, predictions, {lower.data(), kRows, k},
               {upper.data(), kRows, k});
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (!(lower[i] <= upper[i])) throw std::logic_error("an interval that is none");
    }
  }
  const std::vector<std::byte> again = serialise(model);
  if (serialise(deserialise(again)) != again) throw std::logic_error("not read as it was written");
  return true;
}

}  // namespace widthwise::examples
