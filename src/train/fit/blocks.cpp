#include "train/fit/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise::internal {
namespace {

template <class Value>
std::vector<Value> distinct(std::vector<Value> values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  return values;
}

template <class Value>
std::vector<Value> some(const std::vector<Value>& values, std::span<const std::size_t> rows) {
  std::vector<Value> taken;
  if (values.empty()) return taken;
  taken.reserve(rows.size());
  for (const std::size_t row : rows) taken.push_back(values[row]);
  return taken;
}

/// The index of each value among the distinct ones, which are ascending.
template <class Value>
std::vector<std::size_t> places(const std::vector<Value>& values, const std::vector<Value>& among) {
  std::vector<std::size_t> places;
  places.reserve(values.size());
  for (const Value& value : values) {
    places.push_back(static_cast<std::size_t>(std::ranges::lower_bound(among, value) - among.begin()));
  }
  return places;
}

/// The first block of the share: the latest blocks with about `wanted` rows, but not all blocks.
std::size_t first_late_block(std::span<const std::size_t> rows, double wanted) {
  std::size_t first = rows.size() - 1;
  auto taken = static_cast<double>(rows[first]);
  // Add a block if that comes closer to the wanted number of rows.
  while (first > 1 && std::abs(taken + static_cast<double>(rows[first - 1]) - wanted) <= std::abs(taken - wanted)) {
    taken += static_cast<double>(rows[--first]);
  }
  return first;
}

/// The fold of each block: consecutive blocks with about equally many rows, by the middle of the block. There are fewer
/// folds if a block is longer than a fold, but at least two.
std::vector<std::size_t> folds_in_order(std::span<const std::size_t> rows, std::size_t count) {
  const std::size_t n = std::accumulate(rows.begin(), rows.end(), std::size_t{0});
  std::vector<std::size_t> folds;
  std::size_t before = 0;  // rows of earlier blocks
  std::size_t last = 0;
  for (const std::size_t size : rows) {
    const std::size_t place = (2 * before + size) * count / (2 * n);
    folds.push_back(folds.empty() ? 0 : folds.back() + (place != last ? 1 : 0));
    last = place;
    before += size;
  }
  return folds;
}

}  // namespace

RowBlocks RowBlocks::of(std::span<const std::size_t> rows) const { return {some(clusters_, rows), some(times_, rows)}; }

std::size_t RowBlocks::count() const {
  return clusters_.empty() ? distinct(times_).size() : distinct(clusters_).size();
}

RowBlocks::Numbered RowBlocks::numbered(std::uint64_t seed) const {
  Numbered blocks;
  if (clusters_.empty()) {
    const std::vector<double> all = distinct(times_);
    blocks.block_of = places(times_, all);
    blocks.rows.resize(all.size());
  } else {
    const std::vector<std::uint64_t> all = distinct(clusters_);
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Random(seed).shuffle(std::span(order));
    blocks.block_of = places(clusters_, all);
    for (std::size_t& block : blocks.block_of) block = order[block];
    blocks.rows.resize(all.size());
  }
  for (const std::size_t block : blocks.block_of) ++blocks.rows[block];
  return blocks;
}

std::vector<bool> RowBlocks::share(double share, std::uint64_t seed) const {
  const Numbered blocks = numbered(seed);
  std::vector<bool> in_share(blocks.block_of.size());
  if (share == 0) return in_share;
  const std::size_t count = blocks.rows.size();
  if (count < 2) {
    throw make_error(ErrorCode::kTooFewRows,
                     "fit: found rows of {}; expected at least 2, because no split separates {}",
                     clusters_.empty() ? "one time" : "one cluster",
                     clusters_.empty() ? "rows of the same time" : "the rows of a cluster");
  }
  const double wanted = std::round(share * static_cast<double>(clusters_.empty() ? in_share.size() : count));
  const std::size_t first = clusters_.empty()
                                ? first_late_block(blocks.rows, wanted)
                                : count - std::clamp<std::size_t>(static_cast<std::size_t>(wanted),
                                                                  std::min<std::size_t>(2, count - 1), count - 1);
  for (std::size_t i = 0; i < in_share.size(); ++i) in_share[i] = blocks.block_of[i] >= first;
  return in_share;
}

Folds RowBlocks::folds(std::size_t count, std::uint64_t seed) const {
  const Numbered blocks = numbered(seed);
  const std::size_t n = blocks.block_of.size();
  if (count < 2 || count > blocks.rows.size()) {
    throw make_error(count < 2 ? ErrorCode::kInvalidArgument : ErrorCode::kTooFewRows,
                     "fit: {} for the {} of the fitting rows; expected at least 2 folds, and at least one {} per fold",
                     count_of(count, "fold"), count_of(blocks.rows.size(), clusters_.empty() ? "time" : "cluster"),
                     clusters_.empty() ? "time" : "cluster");
  }
  Folds folds{.count = count, .order = std::vector<std::size_t>(n), .fold_of = {}};
  std::iota(folds.order.begin(), folds.order.end(), std::size_t{0});
  std::vector<std::size_t> fold_of_block(blocks.rows.size());
  if (clusters_.empty()) {
    fold_of_block = folds_in_order(blocks.rows, count);
    folds.count = fold_of_block.back() + 1;
  } else {
    for (std::size_t block = 0; block < fold_of_block.size(); ++block) fold_of_block[block] = block % count;
  }
  folds.fold_of.reserve(n);
  for (const std::size_t block : blocks.block_of) folds.fold_of.push_back(fold_of_block[block]);
  return folds;
}

}  // namespace widthwise::internal
