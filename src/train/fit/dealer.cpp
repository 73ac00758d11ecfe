#include "train/fit/dealer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include <widthwise/random.hpp>

namespace widthwise::internal {
namespace {

std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  random.shuffle(std::span(order));
  return order;
}

std::uint64_t lot_of(std::uint64_t number, std::uint64_t seed) { return mix_bits(number ^ mix_bits(seed)); }

/// In [0, 1).
double uniform_lot(std::uint64_t number, std::uint64_t seed) {
  return static_cast<double>(lot_of(number, seed) >> 11U) * 0x1p-53;
}

}  // namespace

Dealer::Split Dealer::split(double share, std::size_t least, std::uint64_t seed) const {
  const std::size_t n = numbers_.size();
  Split split;
  if (team_ != nullptr) {
    for (std::size_t i = 0; i < n; ++i) {
      (uniform_lot(numbers_[i], seed) < share ? split.share : split.rest).push_back(i);
    }
    return split;
  }
  const auto wanted = static_cast<std::size_t>(std::lround(share * static_cast<double>(n)));
  const auto count = static_cast<std::ptrdiff_t>(std::clamp(wanted, least, n - least));
  split.share = shuffled(n, seed);
  split.rest.assign(split.share.begin() + count, split.share.end());
  split.share.resize(static_cast<std::size_t>(count));
  return split;
}

std::vector<std::size_t> Dealer::folds(std::size_t count, std::uint64_t seed) const {
  std::vector<std::size_t> folds;
  folds.reserve(numbers_.size());
  for (const std::uint64_t number : numbers_) folds.push_back(lot_of(number, seed) % count);
  return folds;
}

Dealer Dealer::of(std::span<const std::size_t> rows) const {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(rows.size());
  for (const std::size_t row : rows) numbers.push_back(numbers_[row]);
  return {std::move(numbers), team_};
}

double total(const Team* team, double own) {
  if (team != nullptr) team->sum({&own, 1});
  return own;
}

std::vector<double> sample_of_all(const Team& team, std::span<const double> rows, std::size_t columns,
                                  std::span<const std::uint64_t> numbers, std::size_t most) {
  constexpr std::uint64_t kSeed = 0x73616d706c65;
  const double share = static_cast<double>(most) / std::max(1.0, total(&team, static_cast<double>(numbers.size())));
  std::vector<double> own;  // each row after its number
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (uniform_lot(numbers[i], kSeed) >= share) continue;
    own.push_back(std::bit_cast<double>(numbers[i]));
    own.insert(own.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * columns),
               rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
  }
  std::vector<double> all;
  for (const auto& bytes : gather(team, std::as_bytes(std::span(own)))) {
    const std::size_t before = all.size();
    all.resize(before + bytes.size() / sizeof(double));
    if (!bytes.empty()) std::memcpy(all.data() + before, bytes.data(), bytes.size());
  }
  const std::size_t width = columns + 1;
  std::vector<std::size_t> order(all.size() / width);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::bit_cast<std::uint64_t>(all[i * width]); });
  std::vector<double> sample;
  sample.reserve(order.size() * columns);
  for (const std::size_t i : order) {
    const auto row = all.begin() + static_cast<std::ptrdiff_t>(i * width);
    sample.insert(sample.end(), row + 1, row + static_cast<std::ptrdiff_t>(width));
  }
  return sample;
}

}  // namespace widthwise::internal
