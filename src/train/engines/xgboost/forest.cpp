#include "train/engines/xgboost/forest.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <widthwise/error.hpp>

namespace widthwise::internal {
namespace {

constexpr std::uint64_t kStretch = 100;  // rounds between looks at the clock

/// Call visit(array) for every array of trees, in a fixed order.
template <class Arrays, class Visit>
void for_each_array(Arrays& trees, const Visit& visit) {
  visit(trees.base);
  visit(trees.roots);
  visit(trees.output_of);
  visit(trees.feature);
  visit(trees.value);
  visit(trees.left);
  visit(trees.right);
  visit(trees.missing_left);
  visit(trees.set_nodes);
  visit(trees.set_ends);
  visit(trees.set_words);
}

/// Append numbers, each increased by `by`.
void append(const std::vector<std::uint32_t>& from, std::size_t by, std::vector<std::uint32_t>& to) {
  for (const std::uint32_t number : from) to.push_back(number + static_cast<std::uint32_t>(by));
}

template <class T>
void append(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

class StateWriter {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(data);
    state_.insert(state_.end(), begin, begin + bytes);
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(state_); }

 private:
  std::vector<std::byte> state_;
};

class StateReader {
 public:
  explicit StateReader(std::span<const std::byte> state) : rest_(state) {}

  void read(void* data, std::size_t bytes) {
    if (bytes > rest_.size()) throw Error(ErrorCode::kBadData, "it is too short");
    if (bytes > 0) std::memcpy(data, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
  }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace

Forest::Forest(std::size_t inputs, std::vector<float> first, Checkpoint* checkpoint) : checkpoint_(checkpoint) {
  arrays_.inputs = static_cast<std::uint32_t>(inputs);
  arrays_.base = std::move(first);
  if (checkpoint_ == nullptr) return;
  const std::span<const std::byte> state = checkpoint_->begin();
  if (state.empty()) return;
  try {
    load(state);
  } catch (const Error& error) {
    checkpoint_->refuse(error.what());
  }
}

void Forest::load(std::span<const std::byte> state) {
  const std::vector<float> first = arrays_.base;
  StateReader reader(state);
  reader.read(&progress_, sizeof(progress_));
  for_each_array(arrays_, [&](auto& array) {
    std::uint64_t size = 0;
    reader.read(&size, sizeof(size));
    if (size > reader.left() / sizeof(array[0])) throw Error(ErrorCode::kBadData, "it is too short");
    array.resize(size);
    reader.read(array.data(), size * sizeof(array[0]));
  });
  static_cast<void>(Trees(arrays_));  // which checks them
  if (reader.left() != 0 || arrays_.base != first || progress_.best_rounds > progress_.rounds ||
      arrays_.roots.size() != progress_.rounds * first.size()) {
    throw Error(ErrorCode::kBadData, "it has trees of another training");
  }
}

void Forest::add(const TreeArrays& tree, std::size_t output) {
  const std::size_t nodes = arrays_.feature.size();
  arrays_.roots.push_back(static_cast<std::uint32_t>(nodes));
  arrays_.output_of.push_back(static_cast<std::uint32_t>(output));
  append(tree.set_nodes, nodes, arrays_.set_nodes);
  append(tree.set_ends, arrays_.set_words.size(), arrays_.set_ends);
  append(tree.set_words, arrays_.set_words);
  append(tree.feature, arrays_.feature);
  append(tree.value, arrays_.value);
  append(tree.missing_left, arrays_.missing_left);
  for (std::size_t node = 0; node < tree.left.size(); ++node) {
    const std::size_t by = tree.feature[node] < 0 ? 0 : nodes;  // leaves have no children
    arrays_.left.push_back(tree.left[node] + static_cast<std::uint32_t>(by));
    arrays_.right.push_back(tree.right[node] + static_cast<std::uint32_t>(by));
  }
}

void Forest::end_round() {
  ++progress_.rounds;
  if (checkpoint_ != nullptr && progress_.rounds % kStretch == 0 && checkpoint_->due()) keep();
}

void Forest::end_round(double loss) {
  if (loss < progress_.best_loss) {
    progress_.best_loss = loss;
    progress_.best_rounds = progress_.rounds + 1;
  }
  end_round();
}

void Forest::end() {
  if (checkpoint_ != nullptr) keep();
}

void Forest::keep() {
  StateWriter writer;
  writer.add(&progress_, sizeof(progress_));
  for_each_array(arrays_, [&](const auto& array) {
    const std::uint64_t size = array.size();
    writer.add(&size, sizeof(size));
    writer.add(array.data(), array.size() * sizeof(array[0]));
  });
  checkpoint_->keep(writer.take());
}

TreeArrays part_of(const TreeArrays& trees, std::size_t first, std::size_t last) {
  const auto root = [&](std::size_t tree) {
    return tree < trees.roots.size() ? trees.roots[tree] : trees.feature.size();
  };
  const std::size_t begin = root(first);
  const std::size_t end = root(last);
  const auto taken = [](const auto& from, std::size_t i, std::size_t j, auto& to) {
    to.assign(from.begin() + static_cast<std::ptrdiff_t>(i), from.begin() + static_cast<std::ptrdiff_t>(j));
  };
  const auto less = [](std::vector<std::uint32_t>& numbers, std::size_t by) {
    for (std::uint32_t& number : numbers) number -= static_cast<std::uint32_t>(by);
  };
  TreeArrays part;
  part.inputs = trees.inputs;
  part.base = first == 0 ? trees.base : std::vector<float>(trees.base.size(), 0.0F);
  taken(trees.roots, first, last, part.roots);
  taken(trees.output_of, first, last, part.output_of);
  taken(trees.feature, begin, end, part.feature);
  taken(trees.value, begin, end, part.value);
  taken(trees.left, begin, end, part.left);
  taken(trees.right, begin, end, part.right);
  taken(trees.missing_left, begin, end, part.missing_left);
  const auto set = [&](std::size_t node) {
    return static_cast<std::size_t>(std::ranges::lower_bound(trees.set_nodes, node) - trees.set_nodes.begin());
  };
  const auto word = [&](std::size_t number) { return number == 0 ? 0 : trees.set_ends[number - 1]; };
  taken(trees.set_nodes, set(begin), set(end), part.set_nodes);
  taken(trees.set_ends, set(begin), set(end), part.set_ends);
  taken(trees.set_words, word(set(begin)), word(set(end)), part.set_words);
  less(part.roots, begin);
  less(part.set_nodes, begin);
  less(part.set_ends, word(set(begin)));
  for (std::size_t node = 0; node < part.feature.size(); ++node) {
    if (part.feature[node] < 0) continue;  // leaves have no children
    part.left[node] -= static_cast<std::uint32_t>(begin);
    part.right[node] -= static_cast<std::uint32_t>(begin);
  }
  return part;
}

}  // namespace widthwise::internal
