#include "train/engines/xgboost/read_trees.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/train/xgboost.hpp>

#include "base/message.hpp"

namespace widthwise {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxOutputs = 1'000'000;  // far more than any real model; numbers in a file are not trusted

/// "[5E-1]" or "5E-1": one number per output, or one for all.
std::vector<float> base_scores(const std::string& text, std::size_t outputs) {
  std::vector<float> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    float value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc()) {
      values.push_back(value);
      at = next;
    } else {
      ++at;
    }
  }
  if (values.size() == 1) values.resize(outputs, values[0]);
  if (values.size() != outputs) throw Error(ErrorCode::kBadData, "XGBoost: base_score of the model is " + text);
  return values;
}

/// The sets of categories of one tree of XGBoost: the categories of a set go right.
class CategorySets {
 public:
  explicit CategorySets(const Json& tree)
      : categories_(list(tree, "categories")),
        starts_(list(tree, "categories_segments")),
        sizes_(list(tree, "categories_sizes")) {
    const Json nodes = list(tree, "categories_nodes");
    for (std::size_t i = 0; i < nodes.size(); ++i) places_.emplace(nodes.at(i).get<std::size_t>(), i);
    const Json types = list(tree, "split_type");
    const auto by_category = std::ranges::count_if(types, [](const Json& type) { return type.get<int>() != 0; });
    std::size_t listed = 0;
    for (const Json& size : sizes_) listed += size.get<std::size_t>();
    if (static_cast<std::size_t>(by_category) != places_.size() || listed != categories_.size()) {
      throw Error(ErrorCode::kBadData, "XGBoost: the categories of a tree do not match its categorical splits");
    }
  }

  [[nodiscard]] bool has(std::size_t node) const { return places_.contains(node); }

  /// Append the set of a node to the arrays, in which the node has another number.
  void append(std::size_t node, std::uint32_t number, TreeArrays& out) const {
    constexpr std::size_t kMaxCategories = std::size_t{1} << 24U;  // of XGBoost
    const std::size_t place = places_.at(node);
    const auto start = starts_.at(place).get<std::size_t>();
    std::vector<std::uint32_t> words;
    for (std::size_t i = 0; i < sizes_.at(place).get<std::size_t>(); ++i) {
      const auto category = categories_.at(start + i).get<std::size_t>();
      if (category >= kMaxCategories) throw Error(ErrorCode::kBadData, "XGBoost: a category of a tree is out of range");
      words.resize(std::max(words.size(), category / 32 + 1));
      words[category / 32] |= std::uint32_t{1} << (category % 32);
    }
    out.set_nodes.push_back(number);
    out.set_words.insert(out.set_words.end(), words.begin(), words.end());
    out.set_ends.push_back(static_cast<std::uint32_t>(out.set_words.size()));
  }

 private:
  static Json list(const Json& tree, const char* name) { return tree.value(name, Json::array()); }

  Json categories_;
  Json starts_;
  Json sizes_;
  std::map<std::size_t, std::size_t> places_;  // of nodes, in the lists
};

/// Append one tree of XGBoost, renumbered so that children come after their parents and indices have no gaps.
void append_tree(const Json& tree, TreeArrays& out) {
  const auto& left = tree.at("left_children");
  const auto& right = tree.at("right_children");
  const auto& feature = tree.at("split_indices");
  const auto& value = tree.at("split_conditions");
  const auto& missing_left = tree.at("default_left");
  const CategorySets sets(tree);
  if (tree.at("tree_param").value("size_leaf_vector", "1") > std::string("1")) {
    throw Error(ErrorCode::kBadData,
                "XGBoost: trees have several outputs; train with multi_strategy one_output_per_tree");
  }
  const auto root = static_cast<std::uint32_t>(out.feature.size());
  out.roots.push_back(root);
  std::vector<int> queue{0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    // A node that is its own ancestor would make an endless loop.
    if (queue.size() > left.size()) throw Error(ErrorCode::kBadData, "XGBoost: a node of a tree has two parents");
    const auto node = static_cast<std::size_t>(queue[i]);
    const int left_child = left.at(node).get<int>();
    const bool leaf = left_child == -1;
    out.feature.push_back(leaf ? -1 : feature.at(node).get<int>());
    const bool by_category = !leaf && sets.has(node);
    out.value.push_back(by_category ? 0 : value.at(node).get<float>());
    if (by_category) sets.append(node, root + static_cast<std::uint32_t>(i), out);
    out.missing_left.push_back(leaf ? 0 : static_cast<std::uint8_t>(missing_left.at(node).get<int>() != 0));
    out.left.push_back(leaf ? 0 : root + static_cast<std::uint32_t>(queue.size()));
    out.right.push_back(leaf ? 0 : root + static_cast<std::uint32_t>(queue.size()) + 1);
    if (leaf) continue;
    queue.push_back(left_child);
    queue.push_back(right.at(node).get<int>());
  }
}

std::size_t number(const Json& object, const char* key, std::size_t by_default) {
  return object.contains(key) ? std::stoul(object.at(key).get<std::string>()) : by_default;
}

/// Read a saved model with `use`; convert exceptions to errors with an explanation.
template <class Use>
auto with_learner(std::span<const std::byte> saved, const Use& use) {
  try {
    // libc++ has no std::char_traits<std::byte>, which nlohmann's reader of iterators needs.
    const char* const begin = reinterpret_cast<const char*>(saved.data());
    return use(Json::from_ubjson(begin, begin + saved.size()).at("learner"));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kBadData, std::string("XGBoost: unknown model format: ") + error.what());
  }
}

TreeArrays trees_of(const Json& learner, std::size_t inputs, std::size_t outputs, std::size_t trees) {
  const Json& model = learner.at("gradient_booster").at("model");
  TreeArrays arrays;
  arrays.inputs = static_cast<std::uint32_t>(inputs);
  arrays.base = base_scores(learner.at("learner_model_param").at("base_score").get<std::string>(), outputs);
  const std::size_t count = std::min(model.at("trees").size(), trees);
  for (std::size_t t = 0; t < count; ++t) {
    append_tree(model.at("trees").at(t), arrays);
    arrays.output_of.push_back(model.at("tree_info").at(t).get<std::uint32_t>());
  }
  return arrays;
}

}  // namespace

TreeArrays internal::read_tree_arrays(std::span<const std::byte> saved, std::size_t inputs, std::size_t outputs,
                                      std::size_t trees) {
  return with_learner(saved, [&](const Json& learner) { return trees_of(learner, inputs, outputs, trees); });
}

std::shared_ptr<const Trees> read_trees(std::span<const std::byte> saved) {
  return with_learner(saved, [](const Json& learner) {
    const Json& parameters = learner.at("learner_model_param");
    const std::size_t outputs = std::max(number(parameters, "num_target", 1), number(parameters, "num_class", 0));
    if (outputs > kMaxOutputs) {
      throw internal::make_error(ErrorCode::kBadData, "XGBoost: the model has {} outputs; expected at most {}", outputs,
                                 kMaxOutputs);
    }
    return std::make_shared<const Trees>(
        trees_of(learner, number(parameters, "num_feature", 0), outputs, std::numeric_limits<std::size_t>::max()));
  });
}

}  // namespace widthwise
