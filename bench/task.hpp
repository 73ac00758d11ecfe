#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// A task and its baseline. Each runs once and returns its seconds.
struct Task {
  std::string name;
  std::string bare_name;
  double aim;
  std::function<double()> ours;
  std::function<double()> bare;
};

inline double seconds(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// 300 trees over `rows` rows, compared with a plain walk from node to node.
std::vector<Task> make_tree_tasks(std::size_t rows);
