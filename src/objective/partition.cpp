#include "objective/partition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace widthwise::internal {
namespace {

constexpr std::size_t kSample = 1 << 14;
constexpr std::size_t kBucketSize = 2;

/// About kSample values, evenly spaced.
std::vector<double> sample_of(std::span<const double> values) {
  std::vector<double> sample;
  const std::size_t step = std::max<std::size_t>(1, values.size() / kSample);
  for (std::size_t i = 0; i < values.size(); i += step) sample.push_back(values[i]);
  return sample;
}

BinGrid grid_of(std::span<const double> sample) {
  double sum = 0;
  for (const double x : sample) sum += x;
  const double count = static_cast<double>(std::max<std::size_t>(sample.size(), 1));
  const double centre = sum / count;
  double roots = 0;
  for (const double x : sample) roots += std::sqrt(std::sqrt(std::abs(x - centre)));
  return BinGrid::around(centre, roots / count);
}

void insertion_sort(Item* first, Item* end) {
  for (Item* item = first + 1; item < end; ++item) {
    const Item moving = *item;
    Item* gap = item;
    for (; gap > first && moving.value < gap[-1].value; --gap) *gap = gap[-1];
    *gap = moving;
  }
}

}  // namespace

BucketMap::BucketMap(std::span<const double> values, std::span<const double> others, std::size_t buckets)
    : buckets_(buckets), grid_(0, 1), cells_(BinGrid::kBins) {
  std::vector<double> sample = sample_of(values);
  const std::vector<double> more = sample_of(others);
  sample.insert(sample.end(), more.begin(), more.end());
  grid_ = grid_of(sample);
  std::vector<std::size_t> counts(BinGrid::kBins, 0);
  for (const double x : sample) ++counts[BinGrid::bin_of(grid_.coordinate(x))];

  const double per_count = static_cast<double>(buckets) / static_cast<double>(std::max<std::size_t>(sample.size(), 1));
  const double last_bucket = static_cast<double>(buckets - 1);
  std::size_t before = 0;
  for (std::size_t bin = 0; bin < BinGrid::kBins; ++bin) {
    Cell& cell = cells_[bin];
    const double width = BinGrid::edge(bin + 1) - BinGrid::edge(bin);
    cell.first = std::min(static_cast<double>(before) * per_count, last_bucket);
    before += counts[bin];
    // The end bins are unbounded; all their numbers go to the first bucket of the bin.
    const bool endless = !std::isfinite(width);
    cell.edge = endless ? 0.0 : BinGrid::edge(bin);
    cell.slope = endless ? 0.0 : static_cast<double>(counts[bin]) * per_count / width;
    cell.last = std::min(static_cast<double>(before) * per_count, last_bucket);
  }
}

Partition::Partition(const BucketMap& map, std::span<const double> values, std::span<const double> payloads,
                     Workspace& workspace, std::size_t slot)
    : starts_(map.buckets() + 1, 0) {
  const std::size_t n = values.size();
  const double* const value = values.data();
  const double* const payload = payloads.empty() ? nullptr : payloads.data();
  items_ = {reinterpret_cast<Item*>(workspace.bytes(slot, n * sizeof(Item)).data()), n};
  ids_ = {reinterpret_cast<std::uint16_t*>(workspace.bytes(slot + 1, n * sizeof(std::uint16_t)).data()), n};
  if (map.buckets() == 1) {
    std::fill(ids_.begin(), ids_.end(), std::uint16_t{0});
    starts_[1] = n;
  } else {
    std::size_t* const starts = starts_.data();
    std::uint16_t* const ids = ids_.data();
    for (std::size_t i = 0; i < n; ++i) {
      ids[i] = map.bucket_of(value[i]);
      ++starts[ids[i] + 1U];
    }
    for (std::size_t k = 0; k < map.buckets(); ++k) starts_[k + 1] += starts_[k];
  }
  std::vector<std::size_t> cursors(starts_.begin(), starts_.end());
  std::size_t* const next = cursors.data();
  Item* const items = items_.data();
  const std::uint16_t* const ids = ids_.data();
  for (std::size_t i = 0; i < n; ++i) items[next[ids[i]]++] = {value[i], payload == nullptr ? 1.0 : payload[i]};
}

std::size_t Partition::largest() const {
  std::size_t maximum = 0;
  for (std::size_t k = 0; k + 1 < starts_.size(); ++k) maximum = std::max(maximum, starts_[k + 1] - starts_[k]);
  return maximum;
}

SortedBucket::SortedBucket(std::size_t largest)
    : sorted_(largest + kFew), starts_(largest + 2), cursors_(largest + 2) {}

void SortedBucket::sort(std::span<const Item> items) {
  size_ = items.size();
  buckets_ = std::max<std::size_t>(1, size_ / kBucketSize);
  double high = size_ > 0 ? items[0].value : 0.0;
  low_ = high;
  for (const Item& item : items) {
    low_ = item.value < low_ ? item.value : low_;
    high = item.value > high ? item.value : high;
  }
  per_width_ = high > low_ ? static_cast<double>(buckets_) / (high - low_) : 0.0;
  if (!std::isfinite(per_width_)) per_width_ = 0;

  std::fill_n(starts_.begin(), buckets_ + 1, 0U);
  std::uint32_t* const starts = starts_.data();
  std::uint32_t* const next = cursors_.data();
  Item* const sorted = sorted_.data();
  for (const Item& item : items) ++starts[bucket_of(item.value) + 1];
  for (std::size_t bucket = 0; bucket < buckets_; ++bucket) starts[bucket + 1] += starts[bucket];
  std::copy_n(starts, buckets_, next);
  for (const Item& item : items) sorted[next[bucket_of(item.value)]++] = item;

  // First sort buckets with too many items, then finish with an insertion sort over nearly sorted items.
  constexpr std::size_t kMany = 32;
  for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
    if (starts[bucket + 1] - starts[bucket] <= kMany) continue;
    std::sort(sorted + starts[bucket], sorted + starts[bucket + 1],
              [](const Item& a, const Item& b) { return a.value < b.value; });
  }
  insertion_sort(sorted, sorted + size_);
  std::fill_n(sorted + size_, kFew, Item{std::numeric_limits<double>::infinity(), 0});
}

}  // namespace widthwise::internal
