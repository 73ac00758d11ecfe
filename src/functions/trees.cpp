#include <widthwise/row_function.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/scratch.hpp"
#include "base/text.hpp"
#include "base/vector_math.hpp"
#include "functions/row_function_checks.hpp"

namespace widthwise {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Far larger than any real model; twice the number of nodes and columns still fits 32 bits.
constexpr std::size_t kMaxNodes = std::size_t{1} << 30U;
constexpr std::size_t kMaxInputs = std::size_t{1} << 24U;
constexpr std::size_t kMaxOutputs = std::size_t{1} << 16U;

// Maximum number of splits that a row passes in all trees, which bounds the time per row. Boosted trees have a few
// thousand.
constexpr std::uint64_t kMaxSplitsOfRow = 1'000'000;

// Categories are compared in single precision, which is exact below this number; it is also the limit of XGBoost.
constexpr std::uint32_t kMaxCategory = std::uint32_t{1} << 24U;
constexpr std::uint32_t kWordBits = 32;

// Trees up to this depth are padded to complete trees. Each further level doubles the comparisons per row.
constexpr std::uint32_t kMaxLevels = 6;

// Block sizes are multiples of the widest vector, so that loops have no remainder.
constexpr std::size_t kGroup = 16;
constexpr std::size_t kMaxBlockRows = 256;
constexpr std::size_t kBlockNumbers =
    6144;  // numbers in the columns and sums of a block: 24 kB, which fit the first-level cache

// A single row of up to this many columns, each in both forms, needs no allocation.
constexpr std::size_t kStackColumns = 513;

// Minimum number of rows for evaluation by blocks; a block of fewer rows would be mostly empty.
constexpr std::size_t kFewRows = 8;

// ---- checks

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kBadData, "Trees: " + what); }

[[noreturn]] void refuse_node(std::size_t tree, std::size_t node, const std::string& what) {
  refuse(fmt::format("tree {}, node {}: {}", tree, node, what));
}

void check_sizes(const TreeArrays& arrays) {
  const auto check = [](const char* name, std::size_t found, std::size_t expected, const char* as) {
    if (found == expected) return;
    refuse(fmt::format("expected as many {} as {} ({}), found {}", name, as, expected, found));
  };
  const auto check_max = [](const char* name, std::size_t found, std::size_t maximum) {
    if (found > maximum) {
      refuse(fmt::format("expected at most {} {}, found {}", maximum, name, found));
    }
  };
  const std::size_t nodes = arrays.feature.size();
  check_max("inputs", arrays.inputs, kMaxInputs);
  check_max("outputs", arrays.base.size(), kMaxOutputs);
  check_max("nodes", nodes, kMaxNodes);
  if (arrays.base.empty()) refuse("expected at least one output, found an empty base");
  check("output_of", arrays.output_of.size(), arrays.roots.size(), "roots");
  check("value", arrays.value.size(), nodes, "feature");
  check("left", arrays.left.size(), nodes, "feature");
  check("right", arrays.right.size(), nodes, "feature");
  check("missing_left", arrays.missing_left.size(), nodes, "feature");
  for (std::size_t i = 0; i < arrays.base.size(); ++i) {
    if (!std::isfinite(arrays.base[i])) refuse(fmt::format("base of output {} is not finite", i));
  }
}

void check_sets(const TreeArrays& arrays) {
  if (arrays.set_ends.size() != arrays.set_nodes.size()) {
    refuse(fmt::format("expected as many set_ends as set_nodes ({}), found {}", arrays.set_nodes.size(),
                       arrays.set_ends.size()));
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i < arrays.set_nodes.size(); ++i) {
    const std::size_t node = arrays.set_nodes[i];
    const auto refuse_set = [&](const std::string& what) { refuse(fmt::format("set {}: {}", i, what)); };
    if (i > 0 && node <= arrays.set_nodes[i - 1]) refuse_set("its node does not follow that of the set before");
    if (node >= arrays.feature.size() || arrays.feature[node] < 0) refuse_set(fmt::format("node {} is no split", node));
    if (arrays.value[node] != 0) refuse_set(fmt::format("node {} has both a set and a threshold", node));
    const std::size_t end = arrays.set_ends[i];
    if (end < begin || end > arrays.set_words.size()) {
      refuse_set(fmt::format("its words end at {}; expected {} to {}", end, begin, arrays.set_words.size()));
    }
    if (end - begin > kMaxCategory / kWordBits) refuse_set(fmt::format("expected categories below {}", kMaxCategory));
    begin = end;
  }
  if (begin != arrays.set_words.size()) {
    refuse(fmt::format("the sets have {} words, found {}", begin, arrays.set_words.size()));
  }
}

void check_roots(const TreeArrays& arrays) {
  const std::size_t nodes = arrays.feature.size();
  if (arrays.roots.empty() && nodes != 0) refuse(fmt::format("{} nodes but no root", nodes));
  for (std::size_t tree = 0; tree < arrays.roots.size(); ++tree) {
    const std::size_t root = arrays.roots[tree];
    if (tree == 0 && root != 0) refuse(fmt::format("tree 0: expected the root at node 0, found {}", root));
    if (tree > 0 && root <= arrays.roots[tree - 1]) {
      refuse(fmt::format("tree {}: root {} does not follow root {} of the previous tree", tree, root,
                         arrays.roots[tree - 1]));
    }
    if (root >= nodes) {
      refuse(fmt::format("tree {}: root {} is out of range; there are {} nodes", tree, root, nodes));
    }
    if (arrays.output_of[tree] >= arrays.base.size()) {
      refuse(fmt::format("tree {}: output {} is out of range; there are {} outputs", tree, arrays.output_of[tree],
                         arrays.base.size()));
    }
  }
}

/// Check that the nodes first..last-1 are one tree.
void check_tree(const TreeArrays& arrays, std::size_t tree, std::size_t first, std::size_t last) {
  std::vector<std::uint8_t> has_parent(last - first);
  for (std::size_t node = first; node < last; ++node) {
    // Parents come first, so the parent of this node has been visited.
    if (node != first && has_parent[node - first] == 0)
      refuse_node(tree, node, "the node is not a child of an earlier node");
    if (!std::isfinite(arrays.value[node])) refuse_node(tree, node, "the value is not finite");
    if (arrays.missing_left[node] > 1) {
      refuse_node(tree, node, fmt::format("expected missing_left 0 or 1, found {}", arrays.missing_left[node]));
    }
    const std::int32_t feature = arrays.feature[node];
    if (feature == -1) {
      if (arrays.left[node] != 0 || arrays.right[node] != 0) refuse_node(tree, node, "a leaf with children");
      continue;
    }
    if (feature < -1 || static_cast<std::uint32_t>(feature) >= arrays.inputs) {
      refuse_node(tree, node, fmt::format("feature {} is out of range; there are {} inputs", feature, arrays.inputs));
    }
    for (const std::size_t child : {arrays.left[node], arrays.right[node]}) {
      if (child <= node || child >= last) {
        refuse_node(tree, node, fmt::format("child {} does not follow its parent in the same tree", child));
      }
      if (std::exchange(has_parent[child - first], 1) != 0) {
        refuse_node(tree, node, fmt::format("child {} has two parents", child));
      }
    }
  }
}

// ---- layout

/// x < threshold goes left. `column` is an index into the columns of Layout.
struct Split {
  float threshold;
  std::uint32_t column;
};

/// No set: the node compares with its threshold.
constexpr std::uint32_t kNoSet = std::numeric_limits<std::uint32_t>::max();

/// A node of a walked tree, whose children are adjacent. A leaf is its own child and has a threshold of NaN: no x is at
/// least NaN, so a walk that reaches a leaf stays there.
struct Node {
  float threshold;
  std::uint32_t column;
  std::uint32_t left;
  float leaf;                  ///< value of a leaf
  std::uint32_t set = kNoSet;  ///< of a split by category, first index in the words of the layout
  std::uint32_t words = 0;     ///< length of the set

  /// The index of the next node. In trees with sets, x is a value of Column, and a category if the node has a set.
  template <bool kSets>
  [[nodiscard]] std::uint32_t next(float x, const std::uint32_t* all_words) const {
    if constexpr (kSets) {
      if (set != kNoSet) return left + static_cast<std::uint32_t>(goes_right(x, all_words + set));
    }
    return left + static_cast<std::uint32_t>(x >= threshold);
  }

 private:
  [[nodiscard]] bool goes_right(float x, const std::uint32_t* bits) const {
    if (!(x >= 0 && x < static_cast<float>(kMaxCategory))) return x > 0;  // missing, or no category: see Column
    const auto category = static_cast<std::uint32_t>(x);
    return category / kWordBits < words && ((bits[category / kWordBits] >> (category % kWordBits)) & 1U) != 0;
  }
};

struct Tree {
  std::uint32_t output;
  std::uint32_t levels;  ///< number of levels of splits
  std::size_t first;     ///< first index in the splits (complete tree) or in the nodes (walked tree)
  std::size_t leaves;    ///< first index in the leaves of a complete tree
  bool sets;             ///< has splits by category

  [[nodiscard]] bool complete() const { return levels <= kMaxLevels && !sets; }
};

/// A column of x for comparisons: single precision, with missing values replaced by the side to which they go. Of
/// categories, numbers that no category can have are replaced by minus infinity, which goes left.
struct Column {
  std::uint32_t feature;
  bool categories;
  bool missing_left;

  [[nodiscard]] std::uint32_t key() const { return 4 * feature + (categories ? 2 : 0) + (missing_left ? 1 : 0); }

  [[nodiscard]] float value(double x) const {
    if (std::isnan(x)) return missing_left ? -kInfinity : kInfinity;
    const auto number = static_cast<float>(x);
    return categories && number >= static_cast<float>(kMaxCategory) ? -kInfinity : number;
  }
};

}  // namespace

/// The trees in the order of evaluation. Thresholds are finite, so an infinity in place of a missing value goes to the
/// right side.
struct Trees::Layout {
  std::vector<Column> columns;  ///< compared columns, ascending by feature
  std::vector<Tree> trees;
  std::vector<Split> splits;  ///< of complete trees, 2^levels - 1 each, level by level
  std::vector<float> leaves;  ///< of complete trees, 2^levels each
  std::vector<Node> nodes;    ///< of walked trees, level by level

  explicit Layout(const TreeArrays& arrays);

  void add_complete(const TreeArrays& arrays, std::uint32_t root, Tree tree);
  void add_walked(const TreeArrays& arrays, std::uint32_t root, Tree tree);
  [[nodiscard]] std::uint32_t column_of(const TreeArrays& arrays, std::size_t node) const;
};

namespace {

/// The index of the first set of this node or a later one.
std::size_t set_from(const TreeArrays& arrays, std::size_t node) {
  return static_cast<std::size_t>(std::ranges::lower_bound(arrays.set_nodes, node) - arrays.set_nodes.begin());
}

bool has_set(const TreeArrays& arrays, std::size_t node) {
  const std::size_t place = set_from(arrays, node);
  return place < arrays.set_nodes.size() && arrays.set_nodes[place] == node;
}

Column compared_at(const TreeArrays& arrays, std::size_t node) {
  return {static_cast<std::uint32_t>(arrays.feature[node]), has_set(arrays, node), arrays.missing_left[node] != 0};
}

}  // namespace

Trees::Layout::Layout(const TreeArrays& arrays) {
  const std::size_t count = arrays.feature.size();
  std::vector<std::uint32_t> depth(count);
  std::vector<std::uint32_t> keys;
  for (std::size_t node = 0; node < count; ++node) {
    if (arrays.feature[node] < 0) continue;
    keys.push_back(compared_at(arrays, node).key());
    depth[arrays.left[node]] = depth[arrays.right[node]] = depth[node] + 1;
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const std::uint32_t key : keys) columns.push_back({key / 4, key / 2 % 2 != 0, key % 2 != 0});
  std::uint64_t splits_of_row = 0;
  for (std::size_t i = 0; i < arrays.roots.size(); ++i) {
    const std::uint32_t root = arrays.roots[i];
    const std::size_t last = i + 1 < arrays.roots.size() ? arrays.roots[i + 1] : count;
    const auto of = [&](std::size_t node) { return depth.begin() + static_cast<std::ptrdiff_t>(node); };
    const Tree tree{.output = arrays.output_of[i],
                    .levels = *std::max_element(of(root), of(last)),
                    .first = 0,
                    .leaves = 0,
                    .sets = set_from(arrays, root) != set_from(arrays, last)};
    splits_of_row += tree.levels;
    if (splits_of_row > kMaxSplitsOfRow) {
      refuse(fmt::format("tree {}: the trees up to this one have {} splits on a path; expected at most {}", i,
                         splits_of_row, kMaxSplitsOfRow));
    }
    tree.complete() ? add_complete(arrays, root, tree) : add_walked(arrays, root, tree);
  }
}

std::uint32_t Trees::Layout::column_of(const TreeArrays& arrays, std::size_t node) const {
  const auto place = std::ranges::lower_bound(columns, compared_at(arrays, node).key(), {}, &Column::key);
  return static_cast<std::uint32_t>(place - columns.begin());
}

void Trees::Layout::add_complete(const TreeArrays& arrays, std::uint32_t root, Tree tree) {
  tree.first = splits.size();
  tree.leaves = leaves.size();
  const std::size_t count = (std::size_t{1} << tree.levels) - 1;
  std::vector<std::uint32_t> at(2 * count + 1);  // index in the complete tree -> node
  at[0] = root;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t node = at[i];
    if (arrays.feature[node] < 0) {
      // Below a leaf, every comparison leads to that leaf. Use the column of the root.
      splits.push_back({0, splits[tree.first].column});
      at[2 * i + 1] = at[2 * i + 2] = node;
    } else {
      splits.push_back({arrays.value[node], column_of(arrays, node)});
      at[2 * i + 1] = arrays.left[node];
      at[2 * i + 2] = arrays.right[node];
    }
  }
  for (std::size_t i = count; i < at.size(); ++i) leaves.push_back(arrays.value[at[i]]);
  trees.push_back(tree);
}

void Trees::Layout::add_walked(const TreeArrays& arrays, std::uint32_t root, Tree tree) {
  tree.first = nodes.size();
  std::vector<std::uint32_t> queue{root};  // its indices are those of the nodes
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::uint32_t node = queue[i];
    if (arrays.feature[node] < 0) {
      nodes.push_back({std::numeric_limits<float>::quiet_NaN(), 0, static_cast<std::uint32_t>(i), arrays.value[node]});
    } else {
      Node split{arrays.value[node], column_of(arrays, node), static_cast<std::uint32_t>(queue.size()), 0};
      if (columns[split.column].categories) {
        const std::size_t set = set_from(arrays, node);
        split.set = set > 0 ? arrays.set_ends[set - 1] : 0;
        split.words = arrays.set_ends[set] - split.set;
      }
      nodes.push_back(split);
      queue.push_back(arrays.left[node]);
      queue.push_back(arrays.right[node]);
    }
  }
  trees.push_back(tree);
}

namespace {

// ---- one row

/// Return the value of a complete tree for a row, without branches that depend on x, so that several trees are
/// evaluated in parallel.
float complete_leaf(const Tree& tree, const Split* splits, const float* leaves, const float* x) {
  std::size_t place = 0;
  for (std::uint32_t level = 0; level < tree.levels; ++level) {
    place = 2 * place + 1 + static_cast<std::size_t>(x[splits[place].column] >= splits[place].threshold);
  }
  return leaves[place + 1 - (std::size_t{1} << tree.levels)];
}

template <bool kSets>
float walked_leaf(const Node* nodes, const std::uint32_t* words, const float* x) {
  std::uint32_t place = 0;
  for (std::uint32_t next = nodes[0].next<kSets>(x[nodes[0].column], words); next != place;) {
    place = next;
    next = nodes[place].next<kSets>(x[nodes[place].column], words);
  }
  return nodes[place].leaf;
}

// ---- blocks of rows

/// A block of rows, column by column.
struct Block {
  const float* values;  ///< columns of Layout x stride
  std::size_t rows;     ///< a multiple of kGroup
  std::size_t stride;
  float* sums;  ///< outputs x stride
};

/// The splits and leaves of a complete tree, in registers as far as they fit.
template <std::size_t kLevels>
struct CompleteTree {
  static constexpr std::size_t kLeaves = std::size_t{1} << kLevels;
  const float* x[kLeaves];
  float threshold[kLeaves];
  float leaf[kLeaves];

  /// Select a leaf below a split: evaluate both sides, then select by the comparison.
  template <std::size_t kSplit>
  [[gnu::always_inline]] [[nodiscard]] float choose(std::size_t row) const {
    if constexpr (kSplit + 1 >= kLeaves) {
      return leaf[kSplit + 1 - kLeaves];
    } else {
      const float left = choose<2 * kSplit + 1>(row);
      const float right = choose<2 * kSplit + 2>(row);
      return x[kSplit][row] < threshold[kSplit] ? left : right;
    }
  }
};

/// Add the values of a complete tree for every row of a block: all comparisons for all rows, as vector code.
template <std::size_t kLevels>
[[gnu::always_inline]] inline void add_complete(const Split* splits, const float* leaves, const Block& block,
                                                float* sums) {
  CompleteTree<kLevels> tree;
  for (std::size_t i = 0; i + 1 < tree.kLeaves; ++i) {
    tree.x[i] = block.values + splits[i].column * block.stride;
    tree.threshold[i] = splits[i].threshold;
  }
  for (std::size_t i = 0; i < tree.kLeaves; ++i) tree.leaf[i] = leaves[i];
#if !defined(__clang__)  // clang has neither this pragma nor vector clones
#pragma GCC ivdep
#endif
  for (std::size_t row = 0; row < block.rows; ++row) sums[row] += tree.template choose<0>(row);
}

/// The same with a walk of eight rows in parallel. Not vectorised, because gathers are slower than loads here.
template <bool kSets>
[[gnu::noinline]] void add_walked(const Node* nodes, const std::uint32_t* words, std::size_t levels, const Block& block,
                                  float* sums) {
  constexpr std::size_t kWalkers = 8;
  constexpr std::size_t kSteps = 8;  // between two checks whether all walks have ended
  for (std::size_t first = 0; first < block.rows; first += kWalkers) {
    const float* x = block.values + first;
    std::uint32_t place[kWalkers] = {};
    std::uint32_t moved = 1;
    for (std::size_t left = levels; left > 0 && moved != 0;) {
      const std::size_t steps = std::min(kSteps, left);
      for (std::size_t step = 0; step < steps; ++step) {
        moved = 0;
        for (std::size_t i = 0; i < kWalkers; ++i) {
          const Node& node = nodes[place[i]];
          const std::uint32_t next = node.next<kSets>(x[node.column * block.stride + i], words);
          moved |= next ^ place[i];
          place[i] = next;
        }
      }
      left -= steps;
    }
    for (std::size_t i = 0; i < kWalkers; ++i) sums[first + i] += nodes[place[i]].leaf;
  }
}

WIDTHWISE_VECTORISED void add_trees(std::span<const Tree> trees, const Split* splits, const float* leaves,
                                    const Node* nodes, const std::uint32_t* words, const Block& block) {
  for (const Tree& tree : trees) {
    float* sums = block.sums + tree.output * block.stride;
    if (!tree.complete()) {
      const auto add = tree.sets ? add_walked<true> : add_walked<false>;
      add(nodes + tree.first, words, tree.levels, block, sums);
      continue;
    }
    const Split* const s = splits + tree.first;
    const float* const l = leaves + tree.leaves;
    switch (tree.levels) {
      case 0:
        add_complete<0>(s, l, block, sums);
        break;
      case 1:
        add_complete<1>(s, l, block, sums);
        break;
      case 2:
        add_complete<2>(s, l, block, sums);
        break;
      case 3:
        add_complete<3>(s, l, block, sums);
        break;
      case 4:
        add_complete<4>(s, l, block, sums);
        break;
      case 5:
        add_complete<5>(s, l, block, sums);
        break;
      default:
        add_complete<kMaxLevels>(s, l, block, sums);
        break;
    }
  }
}

}  // namespace

std::size_t CategorySet::end() const {
  for (std::size_t i = words.size(); i > 0; --i) {
    if (words[i - 1] != 0) return (i - 1) * kWordBits + static_cast<std::size_t>(std::bit_width(words[i - 1]));
  }
  return 0;
}

Trees::Trees(TreeArrays arrays) : arrays_(std::move(arrays)) {
  check_sizes(arrays_);
  check_roots(arrays_);
  check_sets(arrays_);
  for (std::size_t tree = 0; tree < trees(); ++tree) {
    check_tree(arrays_, tree, arrays_.roots[tree],
               tree + 1 < trees() ? arrays_.roots[tree + 1] : arrays_.feature.size());
  }
  layout_ = std::make_unique<const Layout>(arrays_);
}

Trees::~Trees() = default;

const TreeArrays& Trees::arrays() const { return arrays_; }
std::size_t Trees::sets() const { return arrays_.set_nodes.size(); }
CategorySet Trees::set(std::size_t number) const {
  const std::size_t begin = number > 0 ? arrays_.set_ends[number - 1] : 0;
  return {arrays_.set_nodes[number], std::span(arrays_.set_words).subspan(begin, arrays_.set_ends[number] - begin)};
}
std::size_t Trees::trees() const { return arrays_.roots.size(); }
std::size_t Trees::inputs() const { return arrays_.inputs; }
std::size_t Trees::outputs() const { return arrays_.base.size(); }

void Trees::evaluate(MatrixView x, MutableMatrixView out) const {
  internal::check_shapes("Trees::evaluate", *this, x, out);
  x.rows() < kFewRows ? evaluate_rows(x, out) : evaluate_blocks(x, out);
}

void Trees::evaluate_rows(const MatrixView& x, const MutableMatrixView& out) const {
  const Layout& layout = *layout_;
  const internal::Scratch<float, 2 * kStackColumns> values(layout.columns.size());
  const internal::Scratch<float, 64> sums(outputs());
  for (std::size_t row = 0; row < x.rows(); ++row) {
    for (std::size_t i = 0; i < layout.columns.size(); ++i) {
      values[i] = layout.columns[i].value(x(row, layout.columns[i].feature));
    }
    std::copy(arrays_.base.begin(), arrays_.base.end(), sums.data());
    for (const Tree& tree : layout.trees) {
      float& sum = sums[tree.output];
      if (tree.complete()) {
        sum +=
            complete_leaf(tree, layout.splits.data() + tree.first, layout.leaves.data() + tree.leaves, values.data());
      } else {
        const auto leaf = tree.sets ? walked_leaf<true> : walked_leaf<false>;
        sum += leaf(layout.nodes.data() + tree.first, arrays_.set_words.data(), values.data());
      }
    }
    for (std::size_t j = 0; j < outputs(); ++j) out(row, j) = static_cast<double>(sums[j]);
  }
}

void Trees::evaluate_blocks(const MatrixView& x, const MutableMatrixView& out) const {
  const Layout& layout = *layout_;
  const std::size_t columns = layout.columns.size();
  const std::size_t fitting = kBlockNumbers / (columns + outputs()) / kGroup * kGroup;
  const std::size_t needed = (x.rows() + kGroup - 1) / kGroup * kGroup;
  const std::size_t stride = std::min(std::clamp(fitting, kGroup, kMaxBlockRows), needed);
  // Rows after the end of the last block hold values of the previous block, or 0.
  std::vector<float> values(columns * stride);
  std::vector<float> sums(outputs() * stride);
  for (std::size_t first = 0; first < x.rows(); first += stride) {
    const std::size_t rows = std::min(stride, x.rows() - first);
    for (std::size_t i = 0; i < columns; ++i) {
      const Column column = layout.columns[i];
      float* to = values.data() + i * stride;
      const double* from = x.data() + first * x.stride() + column.feature;
      for (std::size_t row = 0; row < rows; ++row) to[row] = column.value(from[row * x.stride()]);
    }
    for (std::size_t j = 0; j < outputs(); ++j) std::fill_n(sums.data() + j * stride, stride, arrays_.base[j]);
    add_trees(layout.trees, layout.splits.data(), layout.leaves.data(), layout.nodes.data(), arrays_.set_words.data(),
              {.values = values.data(),
               .rows = (rows + kGroup - 1) / kGroup * kGroup,
               .stride = stride,
               .sums = sums.data()});
    for (std::size_t j = 0; j < outputs(); ++j) {
      for (std::size_t row = 0; row < rows; ++row) out(first + row, j) = static_cast<double>(sums[j * stride + row]);
    }
  }
}

RowFunctionDescription Trees::describe() const {
  const std::uint64_t nodes = arrays_.feature.size();
  RowFunctionDescription description{
      .kind = "trees",
      .summary = internal::count_of(trees(), "tree") + " with " + internal::count_of(nodes, "node"),
      .figures = {{"trees", trees()}, {"nodes", nodes}},
      .numbers = {{"inputs", std::uint64_t{arrays_.inputs}}}};
  description.add("base", arrays_.base);
  description.add("roots", arrays_.roots);
  description.add("output_of", arrays_.output_of);
  description.add("feature", arrays_.feature);
  description.add("value", arrays_.value);
  description.add("left", arrays_.left);
  description.add("right", arrays_.right);
  description.add("missing_left", arrays_.missing_left);
  if (sets() == 0) return description;
  description.add("set_nodes", arrays_.set_nodes);
  description.add("set_ends", arrays_.set_ends);
  description.add("set_words", arrays_.set_words);
  return description;
}

}  // namespace widthwise
