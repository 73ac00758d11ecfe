#include "objective/pair_sums.hpp"

#include <algorithm>
#include <vector>

#include "objective/objectives.hpp"
#include "objective/partition.hpp"

namespace widthwise::internal {
namespace {

// Parts small enough for the second-level cache, and not so many that their streams fill the address cache.
constexpr std::size_t kPartSize = 1 << 12;
constexpr std::size_t kMostParts = 1 << 10;

}  // namespace

void exact_pair_sums(const PairRows& rows, const PairSums& out, Workspace& workspace) {
  const std::size_t n = rows.values.size();
  const std::size_t parts = std::clamp<std::size_t>(n / kPartSize, 1, kMostParts);
  const PartMap map(rows.values, rows.thresholds, parts);
  const Partition values(map, rows.values, rows.value_weights, workspace, kPartedValues);
  const Partition thresholds(map, rows.thresholds, rows.threshold_weights, workspace, kPartedThresholds);
  SortedPart sorted_values(values.largest());
  SortedPart sorted_thresholds(thresholds.largest());
  std::vector<double> weights_from_value(values.largest() + 1);
  double* const weights_from = weights_from_value.data();

  // Upwards over the parts, `below` is the weight of the thresholds in lower parts; each value is replaced by the
  // weight of the thresholds below it. Values of a part are needed again for the way down, so they are replaced only
  // then.
  std::vector<double> weight_below_part(parts, 0.0);
  for (std::size_t k = 0; k + 1 < parts; ++k) {
    double weight = 0;
    for (const Item& item : thresholds.part(k)) weight += item.payload;
    weight_below_part[k + 1] = weight_below_part[k] + weight;
  }

  // Downwards, `above` and `excess` are the weight of the values in higher parts and their excess over `edge`, the
  // least of them. The excess over a lower threshold is that much more: (weight above) times the step, a sum of
  // positive terms.
  double above = 0;
  double excess = 0;
  double edge = 0;
  for (std::size_t k = parts; k-- > 0;) {
    sorted_values.sort(values.part(k));
    sorted_thresholds.sort(thresholds.part(k));

    double below = weight_below_part[k];
    for (Item& item : sorted_thresholds.items()) {
      const double weight = item.payload;
      item.payload = below;
      below += weight;
    }
    const Item* const ordered = sorted_thresholds.items().data();
    const std::size_t ordered_count = sorted_thresholds.items().size();
    for (Item& item : values.part(k)) {
      const std::size_t place = sorted_thresholds.count_below(item.value);
      item.payload = place < ordered_count ? ordered[place].payload : below;
    }

    // Beside each value goes the excess, over it, of all values above it.
    Item* const sorted = sorted_values.items().data();
    const std::size_t sorted_count = sorted_values.items().size();
    weights_from[sorted_count] = above;
    const double part_edge = edge;
    const double part_excess = excess;
    for (std::size_t i = sorted_count; i-- > 0;) {
      if (above > 0) excess += above * (edge - sorted[i].value);
      edge = sorted[i].value;
      above += sorted[i].payload;
      sorted[i].payload = excess;
      weights_from[i] = above;
    }
    for (Item& item : thresholds.part(k)) {
      const double threshold = item.value;
      const std::size_t place = sorted_values.count_up_to(threshold);
      const double weight = weights_from[place];
      const bool last = place == sorted_count;
      const double over = last ? part_excess : sorted[place].payload;
      const double step = (last ? part_edge : sorted[place].value) - threshold;
      item = {weight > 0 ? over + weight * step : 0.0, weight};
    }
  }

  values.collect([to = out.weight_below.data()](std::size_t i, const Item& item) { to[i] = item.payload; });
  thresholds.collect(
      [to_excess = out.excess.data(), to_weight = out.weight_above.data()](std::size_t m, const Item& item) {
        to_excess[m] = item.value;
        to_weight[m] = item.payload;
      });
}

}  // namespace widthwise::internal
