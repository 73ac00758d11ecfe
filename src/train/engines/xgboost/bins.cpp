#include "train/engines/xgboost/bins.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>

#include <widthwise/random.hpp>

namespace widthwise::internal {
namespace {

constexpr std::size_t kMaxRows = 100'000;  // of all workers

/// The rows to read: all, or about kMaxRows of all workers.
std::vector<std::size_t> sampled(std::size_t rows, const Communicator* communicator) {
  auto all = static_cast<double>(rows);
  if (communicator != nullptr) communicator->sum({&all, 1});
  const double share = static_cast<double>(kMaxRows) / all;
  Random random(communicator != nullptr ? communicator->rank() : 0);
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < rows; ++i) {
    if (share >= 1 || random.uniform() < share) sample.push_back(i);
  }
  return sample;
}

/// The values of one column in the sampled rows of all workers, sorted, without missing values.
std::vector<float> sorted_values(MatrixView x, std::size_t column, std::span<const std::size_t> sample,
                                 const Communicator* communicator) {
  std::vector<float> values;
  for (const std::size_t row : sample) {
    const auto value = static_cast<float>(x(row, column));
    if (!std::isnan(value)) values.push_back(value);
  }
  if (communicator != nullptr) {
    const auto parts = gather(*communicator, std::as_bytes(std::span(values)));
    values.clear();
    for (const std::vector<std::byte>& part : parts) {
      const std::size_t first = values.size();
      values.resize(first + part.size() / sizeof(float));
      if (!part.empty()) std::memcpy(values.data() + first, part.data(), part.size());
    }
  }
  std::ranges::sort(values);
  return values;
}

/// The edges between bins of sorted values: between all distinct values if these are few, else after about equally many
/// rows.
std::vector<float> edges_of(const std::vector<float>& sorted) {
  std::vector<float> distinct;
  std::ranges::unique_copy(sorted, std::back_inserter(distinct));
  if (distinct.size() <= Bins::kMost) return {distinct.begin() + (distinct.empty() ? 0 : 1), distinct.end()};
  std::vector<float> edges;
  for (std::size_t bin = 1; bin < Bins::kMost; ++bin) {
    const float edge = sorted[bin * sorted.size() / Bins::kMost];
    if (edge > (edges.empty() ? sorted.front() : edges.back())) edges.push_back(edge);
  }
  return edges;
}

}  // namespace

Bins::Bins(const InputRows& rows, const Communicator* communicator)
    : edges_(rows.x.columns()), categorical_(rows.categorical.begin(), rows.categorical.end()) {
  const std::vector<std::size_t> sample = sampled(rows.x.rows(), communicator);
  for (std::size_t j = 0; j < edges_.size(); ++j) {
    if (is_number(j)) edges_[j] = edges_of(sorted_values(rows.x, j, sample, communicator));
  }
}

std::vector<float> Bins::numbers(MatrixView x) const {
  std::vector<float> numbers;
  numbers.reserve(x.rows() * x.columns());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < x.columns(); ++j) {
      const auto value = static_cast<float>(x(i, j));
      const std::vector<float>& edges = edges_[j];
      numbers.push_back(is_number(j) && !std::isnan(value)
                            ? static_cast<float>(std::ranges::upper_bound(edges, value) - edges.begin())
                            : value);
    }
  }
  return numbers;
}

void Bins::to_values(TreeArrays& trees) const {
  for (std::size_t node = 0; node < trees.feature.size(); ++node) {
    const std::int32_t column = trees.feature[node];
    if (column < 0 || !is_number(static_cast<std::size_t>(column))) continue;  // leaves and sets of categories
    const std::vector<float>& edges = edges_[static_cast<std::size_t>(column)];
    const auto bin = static_cast<std::size_t>(std::max(std::ceil(trees.value[node]), 1.0F));
    // Numbers below `bin` are values below its edge. Beyond the last bin, a split separates missing values.
    trees.value[node] = bin <= edges.size() ? edges[bin - 1] : std::numeric_limits<float>::max();
  }
}

}  // namespace widthwise::internal
