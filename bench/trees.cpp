#include <benchmark/benchmark.h>

#include <memory>

#include <widthwise/random.hpp>
#include <widthwise/row_function.hpp>

#include "task.hpp"

namespace {

using namespace widthwise;  // NOLINT(google-build-using-namespace): a program, not a header

constexpr std::size_t kTrees = 300;
constexpr std::size_t kInputs = 20;

/// Complete trees, similar to those that boosting grows on many rows.
TreeArrays make_trees(std::size_t levels) {
  Random random(1);
  TreeArrays trees;
  trees.inputs = kInputs;
  trees.base = {0.5F};
  const std::uint32_t splits = (1U << levels) - 1;
  for (std::size_t tree = 0; tree < kTrees; ++tree) {
    const auto root = static_cast<std::uint32_t>(trees.feature.size());
    trees.roots.push_back(root);
    trees.output_of.push_back(0);
    for (std::uint32_t i = 0; i < 2 * splits + 1; ++i) {
      const bool split = i < splits;
      trees.feature.push_back(split ? static_cast<std::int32_t>(random.below(kInputs)) : -1);
      trees.value.push_back(static_cast<float>(split ? random.normal() : 0.01 * random.normal()));
      trees.left.push_back(split ? root + 2 * i + 1 : 0);
      trees.right.push_back(split ? root + 2 * i + 2 : 0);
      trees.missing_left.push_back(split ? static_cast<std::uint8_t>(random.below(2)) : 0);
    }
  }
  return trees;
}

/// The baseline: evaluate the arrays row by row and tree by tree.
void walk(const TreeArrays& trees, const MatrixView& x, std::vector<double>& out) {
  for (std::size_t row = 0; row < x.rows(); ++row) {
    float sum = trees.base[0];
    for (std::size_t node : trees.roots) {
      while (trees.feature[node] >= 0) {
        const auto value = static_cast<float>(x(row, static_cast<std::size_t>(trees.feature[node])));
        const bool left = value != value ? trees.missing_left[node] != 0 : value < trees.value[node];
        node = left ? trees.left[node] : trees.right[node];
      }
      sum += trees.value[node];
    }
    out[row] = static_cast<double>(sum);
  }
}

struct Data {
  Data(std::size_t rows, std::size_t levels) : trees(make_trees(levels)), numbers(rows * kInputs), out(rows) {
    Random random(2);
    for (double& number : numbers) number = random.normal();
  }

  [[nodiscard]] MatrixView x() const { return {numbers.data(), out.size(), kInputs}; }

  Trees trees;
  std::vector<double> numbers;
  std::vector<double> out;
};

}  // namespace

std::vector<Task> make_tree_tasks(std::size_t rows) {
  std::vector<Task> tasks;
  for (const std::size_t levels : {4U, 6U, 9U}) {
    const auto data = std::make_shared<Data>(rows, levels);
    const auto bare = [data] {
      return seconds([&] {
        walk(data->trees.arrays(), data->x(), data->out);
        benchmark::ClobberMemory();
      });
    };
    const std::string name = "300 trees of depth " + std::to_string(levels);
    tasks.push_back({name + ", a batch", "a plain walk", 0.5,
                     [data, rows] {
                       return seconds([&] {
                         data->trees.evaluate(data->x(), {data->out.data(), rows, 1});
                         benchmark::ClobberMemory();
                       });
                     },
                     bare});
    tasks.push_back({name + ", row by row", "a plain walk", 1.0,
                     [data, rows] {
                       return seconds([&] {
                         for (std::size_t i = 0; i < rows; ++i) {
                           data->trees.evaluate(data->x().slice(i, 1), {data->out.data() + i, 1, 1});
                         }
                         benchmark::ClobberMemory();
                       });
                     },
                     bare});
  }
  return tasks;
}
