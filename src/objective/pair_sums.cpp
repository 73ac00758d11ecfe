#include "objective/pair_sums.hpp"

#include <algorithm>
#include <vector>

#include "objective/objectives.hpp"
#include "objective/partition.hpp"

namespace widthwise::internal {
namespace {

// Buckets small enough for the second-level cache, and not so many that their streams fill the TLB.
constexpr std::size_t kPairsPerBucket = 1 << 12;
constexpr std::size_t kMaxBuckets = 1 << 10;

/// Weight of the thresholds in lower buckets, by bucket.
std::vector<double> weights_below_parts(const Partition& thresholds, std::size_t buckets) {
  std::vector<double> below(buckets, 0.0);
  for (std::size_t k = 0; k + 1 < buckets; ++k) {
    double weight = 0;
    for (const Item& item : thresholds.bucket(k)) weight += item.payload;
    below[k + 1] = below[k] + weight;
  }
  return below;
}

/// Replace the weight of each value of a bucket by the weight of the thresholds below it; `below` is that of lower
/// buckets.
void put_weights_below(SortedBucket& thresholds, double below, std::span<Item> values) {
  for (Item& item : thresholds.items()) {
    const double weight = item.payload;
    item.payload = below;
    below += weight;
  }
  const Item* const ordered = thresholds.items().data();
  const std::size_t ordered_count = thresholds.items().size();
  for (Item& item : values) {
    const std::size_t place = thresholds.count_below(item.value);
    item.payload = place < ordered_count ? ordered[place].payload : below;
  }
}

/// Goes down over the buckets. `above` and `excess` are the weight of the values in higher buckets and their excess
/// over `edge`, the least of them. The excess over a lower threshold is that much more: (weight above) times the step,
/// a sum of positive terms.
class ExcessAbove {
 public:
  explicit ExcessAbove(std::size_t largest_part) : weights_from_value_(largest_part + 1) {}

  /// Take the values of the next lower bucket; replace each threshold of that bucket by its excess and weight above.
  void pass(SortedBucket& values, std::span<Item> thresholds) {
    double* const weights_from = weights_from_value_.data();
    Item* const sorted = values.items().data();
    const std::size_t count = values.items().size();
    weights_from[count] = above_;
    const double bucket_edge = edge_;
    const double bucket_excess = excess_;
    // Next to each value goes the excess, over it, of all values above it.
    double above = above_;
    double excess = excess_;
    double edge = edge_;
    for (std::size_t i = count; i-- > 0;) {
      if (above > 0) excess += above * (edge - sorted[i].value);
      edge = sorted[i].value;
      above += sorted[i].payload;
      sorted[i].payload = excess;
      weights_from[i] = above;
    }
    above_ = above;
    excess_ = excess;
    edge_ = edge;
    for (Item& item : thresholds) {
      const double threshold = item.value;
      const std::size_t place = values.count_up_to(threshold);
      const double weight = weights_from[place];
      const bool last = place == count;
      const double over = last ? bucket_excess : sorted[place].payload;
      const double step = (last ? bucket_edge : sorted[place].value) - threshold;
      item = {weight > 0 ? over + weight * step : 0.0, weight};
    }
  }

 private:
  std::vector<double> weights_from_value_;
  double above_ = 0;
  double excess_ = 0;
  double edge_ = 0;
};

}  // namespace

void exact_pair_sums(const PairRows& rows, const PairSums& out, Workspace& workspace) {
  const std::size_t n = rows.values.size();
  const std::size_t buckets = std::clamp<std::size_t>(n / kPairsPerBucket, 1, kMaxBuckets);
  const BucketMap map(rows.values, rows.thresholds, buckets);
  const Partition values(map, rows.values, rows.value_weights, workspace, kPartedValues);
  const Partition thresholds(map, rows.thresholds, rows.threshold_weights, workspace, kBucketedThresholds);
  SortedBucket sorted_values(values.largest());
  SortedBucket sorted_thresholds(thresholds.largest());
  const std::vector<double> weight_below_bucket = weights_below_parts(thresholds, buckets);
  ExcessAbove excess(values.largest());
  for (std::size_t k = buckets; k-- > 0;) {
    sorted_values.sort(values.bucket(k));
    sorted_thresholds.sort(thresholds.bucket(k));
    put_weights_below(sorted_thresholds, weight_below_bucket[k], values.bucket(k));
    excess.pass(sorted_values, thresholds.bucket(k));
  }

  values.collect([to = out.weight_below.data()](std::size_t i, const Item& item) { to[i] = item.payload; });
  thresholds.collect(
      [to_excess = out.excess.data(), to_weight = out.weight_above.data()](std::size_t m, const Item& item) {
        to_excess[m] = item.value;
        to_weight[m] = item.payload;
      });
}

}  // namespace widthwise::internal
