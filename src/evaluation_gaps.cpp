#include "evaluation_gaps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace widthwise::internal {

void CoverageGaps::add(PlaceKind kind, std::size_t feature, std::span<const BinRows> bins) {
  CoverageGap gap{.kind = kind, .feature = feature};
  double rows = 0;
  for (const BinRows& bin : bins) {
    if (bin.rows.size() < kMinBinRows) continue;
    const auto n = static_cast<double>(bin.rows.size());
    const double difference = bin.bin.coverage.share - level_.value();
    rows += n;
    gap.mean += n * std::abs(difference);
    gap.by_chance += n * test_.gap_by_chance(bin.rows);
    if (std::abs(difference) > std::abs(gap.largest)) gap.largest = difference;
    p_values_.push_back(test_.two_sided_p_value(bin.rows));
    owner_.push_back(gaps_.size());
    ++gap.bins;
  }
  if (gap.bins == 0) return;
  gap.mean /= rows;
  gap.by_chance /= rows;
  gaps_.push_back(gap);
}

std::vector<CoverageGap> CoverageGaps::finish(std::size_t levels) && {
  const std::vector<double> adjusted = adjusted_by_holm(p_values_);
  for (std::size_t i = 0; i < adjusted.size(); ++i) {
    CoverageGap& gap = gaps_[owner_[i]];
    gap.p_value = std::min(gap.p_value, static_cast<double>(levels) * adjusted[i]);
  }
  return std::move(gaps_);
}

}  // namespace widthwise::internal
