#include "report/sentences.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "base/layout.hpp"

namespace widthwise {
namespace {

using internal::Percent;
using internal::Printable;
using internal::Significant;
using internal::written;

/// "4,000 to 12,384", or one number.
std::string from_to(double low, double high) {
  return low == high ? written(Significant{low}) : fmt::format("{} to {}", Significant{low}, Significant{high});
}

struct NamedRange {
  double low;
  double high;
  bool reaches_min;
  bool reaches_greatest;
};

std::string summary(const NamedRange& range, std::string_view name) {
  if (std::isnan(range.low)) return fmt::format("{} is missing", name);
  if (range.low == range.high) return fmt::format("{} is {}", name, Significant{range.low});
  if (range.reaches_min && range.reaches_greatest) return fmt::format("{} is anything", name);
  if (range.reaches_greatest) return fmt::format("{} is at least {}", name, Significant{range.low});
  if (range.reaches_min) return fmt::format("{} is at most {}", name, Significant{range.high});
  return fmt::format("{} is {}", name, from_to(range.low, range.high));
}

/// Describe a label, which is quoted unless it is an integer; or the rows without one.
std::string summary_of_label(const WeakPlace& place, std::string_view name, std::string_view without_label) {
  if (place.label.empty()) return fmt::format("{} is {}", name, without_label);
  if (place.label == kOtherLabels) return fmt::format("{} is one of those with few rows", name);
  const std::string_view quote = std::isnan(place.low) ? "'" : "";
  return fmt::format("{} is {}{}{}", name, quote, Printable{place.label}, quote);
}

/// "a", "a and b" or "a, b and c": the features with the largest weights in a direction.
std::string heaviest(std::span<const double> direction, std::span<const std::string> features) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::size_t> order(direction.size());
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t j) { return std::abs(direction[j]); });
  const auto weighing = static_cast<std::size_t>(std::ranges::count_if(direction, [](double w) { return w != 0; }));
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(kNamed, weighing); ++i) named.push_back(features[order[i]]);
  return internal::list(named) + (named.size() == 1 ? " weighs" : " weigh");
}

std::string gaps_text(const LevelEvaluation& level) {
  std::string text;
  double of_features = 0;
  double by_chance = 0;
  double p = 1;
  const auto add = [&](double gap, std::string_view by) {
    text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", Percent{gap}, by);
  };
  for (const CoverageGap& gap : level.gaps) {
    p = std::min(p, gap.p_value);
    if (gap.bins == 1) continue;
    by_chance = std::max(by_chance, gap.by_chance);
    if (gap.kind == PlaceKind::kFeature || gap.kind == PlaceKind::kCategory) {
      of_features = std::max(of_features, gap.mean);
    } else {
      add(gap.mean, name_of(gap.kind));
    }
  }
  if (of_features > 0) add(of_features, "feature");
  return text.empty() ? "" : fmt::format("{}; {} by chance, {}", text, Percent{by_chance}, internal::p_text(p));
}

internal::LevelSentences sentences_of(const EvaluationReport& report, const LevelEvaluation& level) {
  internal::LevelSentences sentences{.word = std::string(name_of(level.verdict)),
                                     .verdict = level.summary,
                                     .uneven = {},
                                     .difference = {},
                                     .gaps = gaps_text(level),
                                     .weak_places = {}};
  for (const WeakPlace& place : level.weak_places) {
    sentences.weak_places.push_back(summary(place, level, report.features));
  }
  if (level.uneven) {
    const CoverageGap& gap = level.gaps[*level.uneven];
    sentences.difference = summary(gap, level, report.features);
    sentences.uneven = fmt::format("Coverage is uneven: {} ({}, corrected for all places tested).",
                                   sentences.difference, internal::p_text(gap.p_value));
    sentences.verdict += " " + sentences.uneven;
  }
  if (report.seen.any()) {
    sentences.word = kSeenVerdict;
    sentences.verdict = report.seen.to_string();
  }
  return sentences;
}

}  // namespace

std::string summary(const FeatureSlab& slab, std::string_view name) {
  return summary(NamedRange{slab.low, slab.high, slab.reaches_min, slab.reaches_greatest}, written(Printable{name}));
}

std::string summary(const WeakPlace& place, const LevelEvaluation& evaluation, std::span<const std::string> features) {
  const NamedRange range{place.low, place.high, place.reaches_min, place.reaches_greatest};
  const auto feature = [&] { return written(Printable{features[place.feature]}); };
  switch (place.kind) {
    case PlaceKind::kRange:
    case PlaceKind::kFeature:
      return summary(range, feature());
    case PlaceKind::kCategory:
      return summary_of_label(place, feature(), "missing or new");
    case PlaceKind::kColumn: {
      const std::string name = evaluation.by ? written(Printable{evaluation.by->name}) : "the column";
      return place.label.empty() ? summary(range, name) : summary_of_label(place, name, "missing");
    }
    case PlaceKind::kGroup:
      return place.label.empty() ? summary(range, "group") : fmt::format("group is {}", Printable{place.label});
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
  const Percent highest{gap.highest.coverage.share};
  const Percent lowest{gap.lowest.coverage.share};
  if (gap.kind != PlaceKind::kWidth) {
    return fmt::format("{} where {} and {} where {}", highest, summary(gap.highest, evaluation, features), lowest,
                       summary(gap.lowest, evaluation, features));
  }
  const bool is_narrow = gap.highest.low < gap.lowest.low;
  return fmt::format("{} where intervals are {} ({}) and {} where they are {} ({})", highest,
                     is_narrow ? "narrow" : "wide", from_to(gap.highest.low, gap.highest.high), lowest,
                     is_narrow ? "wide" : "narrow", from_to(gap.lowest.low, gap.lowest.high));
}

}  // namespace widthwise

namespace widthwise::internal {

std::vector<LevelSentences> level_sentences(const EvaluationReport& report) {
  std::vector<LevelSentences> sentences;
  for (const LevelEvaluation& level : report.levels) sentences.push_back(sentences_of(report, level));
  return sentences;
}

std::vector<std::string> remarks(const EvaluationReport& report) {
  std::vector<std::string> sentences;
  for (const UnknownLabels& labels : report.unknown_categories) sentences.push_back(labels.to_string());
  if (report.missed_by_range.rows > 0) sentences.push_back(report.missed_by_range.text);
  for (std::string& sentence : sentences) sentence = fmt::format("Note: {}.", sentence);
  return sentences;
}

std::string p_text(double p) {
  for (const auto& [bound, name] : {std::pair(0.0001, "0.0001"), {0.001, "0.001"}, {0.01, "0.01"}, {0.05, "0.05"}}) {
    if (p < bound) return fmt::format("p < {}", name);
  }
  return "p > 0.05";
}

std::string written(const LevelName& name) { return fmt::format("{}%", Significant{100 * name.level, 6}); }

bool Mean::is_of_finite() const { return std::isinf(of_all) && std::isfinite(of_finite); }

std::string written(const Mean& mean) {
  return fmt::format("{}{}", Significant{mean.value()}, mean.is_of_finite() ? ", without infinite intervals" : "");
}

std::string name_of_bin(const Bin& bin) {
  if (!bin.label.empty()) return written(Printable{bin.label});
  return std::isnan(bin.low) ? "missing" : from_to(bin.low, bin.high);
}

std::vector<std::size_t> lowest_bins(std::span<const Bin> bins, std::size_t max) {
  std::vector<std::size_t> order(bins.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (bins.size() <= max) return order;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(!bins[i].weak, bins[i].coverage.share); });
  order.resize(max);
  std::ranges::sort(order);
  return order;
}

std::string goal_name(const GoalReport& goal) {
  if (goal.goal == "fixed") return "one width";
  const bool named = goal.goal == "balanced" || goal.goal == "even" || goal.goal == "narrow";
  return (named ? "" : "goal ") + goal.goal + " (" + goal.score_transform + ")";
}

bool has_given_predictions(const ModelParts& parts) {
  const auto note = parts.notes.find(kTrainedWith);
  return note != parts.notes.end() && note->second != kCrossValidated;
}

std::string kind_of_errors(const ModelParts& parts) {
  if (has_given_predictions(parts)) return "of the predictions as given";
  return parts.notes.contains(kTrainedWith) ? "of cross-validated predictions" : "out of sample";
}

}  // namespace widthwise::internal
