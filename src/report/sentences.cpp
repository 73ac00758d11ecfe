#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/report.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise {

using internal::percent;
using internal::significant;

namespace {

struct NamedRange {
  double low;
  double high;
  bool reaches_min;
  bool reaches_greatest;
};

std::string summary(const NamedRange& range, std::string_view name) {
  const std::string subject = std::string(name) + " is ";
  if (std::isnan(range.low)) return subject + "missing";
  if (range.low == range.high) return subject + significant(range.low);
  if (range.reaches_min && range.reaches_greatest) return subject + "anything";
  if (range.reaches_greatest) return subject + "at least " + significant(range.low);
  if (range.reaches_min) return subject + "at most " + significant(range.high);
  return subject + significant(range.low) + " to " + significant(range.high);
}

/// Describe a label, which is quoted unless it is an integer; or the rows without one.
std::string summary_of_label(const WeakPlace& place, std::string_view name, std::string_view without_label) {
  const std::string subject = std::string(name) + " is ";
  if (place.label.empty()) return subject + std::string(without_label);
  if (place.label == kOtherLabels) return subject + "one of those with few rows";
  const std::string label = internal::printable(place.label);
  return subject + (std::isnan(place.low) ? "'" + label + "'" : label);
}

/// "a", "a and b" or "a, b and c": the features with the largest weights in a direction.
std::string heaviest(std::span<const double> direction, std::span<const std::string> features) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::size_t> order(direction.size());
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t j) { return std::abs(direction[j]); });
  const auto weighing = static_cast<std::size_t>(std::ranges::count_if(direction, [](double w) { return w != 0; }));
  const std::size_t named = std::min(kNamed, weighing);
  std::string text;
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == named ? " and " : ", ";
    text += internal::printable(features[order[i]]);
  }
  return text + (named == 1 ? " weighs" : " weigh");
}

}  // namespace

std::string summary(const FeatureSlab& slab, std::string_view name) {
  return summary(NamedRange{slab.low, slab.high, slab.reaches_min, slab.reaches_greatest}, internal::printable(name));
}

std::string summary(const WeakPlace& place, const LevelEvaluation& evaluation, std::span<const std::string> features) {
  const NamedRange range{place.low, place.high, place.reaches_min, place.reaches_greatest};
  switch (place.kind) {
    case PlaceKind::kRange:
    case PlaceKind::kFeature:
      return summary(range, internal::printable(features[place.feature]));
    case PlaceKind::kCategory:
      return summary_of_label(place, internal::printable(features[place.feature]), "missing or new");
    case PlaceKind::kColumn: {
      const std::string name = evaluation.by ? internal::printable(evaluation.by->name) : "the column";
      return place.label.empty() ? summary(range, name) : summary_of_label(place, name, "missing");
    }
    case PlaceKind::kGroup:
      return place.label.empty() ? summary(range, "group") : "group is " + internal::printable(place.label);
    case PlaceKind::kPrediction:
      return summary(range, "the prediction");
    case PlaceKind::kWidth:
      return summary(range, "the interval width");
    case PlaceKind::kSlab:
      if (!evaluation.slab) return "several features combine";
      return "several features combine, of which " + heaviest(evaluation.slab->direction, features) + " most";
  }
  return "";
}

std::string summary(const CoverageGap& gap, const LevelEvaluation& evaluation, std::span<const std::string> features) {
  const std::string highest = percent(gap.highest.coverage.share) + " where ";
  const std::string lowest = " and " + percent(gap.lowest.coverage.share) + " where ";
  if (gap.kind != PlaceKind::kWidth) {
    return highest + summary(gap.highest, evaluation, features) + lowest + summary(gap.lowest, evaluation, features);
  }
  const bool is_narrow = gap.highest.low < gap.lowest.low;
  const auto range = [](const Place& place) {
    return " (" + significant(place.low) + (place.low == place.high ? "" : " to " + significant(place.high)) + ")";
  };
  return highest + "intervals are " + (is_narrow ? "narrow" : "wide") + range(gap.highest) + lowest + "they are " +
         (is_narrow ? "wide" : "narrow") + range(gap.lowest);
}

}  // namespace widthwise
