#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/train/xgboost.hpp>

#include "base/message.hpp"
#include "train/engines/xgboost/booster.hpp"
#include "train/engines/xgboost/saved_value.hpp"

namespace widthwise {
namespace {

using internal::SavedValue;

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

/// An array of a tree, or an empty one.
const SavedValue& list(const SavedValue& tree, const char* name) {
  static const SavedValue kEmpty;
  return tree.contains(name) ? tree.at(name) : kEmpty;
}

/// The sets of categories of one tree of XGBoost: the categories of a set go right.
class CategorySets {
 public:
  explicit CategorySets(const SavedValue& tree)
      : categories_(list(tree, "categories")),
        starts_(list(tree, "categories_segments")),
        sizes_(list(tree, "categories_sizes")) {
    const SavedValue& nodes = list(tree, "categories_nodes");
    for (std::size_t i = 0; i < nodes.size(); ++i) places_.emplace(nodes.whole<std::size_t>(i), i);
    const SavedValue& types = list(tree, "split_type");
    std::size_t by_category = 0;
    for (std::size_t i = 0; i < types.size(); ++i) by_category += types.number(i) != 0 ? 1U : 0U;
    std::size_t listed = 0;
    for (std::size_t i = 0; i < sizes_.size(); ++i) listed += sizes_.whole<std::size_t>(i);
    if (by_category != places_.size() || listed != categories_.size()) {
      throw Error(ErrorCode::kBadData, "XGBoost: the categories of a tree do not match its categorical splits");
    }
  }

  [[nodiscard]] bool has(std::size_t node) const { return !places_.empty() && places_.contains(node); }

  /// Append the set of a node to the arrays, in which the node has another number.
  void append(std::size_t node, std::uint32_t number, TreeArrays& out) const {
    constexpr std::size_t kMaxCategories = std::size_t{1} << 24U;  // of XGBoost
    const std::size_t place = places_.at(node);
    const auto start = starts_.whole<std::size_t>(place);
    std::vector<std::uint32_t> words;
    for (std::size_t i = 0; i < sizes_.whole<std::size_t>(place); ++i) {
      const auto category = categories_.whole<std::size_t>(start + i);
      if (category >= kMaxCategories) throw Error(ErrorCode::kBadData, "XGBoost: a category of a tree is out of range");
      words.resize(std::max(words.size(), category / 32 + 1));
      words[category / 32] |= std::uint32_t{1} << (category % 32);
    }
    out.set_nodes.push_back(number);
    out.set_words.insert(out.set_words.end(), words.begin(), words.end());
    out.set_ends.push_back(static_cast<std::uint32_t>(out.set_words.size()));
  }

 private:
  const SavedValue& categories_;
  const SavedValue& starts_;
  const SavedValue& sizes_;
  std::map<std::size_t, std::size_t> places_;  // of nodes, in the lists
};

/// A number that XGBoost writes as a text.
std::size_t whole_of(const SavedValue& object, const char* key, std::size_t by_default) {
  if (!object.contains(key)) return by_default;
  const std::string& text = object.at(key).text();
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    SavedValue::refuse(fmt::format("{} is '{}'", key, text));
  return number;
}

/// Append one tree of XGBoost, renumbered so that children come after their parents and indices have no gaps.
void append_tree(const SavedValue& tree, TreeArrays& out) {
  const SavedValue& left = tree.at("left_children");
  const SavedValue& right = tree.at("right_children");
  const SavedValue& feature = tree.at("split_indices");
  const SavedValue& value = tree.at("split_conditions");
  const SavedValue& missing_left = tree.at("default_left");
  const CategorySets sets(tree);
  if (whole_of(tree.at("tree_param"), "size_leaf_vector", 1) > 1) {
    throw Error(ErrorCode::kBadData,
                "XGBoost: trees have several outputs; train with multi_strategy one_output_per_tree");
  }
  const auto root = static_cast<std::uint32_t>(out.feature.size());
  out.roots.push_back(root);
  std::vector<std::size_t> queue{0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    // A node that is its own ancestor would make an endless loop.
    if (queue.size() > left.size()) throw Error(ErrorCode::kBadData, "XGBoost: a node of a tree has two parents");
    const std::size_t node = queue[i];
    const bool leaf = left.number(node) == -1;
    out.feature.push_back(leaf ? -1 : feature.whole<std::int32_t>(node));
    const bool by_category = !leaf && sets.has(node);
    out.value.push_back(by_category ? 0 : static_cast<float>(value.number(node)));
    if (by_category) sets.append(node, root + static_cast<std::uint32_t>(i), out);
    out.missing_left.push_back(!leaf && missing_left.number(node) != 0 ? 1 : 0);
    out.left.push_back(leaf ? 0 : root + static_cast<std::uint32_t>(queue.size()));
    out.right.push_back(leaf ? 0 : root + static_cast<std::uint32_t>(queue.size()) + 1);
    if (leaf) continue;
    queue.push_back(left.whole<std::size_t>(node));
    queue.push_back(right.whole<std::size_t>(node));
  }
}

/// The trees first..last-1 of a model.
TreeArrays trees_of(const SavedValue& learner, std::size_t inputs, std::size_t outputs, std::size_t first,
                    std::size_t last) {
  const SavedValue& model = learner.at("gradient_booster").at("model");
  TreeArrays arrays;
  arrays.inputs = static_cast<std::uint32_t>(inputs);
  arrays.base = base_scores(learner.at("learner_model_param").at("base_score").text(), outputs);
  const std::vector<SavedValue>& trees = model.at("trees").items();
  for (std::size_t t = first; t < std::min(last, trees.size()); ++t) {
    append_tree(trees[t], arrays);
    arrays.output_of.push_back(model.at("tree_info").whole<std::uint32_t>(t));
  }
  return arrays;
}

}  // namespace

TreeArrays internal::read_tree_arrays(std::span<const std::byte> saved, std::size_t inputs, std::size_t outputs,
                                      std::size_t first, std::size_t last) {
  return trees_of(SavedValue::read(saved).at("learner"), inputs, outputs, first, last);
}

std::shared_ptr<const Trees> read_trees(std::span<const std::byte> saved) {
  const SavedValue model = SavedValue::read(saved);
  const SavedValue& learner = model.at("learner");
  const SavedValue& parameters = learner.at("learner_model_param");
  const std::size_t outputs = std::max(whole_of(parameters, "num_target", 1), whole_of(parameters, "num_class", 0));
  if (outputs > kMaxOutputs) {
    throw internal::make_error(ErrorCode::kBadData, "XGBoost: the model has {} outputs; expected at most {}", outputs,
                               kMaxOutputs);
  }
  return std::make_shared<const Trees>(
      trees_of(learner, whole_of(parameters, "num_feature", 0), outputs, 0, std::numeric_limits<std::size_t>::max()));
}

}  // namespace widthwise
