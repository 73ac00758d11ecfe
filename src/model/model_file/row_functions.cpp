#include "model/model_file/row_functions.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>

#include <widthwise/error.hpp>
#include <widthwise/row_function.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "model/model_file/texts.hpp"

namespace widthwise::internal {
namespace {

constexpr const char* kNone = "none";

std::uint32_t to_32_bits(std::uint64_t count, const std::string& what) {
  if (count <= std::numeric_limits<std::uint32_t>::max()) return static_cast<std::uint32_t>(count);
  throw make_error(ErrorCode::kBadData, "{} exceeds 32 bits: {}", what, count);
}

std::uint32_t take_count(SafetensorsReader& reader, const std::string& name) {
  return to_32_bits(count_of(reader.take_text(name), name), name);
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
  if (reader.has(name + ".set_nodes")) {
    arrays.set_nodes = reader.take<std::uint32_t>(name + ".set_nodes");
    arrays.set_ends = reader.take<std::uint32_t>(name + ".set_ends");
    arrays.set_words = reader.take<std::uint32_t>(name + ".set_words");
  }
  return std::make_shared<Trees>(std::move(arrays));
}

std::string layer_name(const std::string& name, std::uint64_t layer) { return fmt::format("{}.{}", name, layer); }

std::shared_ptr<const RowFunction> take_net(SafetensorsReader& reader, const std::string& name) {
  DenseNetArrays arrays;
  arrays.bound = number_of(reader.take_text(name + ".bound"), name + ".bound");
  arrays.centre = reader.take<double>(name + ".centre");
  arrays.scale = reader.take<double>(name + ".scale");
  // The number is not trusted: the first missing layer ends the loop.
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

/// A kind of row function that model files hold. A new kind adds a line.
struct StoredKind {
  std::string_view kind;  ///< RowFunctionDescription::kind
  std::shared_ptr<const RowFunction> (*take)(SafetensorsReader& reader, const std::string& name);
};

constexpr std::array<StoredKind, 2> kKinds = {{
    {"trees", take_trees},
    {"net", take_net},
}};

}  // namespace

void put_function(SafetensorsWriter& writer, const std::string& name, const RowFunction* function) {
  if (function == nullptr) {
    writer.put_text(name, kNone);
    return;
  }
  const RowFunctionDescription description = function->describe();
  const auto* const known = std::ranges::find(kKinds, description.kind, &StoredKind::kind);
  if (known == kKinds.end()) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "the {} has a type that model files do not support; expected trees or a net", name);
  }
  writer.put_text(name, description.kind);
  const std::string prefix = name + ".";
  for (const auto& [number, value] : description.numbers) {
    const auto* const whole = std::get_if<std::uint64_t>(&value);
    writer.put_text(prefix + number, whole != nullptr ? std::to_string(*whole) : text_of(std::get<double>(value)));
  }
  for (const NamedArray& array : description.arrays) {
    std::visit([&](auto values) { writer.put(prefix + array.name, values, {array.shape.begin(), array.shape.end()}); },
               array.values);
  }
}

std::shared_ptr<const RowFunction> take_function(SafetensorsReader& reader, const std::string& name) {
  const std::string kind = reader.take_text(name);
  if (kind == kNone) return nullptr;
  const auto* const known = std::ranges::find(kKinds, kind, &StoredKind::kind);
  if (known == kKinds.end()) {
    throw make_error(ErrorCode::kBadData, "{}: expected none, trees or net, found '{}'", name, kind);
  }
  try {
    return known->take(reader, name);
  } catch (const Error& error) {
    throw make_error(ErrorCode::kBadData, "{}: {}", name, error.what());
  }
}

}  // namespace widthwise::internal
