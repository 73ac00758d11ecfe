#include "train/fit/row_splitter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "message.hpp"

namespace widthwise::internal {
namespace {

std::vector<std::size_t> positions(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

}  // namespace

RowSplitter::Split RowSplitter::split(double share, std::size_t min_rows, std::uint64_t seed) const {
  const std::size_t n = numbers_.size();
  Split split;
  if (!workers_->alone()) {
    for (std::size_t i = 0; i < n; ++i) {
      (uniform_of_number(numbers_[i], seed) < share ? split.share : split.rest).push_back(i);
    }
    return split;
  }
  const auto wanted = static_cast<std::size_t>(std::lround(share * static_cast<double>(n)));
  const auto count = static_cast<std::ptrdiff_t>(std::min(std::max(wanted, min_rows), n - std::min(min_rows, n)));
  split.share = positions(n);
  Random(seed).shuffle(std::span(split.share));
  split.rest.assign(split.share.begin() + count, split.share.end());
  split.share.resize(static_cast<std::size_t>(count));
  return split;
}

Folds RowSplitter::folds(std::size_t count, std::uint64_t seed) const {
  if (workers_->alone()) return random_folds(numbers_.size(), count, seed);
  if (count < 2) {
    throw make_error(ErrorCode::kInvalidArgument, "fit: expected at least 2 folds, found {}", count);
  }
  Folds folds{.count = count, .order = positions(numbers_.size()), .fold_of = {}};
  folds.fold_of.reserve(numbers_.size());
  for (const std::uint64_t number : numbers_) folds.fold_of.push_back(hash_of_number(number, seed) % count);
  return folds;
}

RowSplitter RowSplitter::of(std::span<const std::size_t> rows) const {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(rows.size());
  for (const std::size_t row : rows) numbers.push_back(numbers_[row]);
  return {std::move(numbers), *workers_};
}

}  // namespace widthwise::internal
