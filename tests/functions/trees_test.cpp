#include <widthwise/row_function.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "support/allocation_counter.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

std::uint32_t add_leaf(TreeArrays& trees, float value) {
  trees.feature.push_back(-1);
  trees.value.push_back(value);
  trees.left.push_back(0);
  trees.right.push_back(0);
  trees.missing_left.push_back(0);
  return static_cast<std::uint32_t>(trees.feature.size() - 1);
}

/// Numbers that data and thresholds share often enough for ties; -0 and leaves of -0 among them.
float coarse(Random& random) { return static_cast<float>(std::round(4 * random.normal()) / 4); }

/// Add a tree below `node`, which is a leaf so far: each node down to `depth` splits with this probability, but the
/// first way down always goes on.
void grow(TreeArrays& trees, std::uint32_t node, std::size_t depth, double probability, Random& random) {
  if (depth == 0) return;
  trees.feature[node] = static_cast<std::int32_t>(random.below(trees.inputs));
  trees.value[node] = coarse(random);
  trees.missing_left[node] = static_cast<std::uint8_t>(random.below(2));
  // Siblings need not be adjacent, and the left one need not come first.
  const bool right_first = random.below(2) == 1;
  std::uint32_t* const first = right_first ? &trees.right[node] : &trees.left[node];
  const auto place = static_cast<std::uint32_t>(trees.feature.size());
  *first = place;
  add_leaf(trees, coarse(random));
  grow(trees, place, depth - 1, probability, random);
  const std::uint32_t other = add_leaf(trees, static_cast<float>(random.normal()));
  (right_first ? trees.left : trees.right)[node] = other;
  if (random.uniform() < probability) grow(trees, other, depth - 1, probability, random);
}

TreeArrays random_trees(std::size_t inputs, std::size_t outputs, std::size_t count, std::size_t depth,
                        double probability, Random& random) {
  TreeArrays trees;
  trees.inputs = static_cast<std::uint32_t>(inputs);
  for (std::size_t i = 0; i < outputs; ++i) trees.base.push_back(static_cast<float>(random.normal()));
  for (std::size_t i = 0; i < count; ++i) {
    trees.output_of.push_back(static_cast<std::uint32_t>(random.below(outputs)));
    const std::uint32_t root = add_leaf(trees, static_cast<float>(random.normal()));
    trees.roots.push_back(root);
    grow(trees, root, depth, probability, random);
  }
  return trees;
}

/// The definition: from the root to a leaf, in single precision, tree after tree.
void walk(const TreeArrays& trees, std::span<const double> x, std::span<double> out) {
  std::vector<float> sums = trees.base;
  for (std::size_t tree = 0; tree < trees.roots.size(); ++tree) {
    std::size_t node = trees.roots[tree];
    while (trees.feature[node] >= 0) {
      const auto value = static_cast<float>(x[static_cast<std::size_t>(trees.feature[node])]);
      const bool left = std::isnan(value) ? trees.missing_left[node] != 0 : value < trees.value[node];
      node = left ? trees.left[node] : trees.right[node];
    }
    sums[trees.output_of[tree]] += trees.value[node];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<double>(sums[i]);
}

double random_input(Random& random) {
  switch (random.below(16)) {
    case 0:
      return kNaN;
    case 1:
      return kInfinity;
    case 2:
      return -kInfinity;
    case 3:
      return 1e300;
    case 4:
      return -0.0;
    case 5:
      return random.normal();
    default:
      return static_cast<double>(coarse(random));
  }
}

/// Evaluate n rows, with gaps between the rows of x and of out, and compare every bit with the walk.
void check_against_walk(const TreeArrays& arrays, std::size_t n, Random& random) {
  const Trees trees(arrays);
  ASSERT_EQ(trees.outputs(), arrays.base.size());
  const std::size_t x_stride = trees.inputs() + 3;
  const std::size_t out_stride = trees.outputs() + 2;
  std::vector<double> x(n * x_stride);
  for (double& value : x) value = random_input(random);
  std::vector<double> out(n * out_stride, 7.0);
  trees.evaluate({x.data(), n, trees.inputs(), x_stride}, {out.data(), n, trees.outputs(), out_stride});
  std::vector<double> expected(out_stride, 7.0);
  for (std::size_t i = 0; i < n; ++i) {
    walk(arrays, {x.data() + i * x_stride, trees.inputs()}, expected);
    for (std::size_t j = 0; j < out_stride; ++j) {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(out[i * out_stride + j]), std::bit_cast<std::uint64_t>(expected[j]))
          << "row " << i << " of " << n << ", output " << j;
    }
  }
}

TEST(Trees, GivesTheBitsOfAWalkWhateverTheDepthAndTheNumberOfRows) {
  Random random(1);
  for (std::size_t depth = 0; depth <= 12; ++depth) {
    for (const double probability : {0.0, 0.5, 1.0}) {  // a chain, an irregular tree, a complete tree
      if (depth > 9 && probability == 1) continue;
      const TreeArrays arrays = random_trees(5, 1, 7, depth, probability, random);
      for (const std::size_t n : {0U, 1U, 7U, 8U, 17U, 1000U}) {
        SCOPED_TRACE("depth " + std::to_string(depth) + ", probability " + std::to_string(probability));
        check_against_walk(arrays, n, random);
      }
    }
  }
}

TEST(Trees, GivesTheBitsOfAWalkForManyOutputsAndColumnsAndTreesOfDifferentDepths) {
  Random random(2);
  for (const std::size_t inputs : {1U, 20U, 700U}) {
    for (const std::size_t outputs : {1U, 3U, 40U}) {
      TreeArrays arrays = random_trees(inputs, outputs, 0, 0, 0, random);
      for (std::size_t tree = 0; tree < 60; ++tree) {
        arrays.output_of.push_back(static_cast<std::uint32_t>(random.below(outputs)));
        const std::uint32_t root = add_leaf(arrays, 0.5F);
        arrays.roots.push_back(root);
        grow(arrays, root, random.below(10), 0.7, random);
      }
      for (const std::size_t n : {1U, 7U, 600U}) check_against_walk(arrays, n, random);
    }
  }
}

TEST(Trees, KeepsTheSignOfZero) {
  Random random(3);
  TreeArrays arrays = random_trees(2, 1, 3, 2, 1, random);
  arrays.base[0] = -0.0F;
  for (std::size_t i = 0; i < arrays.feature.size(); ++i) {
    if (arrays.feature[i] < 0) arrays.value[i] = -0.0F;
  }
  for (const std::size_t n : {1U, 100U}) check_against_walk(arrays, n, random);
}

TEST(Trees, WithoutTreesIsItsBase) {
  TreeArrays arrays;
  arrays.base = {1.5F, -2};
  for (const std::uint32_t inputs : {0U, 4U}) {
    arrays.inputs = inputs;
    const Trees trees(arrays);
    EXPECT_EQ(trees.trees(), 0U);
    for (const std::size_t n : {1U, 100U}) {
      const std::vector<double> x(n * inputs, kNaN);
      std::vector<double> out(2 * n);
      trees.evaluate({x.data(), n, inputs}, {out.data(), n, 2});
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(out[2 * i], 1.5);
        EXPECT_EQ(out[2 * i + 1], -2);
      }
    }
  }
}

/// A chain: the i-th split sends x < i to a leaf of value i, the rest on.
TreeArrays chain(std::uint32_t splits) {
  TreeArrays arrays;
  arrays.inputs = 1;
  arrays.base = {0};
  arrays.roots = {0};
  arrays.output_of = {0};
  for (std::uint32_t i = 0; i < splits; ++i) {
    const std::uint32_t node = add_leaf(arrays, static_cast<float>(i));
    add_leaf(arrays, static_cast<float>(i));
    arrays.feature[node] = 0;
    arrays.left[node] = node + 1;
    arrays.right[node] = node + 2;
  }
  add_leaf(arrays, static_cast<float>(splits));
  return arrays;
}

TEST(Trees, TakesAChainOfAHundredThousandNodes) {
  const Trees trees(chain(100'000));
  std::vector<double> x;
  for (const double value : {-kInfinity, -1.0, 0.0, 0.5, 17.0, 99'998.5, 99'999.0, 1e9, kInfinity}) x.push_back(value);
  std::vector<double> one(1);
  std::vector<double> all(x.size());
  trees.evaluate(MatrixView::column(x), MutableMatrixView::column(all));
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(all[i], std::min(std::max(std::floor(x[i]) + 1, 0.0), 100'000.0));
    trees.evaluate({&x[i], 1, 1}, MutableMatrixView::column(one));
    EXPECT_EQ(one[0], all[i]);
  }
}

TEST(Trees, RefusesTreesThatTakeARowThroughMoreThanAMillionSplits) {
  try {
    const Trees trees(chain(3'000'000));
    FAIL() << "a row passes 3 million splits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_STREQ(error.what(),
                 "Trees: tree 0: the trees up to this one have 3000000 splits on a path; expected at most 1000000");
  }
}

TEST(Trees, AllocatesNothingForARow) {
  if (!counts_allocations()) GTEST_SKIP() << "this build brings its own allocator";
  Random random(4);
  const Trees trees(random_trees(20, 2, 100, 8, 0.5, random));
  const auto allocations = [&](std::size_t n) {
    const std::vector<double> x(n * 20, 0.25);
    std::vector<double> out(n * 2);
    const std::size_t before = allocation_count();
    trees.evaluate({x.data(), n, 20}, {out.data(), n, 2});
    return allocation_count() - before;
  };
  EXPECT_EQ(allocations(100), allocations(10'000));
  EXPECT_EQ(allocations(1), allocations(7));
}

TEST(Trees, RefusesMatricesOfAnotherShape) {
  const Trees trees(chain(3));
  std::vector<double> numbers(10);
  const auto code = [&](MatrixView x, MutableMatrixView out) {
    try {
      trees.evaluate(x, out);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("Trees::evaluate: expected x of n x 1"), std::string::npos);
      return error.code();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ErrorCode::kFile;
  };
  EXPECT_EQ(code({numbers.data(), 4, 2}, {numbers.data(), 4, 1}), ErrorCode::kShapeMismatch);
  EXPECT_EQ(code({numbers.data(), 4, 1}, {numbers.data(), 4, 2}), ErrorCode::kShapeMismatch);
  EXPECT_EQ(code({numbers.data(), 4, 1}, {numbers.data(), 5, 1}), ErrorCode::kShapeMismatch);
}

TEST(Trees, RefusesInvalidArraysWithTheirPosition) {
  // Two trees: a chain of 2 splits (nodes 0 to 4), and a leaf (node 5).
  const auto good = [] {
    TreeArrays arrays = chain(2);
    arrays.roots.push_back(add_leaf(arrays, 1));
    arrays.output_of.push_back(0);
    return arrays;
  };
  EXPECT_EQ(Trees(good()).trees(), 2U);
  struct TreesCase {
    std::function<void(TreeArrays&)> spoil;
    const char* message;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<TreesCase> cases{
      {[](auto& a) { a.base.clear(); }, "at least one output"},
      {[=](auto& a) { a.base[0] = infinity; }, "base of output 0 is not finite"},
      {[](auto& a) { a.base.resize(100'000); }, "at most 65536 outputs"},
      {[](auto& a) { a.inputs = 1U << 30U; }, "at most 16777216 inputs"},
      {[](auto& a) { a.value.pop_back(); }, "as many value as feature (6), found 5"},
      {[](auto& a) { a.left.pop_back(); }, "as many left"},
      {[](auto& a) { a.right.push_back(0); }, "as many right"},
      {[](auto& a) { a.missing_left.clear(); }, "as many missing_left"},
      {[](auto& a) { a.output_of.pop_back(); }, "as many output_of as roots (2), found 1"},
      {[](auto& a) { a.output_of[1] = 1; }, "tree 1: output 1"},
      {[](auto& a) { a.roots.clear(), a.output_of.clear(); }, "6 nodes but no root"},
      {[](auto& a) { a.roots[0] = 1; }, "tree 0: expected the root at node 0, found 1"},
      {[](auto& a) { a.roots[1] = 0; }, "tree 1: root 0 does not follow"},
      {[](auto& a) { a.roots[1] = 6; }, "tree 1: root 6 is out of range"},
      {[](auto& a) { a.roots[1] = 4; }, "tree 0, node 2: child 4"},
      {[](auto& a) { a.left[2] = 2; }, "tree 0, node 2: child 2 does not follow its parent"},
      {[](auto& a) { a.left[2] = 0; }, "tree 0, node 2: child 0 does not follow its parent"},
      {[](auto& a) { a.right[2] = 5; }, "tree 0, node 2: child 5 does not follow its parent in the same tree"},
      {[](auto& a) { a.right[2] = 4'000'000'000; }, "child 4000000000"},
      {[](auto& a) { a.left[2] = 4; }, "tree 0, node 2: child 4 has two parents"},
      {[](auto& a) { a.right[0] = 3; }, "tree 0, node 2: the node is not a child of an earlier node"},
      {[](auto& a) { a.feature[3] = 0; }, "tree 0, node 3: child 0"},
      {[](auto& a) { a.feature[0] = -1; }, "tree 0, node 0: a leaf with children"},
      {[](auto& a) { a.feature[0] = 1; }, "tree 0, node 0: feature 1 is out of range"},
      {[](auto& a) { a.feature[0] = -2; }, "tree 0, node 0: feature -2"},
      {[=](auto& a) { a.value[2] = -infinity; }, "tree 0, node 2: the value is not finite"},
      {[](auto& a) { a.value[5] = std::nanf(""); }, "tree 1, node 5: the value is not finite"},
      {[](auto& a) { a.missing_left[2] = 2; }, "tree 0, node 2: expected missing_left 0 or 1, found 2"},
  };
  for (const TreesCase& spoilt : cases) {
    TreeArrays arrays = good();
    spoilt.spoil(arrays);
    expect_error(ErrorCode::kBadData, spoilt.message, [&] { const Trees trees(arrays); });
  }
}

TEST(Trees, RefusesOrTakesDamagedArraysButNeverReadsOutside) {
  Random random(5);
  const TreeArrays good = random_trees(3, 2, 6, 7, 0.6, random);
  const std::size_t nodes = good.feature.size();
  std::size_t refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    TreeArrays arrays = good;
    const std::size_t node = random.below(nodes);
    const auto number = static_cast<std::uint32_t>(random.below(2) == 0 ? random.below(nodes + 2) : random.bits());
    switch (random.below(6)) {
      case 0:
        arrays.left[node] = number;
        break;
      case 1:
        arrays.right[node] = number;
        break;
      case 2:
        arrays.feature[node] = static_cast<std::int32_t>(number);
        break;
      case 3:
        arrays.value[node] = std::bit_cast<float>(number);
        break;
      case 4:
        arrays.roots[random.below(arrays.roots.size())] = number;
        break;
      default:
        arrays.output_of[random.below(arrays.output_of.size())] = number;
        break;
    }
    try {
      check_against_walk(arrays, 9, random);
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.code(), ErrorCode::kBadData);
    }
  }
  EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace widthwise
