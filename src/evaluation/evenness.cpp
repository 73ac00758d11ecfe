#include "evaluation/parts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

namespace widthwise::internal {
namespace {

// Shares of the error rate: bins, the searched range, the searched slab.
constexpr double kBinShare = 0.5;
constexpr double kRangeErrorShare = 0.25;
constexpr double kSlabErrorShare = 0.25;

/// The order of gaps in reports.
int order_of(PlaceKind kind) {
  switch (kind) {
    case PlaceKind::kWidth:
      return 0;
    case PlaceKind::kPrediction:
      return 1;
    case PlaceKind::kGroup:
      return 3;
    case PlaceKind::kColumn:
      return 4;
    default:
      return 2;
  }
}

/// The gap that tells most: by width if coverage differs there, which needs no feature to explain; else the largest.
std::optional<std::size_t> clearest(std::span<const CoverageGap> gaps) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (gaps[i].bins < 2 || gaps[i].p_value > kWeakPlaceError) continue;
    if (gaps[i].kind == PlaceKind::kWidth) return i;
    if (!found || gaps[i].mean > gaps[*found].mean) found = i;
  }
  return found;
}

}  // namespace

double EvennessTest::add(PlaceKind kind, std::size_t feature, std::span<BinRows> bins,
                         std::span<const std::size_t> numbers) {
  CoverageGap gap{.kind = kind, .feature = feature};
  double minimum = 1;
  double rows = 0;
  Tails clearest_bin;
  for (BinRows& bin : bins) {
    if (bin.rows.size() < kMinBinRows) continue;
    if (!numbers.empty()) {
      for (std::size_t& row : bin.rows) row = numbers[row];
    }
    const Proportion& coverage = bin.bin.coverage;
    const Tails tails = test_.tails(bin.rows);
    const Place place{.kind = kind,
                      .feature = feature,
                      .low = bin.bin.low,
                      .high = bin.bin.high,
                      .label = bin.bin.label,
                      .coverage = coverage,
                      .p_value = coverage.share < level_.value() ? tails.below : 1};
    const auto n = static_cast<double>(bin.rows.size());
    const double difference = coverage.share - level_.value();
    rows += n;
    gap.mean += n * std::abs(difference);
    gap.by_chance += n * test_.gap_by_chance(bin.rows);
    if (std::abs(difference) > std::abs(gap.largest)) gap.largest = difference;
    if (gap.bins == 0 || tails.below < clearest_bin.below) {
      gap.lowest = place;
      clearest_bin.below = tails.below;
    }
    if (gap.bins == 0 || tails.above < clearest_bin.above) {
      gap.highest = place;
      clearest_bin.above = tails.above;
    }
    ++gap.bins;
    minimum = std::min(minimum, tails.two_sided());
    bins_.push_back({.place = place, .tails = tails, .bin = &bin.bin, .gap = gaps_.size()});
  }
  if (gap.bins == 0) return minimum;
  gap.mean /= rows;
  gap.by_chance /= rows;
  gaps_.push_back(std::move(gap));
  return minimum;
}

bool EvennessTest::add_searched(Place place, double error, std::span<const std::size_t> search,
                                std::span<const std::size_t> measured) {
  ++searched_;
  place.p_value = test_.p_value(search, measured);
  if (place.p_value > error * kWeakPlaceError / levels_) return false;
  weak_.push_back(std::move(place));
  return true;
}

bool EvennessTest::add_searched_range(Place place, std::span<const std::size_t> search,
                                      std::span<const std::size_t> measured) {
  return add_searched(std::move(place), kRangeErrorShare, search, measured);
}

bool EvennessTest::add_searched_slab(Place place, std::span<const std::size_t> search,
                                     std::span<const std::size_t> measured) {
  return add_searched(std::move(place), kSlabErrorShare, search, measured);
}

void EvennessTest::decide() {
  std::vector<double> p_values;
  p_values.reserve(bins_.size());
  for (const TestedBin& bin : bins_) p_values.push_back(bin.tails.two_sided());
  const std::vector<double> adjusted = adjusted_by_holm(p_values);
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const TestedBin& bin = bins_[i];
    const double p_value = std::min(1.0, levels_ / kBinShare * adjusted[i]);
    gaps_[bin.gap].p_value = std::min(gaps_[bin.gap].p_value, p_value);
    const bool is_low = bin.tails.below < bin.tails.above && bin.place.coverage.share < level_.value();
    if (p_value > kWeakPlaceError || !is_low) continue;
    bin.bin->weak = true;
    weak_.push_back(bin.place);
  }
}

void EvennessTest::finish(LevelEvaluation& result) && {
  decide();
  // Ranges, labels and the values of the column that was asked for are equally actionable.
  std::ranges::stable_sort(weak_, {}, [](const WeakPlace& place) {
    return std::tuple(std::max(place.kind, PlaceKind::kColumn), place.p_value, place.coverage.share);
  });
  std::ranges::stable_sort(gaps_, {}, [](const CoverageGap& gap) { return order_of(gap.kind); });
  result.places_tested = bins_.size() + searched_;
  result.weak_places = std::move(weak_);
  result.gaps = std::move(gaps_);
  // If coverage as a whole differs from the expected range, so do the bins, whether coverage is even or not.
  const bool has_range = result.verdict == Verdict::kValid || result.verdict == Verdict::kNotJudged;
  if (has_range) result.uneven = clearest(result.gaps);
}

}  // namespace widthwise::internal
