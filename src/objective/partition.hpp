#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <widthwise/objective.hpp>

#include "objective/summary.hpp"

namespace widthwise::internal {

/// A value with its payload.
struct Item {
  double value;
  double payload;
};

/// A monotone map from numbers to about equally filled buckets, estimated from a sample; bucket 0 has the smallest
/// numbers. An unrepresentative sample makes buckets uneven, but never wrong.
class BucketMap {
 public:
  BucketMap(std::span<const double> values, std::span<const double> others, std::size_t buckets);

  [[nodiscard]] std::size_t buckets() const { return buckets_; }

  [[nodiscard]] std::uint16_t bucket_of(double t) const {
    const double x = grid_.coordinate(t);
    const Cell& cell = cells_.data()[BinGrid::bin_of(x)];
    const double bucket = cell.first + (x - cell.edge) * cell.slope;
    return static_cast<std::uint16_t>(bucket < cell.last ? bucket : cell.last);
  }

 private:
  /// A bin of the grid, and its share of the buckets according to the sample.
  struct Cell {
    double edge;
    double slope;
    double first;
    double last;
  };

  std::size_t buckets_;
  BinGrid grid_;
  std::vector<Cell> cells_;
};

/// Items assigned to buckets in their original order. Writing and reading use one sequential stream per bucket, without
/// random memory access. Values stored in place of the items can be collected in the original order. The memory is in
/// the workspace, in `slot` and the next one.
class Partition {
 public:
  /// Payloads may be empty, which means 1.
  Partition(const BucketMap& map, std::span<const double> values, std::span<const double> payloads,
            Workspace& workspace, std::size_t slot);

  [[nodiscard]] std::span<Item> bucket(std::size_t k) const {
    return items_.subspan(starts_[k], starts_[k + 1] - starts_[k]);
  }
  [[nodiscard]] std::size_t largest() const;

  /// Call `take(i, item)` for each original index i in order.
  template <class Take>
  void collect(const Take& take) const {
    std::vector<std::size_t> cursors(starts_.begin(), starts_.end());
    std::size_t* const next = cursors.data();
    const Item* const items = items_.data();
    const std::uint16_t* const ids = ids_.data();
    for (std::size_t i = 0; i < ids_.size(); ++i) take(i, items[next[ids[i]]++]);
  }

 private:
  std::span<Item> items_;
  std::span<std::uint16_t> ids_;
  std::vector<std::size_t> starts_;
};

/// The items of one bucket in ascending order, with look-up of any number: sorted by a linear estimate of the position
/// and a short correction.
class SortedBucket {
 public:
  /// Memory for buckets of up to `largest` items.
  explicit SortedBucket(std::size_t largest);

  void sort(std::span<const Item> items);

  [[nodiscard]] std::span<Item> items() { return {sorted_.data(), size_}; }

  /// Number of values less than t.
  [[nodiscard]] std::size_t count_below(double t) const {
    return place([t](const Item& item) { return item.value < t; }, t);
  }

  /// Number of values that are at most t.
  [[nodiscard]] std::size_t count_up_to(double t) const {
    return place([t](const Item& item) { return item.value <= t; }, t);
  }

 private:
  [[nodiscard]] std::size_t bucket_of(double t) const {
    const double guess = (t - low_) * per_width_;
    const double last = static_cast<double>(buckets_ - 1);
    return static_cast<std::size_t>(guess > 0 ? (guess < last ? guess : last) : 0.0);
  }

  template <class Before>
  [[nodiscard]] std::size_t place(const Before& before, double t) const {
    const std::size_t bucket = bucket_of(t);
    const std::size_t first = starts_.data()[bucket];
    const std::size_t end = starts_.data()[bucket + 1];
    if (end - first > kFew) [[unlikely]] {
      const auto at = [&](std::size_t i) { return sorted_.begin() + static_cast<std::ptrdiff_t>(i); };
      return static_cast<std::size_t>(std::partition_point(at(first), at(end), before) - sorted_.begin());
    }
    // A fixed number of comparisons, so that no branch depends on the size of the bucket. Items after the bucket are
    // not less than t.
    std::size_t count = first;
    const Item* const items = sorted_.data() + first;
    for (std::size_t i = 0; i < kFew; ++i) count += static_cast<std::size_t>(before(items[i]));
    return count;
  }

  static constexpr std::size_t kFew = 4;

  std::vector<Item> sorted_;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> cursors_;
  std::size_t size_ = 0;
  std::size_t buckets_ = 1;
  double low_ = 0;
  double per_width_ = 0;
};

}  // namespace widthwise::internal
