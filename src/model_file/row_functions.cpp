#include "model_file/row_functions.hpp"

#include <limits>
#include <utility>

#include <widthwise/dense_net.hpp>
#include <widthwise/error.hpp>
#include <widthwise/knn.hpp>
#include <widthwise/trees.hpp>

#include "message.hpp"
#include "model_file/texts.hpp"
#include "text.hpp"

namespace widthwise::internal {
namespace {

// Stored in files, so for ever.
constexpr const char* kNone = "none";
constexpr const char* kTrees = "forest";
constexpr const char* kNet = "net";
constexpr const char* kKnn = "neighbours";

std::uint32_t to_32_bits(std::uint64_t count, const std::string& what) {
  if (count <= std::numeric_limits<std::uint32_t>::max()) return static_cast<std::uint32_t>(count);
  throw make_error(ErrorCode::kBadData, "{} exceeds 32 bits: {}", what, count);
}

std::uint32_t take_count(SafetensorsReader& reader, const std::string& name) {
  return to_32_bits(count_of(reader.take_text(name), name), name);
}

void put_trees(SafetensorsWriter& writer, const std::string& name, const TreeArrays& arrays) {
  writer.put_text(name, kTrees);
  writer.put_text(name + ".inputs", std::to_string(arrays.inputs));
  writer.put(name + ".base", arrays.base);
  writer.put(name + ".roots", arrays.roots);
  writer.put(name + ".output_of", arrays.output_of);
  writer.put(name + ".feature", arrays.feature);
  writer.put(name + ".value", arrays.value);
  writer.put(name + ".left", arrays.left);
  writer.put(name + ".right", arrays.right);
  writer.put(name + ".missing_left", arrays.missing_left);
}

std::shared_ptr<const RowFunction> take_trees(SafetensorsReader& reader, const std::string& name) {
  TreeArrays arrays;
  arrays.inputs = take_count(reader, name + ".inputs");
  arrays.base = reader.take<float>(name + ".base");
  arrays.roots = reader.take<std::uint32_t>(name + ".roots");
  arrays.output_of = reader.take<std::uint32_t>(name + ".output_of");
  arrays.feature = reader.take<std::int32_t>(name + ".feature");
  arrays.value = reader.take<float>(name + ".value");
  arrays.left = reader.take<std::uint32_t>(name + ".left");
  arrays.right = reader.take<std::uint32_t>(name + ".right");
  arrays.missing_left = reader.take<std::uint8_t>(name + ".missing_left");
  return std::make_shared<Trees>(std::move(arrays));
}

std::string layer_name(const std::string& name, std::uint64_t layer) { return fmt::format("{}.{}", name, layer); }

void put_net(SafetensorsWriter& writer, const std::string& name, const DenseNetArrays& arrays) {
  writer.put_text(name, kNet);
  writer.put_text(name + ".bound", text_of(arrays.bound));
  writer.put_text(name + ".layers", std::to_string(arrays.layers.size()));
  writer.put(name + ".centre", arrays.centre);
  writer.put(name + ".scale", arrays.scale);
  for (std::size_t i = 0; i < arrays.layers.size(); ++i) {
    const DenseLayer& layer = arrays.layers[i];
    writer.put(layer_name(name, i) + ".weights", layer.weights, {layer.outputs, layer.inputs});
    writer.put(layer_name(name, i) + ".biases", layer.biases);
  }
}

std::shared_ptr<const RowFunction> take_net(SafetensorsReader& reader, const std::string& name) {
  DenseNetArrays arrays;
  arrays.bound = number_of(reader.take_text(name + ".bound"), name + ".bound");
  arrays.centre = reader.take<double>(name + ".centre");
  arrays.scale = reader.take<double>(name + ".scale");
  // However large the number is, the first layer that is missing ends the loop.
  const std::uint64_t layers = count_of(reader.take_text(name + ".layers"), name + ".layers");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const std::string where = layer_name(name, i);
    auto weights = reader.take<float>(where + ".weights", 2);
    arrays.layers.push_back({.inputs = to_32_bits(weights.shape[1], where),
                             .outputs = to_32_bits(weights.shape[0], where),
                             .weights = std::move(weights.values),
                             .biases = reader.take<float>(where + ".biases")});
  }
  return std::make_shared<DenseNet>(std::move(arrays));
}

void put_knn(SafetensorsWriter& writer, const std::string& name, const KnnArrays& arrays) {
  writer.put_text(name, kKnn);
  writer.put_text(name + ".neighbours", std::to_string(arrays.neighbours));
  writer.put(name + ".centre", arrays.centre);
  writer.put(name + ".scale", arrays.scale);
  writer.put(name + ".points", arrays.points, {arrays.values.size(), arrays.centre.size()});
  writer.put(name + ".values", arrays.values);
}

std::shared_ptr<const RowFunction> take_knn(SafetensorsReader& reader, const std::string& name) {
  KnnArrays arrays;
  arrays.neighbours = take_count(reader, name + ".neighbours");
  arrays.centre = reader.take<double>(name + ".centre");
  arrays.scale = reader.take<double>(name + ".scale");
  auto points = reader.take<double>(name + ".points", 2);
  arrays.values = reader.take<double>(name + ".values");
  if (points.shape != TensorShape{arrays.values.size(), arrays.centre.size()}) {
    throw Error(ErrorCode::kBadData, "expected points with one row per value and one column per input");
  }
  arrays.points = std::move(points.values);
  return std::make_shared<Knn>(std::move(arrays));
}

}  // namespace

void put_function(SafetensorsWriter& writer, const std::string& name, const RowFunction* function) {
  if (function == nullptr) {
    writer.put_text(name, kNone);
  } else if (const auto* trees = dynamic_cast<const Trees*>(function)) {
    put_trees(writer, name, trees->arrays());
  } else if (const auto* net = dynamic_cast<const DenseNet*>(function)) {
    put_net(writer, name, net->arrays());
  } else if (const auto* neighbours = dynamic_cast<const Knn*>(function)) {
    put_knn(writer, name, neighbours->arrays());
  } else {
    throw make_error(ErrorCode::kInvalidArgument,
                     "the {} has a type that model files do not support; expected trees, a net or nearest neighbours",
                     name);
  }
}

std::shared_ptr<const RowFunction> take_function(SafetensorsReader& reader, const std::string& name) {
  const std::string kind = reader.take_text(name);
  if (kind == kNone) return nullptr;
  try {
    if (kind == kTrees) return take_trees(reader, name);
    if (kind == kNet) return take_net(reader, name);
    if (kind == kKnn) return take_knn(reader, name);
  } catch (const Error& error) {
    throw make_error(ErrorCode::kBadData, "{}: {}", name, error.what());
  }
  throw make_error(ErrorCode::kBadData, "{}: expected none, forest, net or neighbours, found '{}'", name, kind);
}

}  // namespace widthwise::internal
