#include "report/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/layout.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise::internal {
namespace {

using Levels = std::vector<std::size_t>;  // indices of EvaluationReport::levels

std::string name_of(const EvaluationReport& report, std::size_t j) {
  return level_name(report.levels[j].level.value());
}

/// "80%, 90% and 95%", or the ends of more than four.
std::string names_of(const EvaluationReport& report, Levels levels) {
  std::ranges::sort(levels, {}, [&](std::size_t j) { return report.levels[j].level.value(); });
  constexpr std::size_t kMaxNames = 4;
  if (levels.size() > kMaxNames) return name_of(report, levels.front()) + " to " + name_of(report, levels.back());
  std::vector<std::string> names;
  for (const std::size_t j : levels) names.push_back(name_of(report, j));
  return list(names);
}

/// A share for a headline: without decimals, unless they tell it from the level.
std::string headline_share(double share, double level) {
  constexpr double kFar = 0.02;
  constexpr double kHighLevel = 0.97;
  return percent(share, std::abs(share - level) >= kFar && level <= kHighLevel ? 0 : 1);
}

bool is_main(const EvaluationReport& report, std::size_t j) {
  return report.model && report.levels[j].level == report.model->level;
}

OverallVerdict seen_verdict(const EvaluationReport& report) {
  std::size_t level = 0;
  for (std::size_t j = report.levels.size(); j > 0; --j) {
    if (is_main(report, j - 1)) level = j - 1;
  }
  if (!report.seen.any_rows()) {
    return {.code = "not_new",
            .mood = "broken",
            .word = "Not new clusters",
            .headline = "These rows do not measure the coverage of new clusters: " + report.seen.shares() + ".",
            .evidence =
                "The errors of a model in clusters that it has seen differ from its errors in new clusters, and "
                "so do coverage and width.",
            .advice = {{"new_rows", "Evaluate with clusters that neither fitted nor calibrated the model."}},
            .level = level};
  }
  return {.code = "not_new",
          .mood = "broken",
          .word = "Not new rows",
          .headline = "These rows do not measure the coverage of new rows: " + report.seen.shares() + ".",
          .evidence =
              "The errors of a model on rows that it has seen differ from its errors on new rows, and so do "
              "coverage and width.",
          .advice = {{"new_rows", "Evaluate with rows that neither fitted nor calibrated the model."}},
          .level = level};
}

/// What the calibration counts.
std::string unit_of(const EvaluationReport& report) { return report.model ? report.model->unit : "row"; }

/// The coverage that the verdict is about.
double judged_share(const LevelEvaluation& level) {
  if (level.clusters) return level.clusters->judged();
  return level.judged.value_or(level.intervals.coverage).share;
}

Advice advice_to_add_rows(const EvaluationReport& report, const Levels& infinite) {
  const std::uint64_t have = report.model ? report.model->calibration_rows : 0;
  const Level* highest = &report.levels[infinite.front()].level;
  for (const std::size_t j : infinite) {
    if (report.levels[j].level.value() > highest->value()) highest = &report.levels[j].level;
  }
  const std::uint64_t needed = report.guarantee.min_rows(*highest);
  if (have >= needed) {
    return {"add_rows", "Calibrate every group with at least " + count_of(needed, "row") + " that fitted nothing."};
  }
  constexpr double kDigits = 1e4;
  const double attainable = std::floor(kDigits * report.guarantee.max_level(have)) / kDigits;
  return {"add_rows", "Add at least " + count_of(needed - have, std::string("calibration ") + unit_of(report)) +
                          " for the level " + level_name(highest->value()) + ", or use a level of at most " +
                          level_name(attainable) + ", which " + count_of(have, unit_of(report)) +
                          (have == 1 ? " allows." : " allow.")};
}

/// The same for a model whose rows of clusters count.
OverallVerdict infinite_cluster_verdict(const EvaluationReport& report, const ClusterCoverage& clusters,
                                        std::size_t j) {
  const bool per_group = clusters.rows_have >= clusters.rows_needed;
  const std::string advice =
      per_group ? "Calibrate every group with at least " + count_of(clusters.rows_needed, "row") + " of new clusters"
                : "Add at least " + count_of(clusters.rows_needed - clusters.rows_have, "calibration row") +
                      " of new clusters";
  return {.code = "infinite",
          .mood = "broken",
          .word = "Infinite",
          .headline = "The intervals are infinite: the level " + name_of(report, j) + " needs " +
                      count_of(clusters.rows_needed, "calibration row") + " in clusters of these sizes" +
                      (per_group ? " per group." : ", and the model has " + count(clusters.rows_have) + "."),
          .evidence = report.levels[j].summary,
          .advice = {{"add_rows", advice + ", or use a lower level."}},
          .level = j};
}

OverallVerdict infinite_verdict(const EvaluationReport& report, const Levels& infinite) {
  const std::size_t lowest =
      *std::ranges::min_element(infinite, {}, [&](std::size_t j) { return report.levels[j].level.value(); });
  const LevelEvaluation& level = report.levels[lowest];
  if (level.clusters && level.clusters->form == ClusterForm::kRows) {
    return infinite_cluster_verdict(report, *level.clusters, lowest);
  }
  const std::uint64_t have = report.model ? report.model->calibration_rows : 0;
  const std::uint64_t needed = report.guarantee.min_rows(level.level);
  return {.code = "infinite",
          .mood = "broken",
          .word = "Infinite",
          .headline = "The intervals are infinite: the level " + name_of(report, lowest) + " needs " +
                      count_of(needed, std::string("calibration ") + unit_of(report)) +
                      (have >= needed ? " per group." : ", and the model has " + count(have) + "."),
          .evidence = level.summary,
          .advice = {advice_to_add_rows(report, infinite)},
          .level = lowest};
}

/// The model's first level, else the one whose coverage is farthest below the expected range.
std::size_t most_important(const EvaluationReport& report, const Levels& low) {
  const auto importance = [&](std::size_t j) {
    const LevelEvaluation& level = report.levels[j];
    return std::pair(is_main(report, j), level.expected.low - judged_share(level));
  };
  return *std::ranges::max_element(low, {}, importance);
}

/// Of the weak ranges and labels, the one with the lowest coverage if it is lower than that of all rows, by an interval
/// that exchangeable rows rarely leave at any place that was tested.
const WeakPlace* lowest_place(const LevelEvaluation& level) {
  const WeakPlace* lowest = nullptr;
  for (const WeakPlace& place : level.weak_places) {
    if (place.kind > PlaceKind::kColumn) break;  // sorted by kind
    const Proportion& coverage = place.coverage;
    // The range was chosen on other rows; labels are many.
    const double tested = place.kind == PlaceKind::kRange ? 1 : static_cast<double>(level.places_tested);
    const double confidence = 1 - (1 - kVerdictConfidence) / tested;
    if (proportion(coverage.successes, coverage.trials, confidence).high >= level.intervals.coverage.share) continue;
    if (lowest == nullptr || coverage.share < lowest->coverage.share) lowest = &place;
  }
  return lowest;
}

/// The first cause of too low coverage if the predictions of the fit were given: they were in-sample.
void add_given_predictions(const EvaluationReport& report, OverallVerdict& verdict) {
  if (!report.model || !report.model->predictions_given) return;
  verdict.advice.insert(
      verdict.advice.begin(),
      {"predictions",
       "Check first how the predictions for fit and calibration were made: if their model was trained on the fitting "
       "or calibration rows, its errors there are smaller than on new rows, and intervals are too narrow. Fit again "
       "with rows that it was not trained on, or let fit train the model."});
}

OverallVerdict too_low_verdict(const EvaluationReport& report, const Levels& low) {
  const std::size_t j = most_important(report, low);
  const LevelEvaluation& level = report.levels[j];
  const double share = judged_share(level);
  // Small groups and training-conditional guarantees give more than the level.
  const bool reached = share >= level.level.value();
  OverallVerdict verdict{.code = "too_low",
                         .mood = "broken",
                         .word = reached ? "Lower than expected" : "Not valid here",
                         .headline = std::string(reached ? "The intervals cover less than expected"
                                                         : "The intervals are not valid on these rows") +
                                     ": those of " + name_of(report, j) + " contain " + percent(share) +
                                     " of the outcomes.",
                         .evidence = level.summary,
                         .advice = {{"calibrate", "Calibrate again with rows like these. Keep some rows for a test."}},
                         .level = j};
  if (const WeakPlace* place = lowest_place(level)) {
    const std::string where = summary(*place, level, report.features);
    verdict.headline +=
        " Coverage is lowest, " + headline_share(place->coverage.share, level.level.value()) + ", where " + where + ".";
    verdict.advice.push_back({"look", "Check first what changed where " + where + "."});
  }
  if (report.model && !report.model->takes_rows) {
    verdict.advice = {{"fit", "Fit again with rows like these. Keep some rows for a test."}};
    add_given_predictions(report, verdict);
    return verdict;
  }
  add_given_predictions(report, verdict);
  verdict.advice.push_back({"fit",
                            "If new rows stay like these, fit again with such rows: calibration alone makes all "
                            "intervals wider."});
  if (report.levels.size() > 1) {
    verdict.evidence += " " + count(low.size()) + " of " + count(report.levels.size()) + " levels are too low.";
  }
  return verdict;
}

std::string evidence_for(const EvaluationReport& report, const LevelEvaluation& level) {
  const WeakPlace& place = level.weak_places.front();
  const Proportion& coverage = place.coverage;
  std::string text = " Where " + summary(place, level, report.features) + ", " + count(coverage.successes) + " of " +
                     count_of(coverage.trials, "outcome") + " lie in their interval: " + percent(coverage.share) +
                     " (" + percent_range(coverage.low, coverage.high) + " at 95% confidence).";
  if (level.weak_places.size() > 1) {
    text += " In total, " + count(level.weak_places.size()) + " places are weak, some of which overlap.";
  }
  return text;
}

/// The column whose label the place is; empty for other places.
std::string column_of(const EvaluationReport& report, const LevelEvaluation& level, const Place& place) {
  if (place.kind == PlaceKind::kCategory) return report.features[place.feature];
  return place.kind == PlaceKind::kColumn && !place.label.empty() && level.by ? level.by->name : "";
}

/// How to make coverage at a place more like that of other rows. `more_rows` is the advice for a model whose goal is
/// even already.
std::vector<Advice> advice_for_place(const EvaluatedModel& model, const EvaluationReport& report,
                                     const LevelEvaluation& level, const Place& place, const std::string& more_rows) {
  const std::string column = column_of(report, level, place);
  std::string quoted = "'";
  quoted.append(printable(column)).append("'");
  const Advice by_column{
      "groups", "Or use " + quoted + " for groups (Mondrian), which gives each of its labels " + "marginal coverage."};
  if (!column.empty() && std::ranges::find(report.features, column) == report.features.end()) {
    return {{"feature", "Fit again with " + quoted + " as a feature, so that widths can depend on it."}, by_column};
  }
  std::vector<Advice> advice;
  if (!model.is_known) {
    advice = {{"widths",
               "Use intervals whose width depends on the row: a localizer with the goal even makes coverage as even as "
               "the data allow."}};
  } else if (model.goal == "even" && !model.one_width) {
    advice = {{"more_rows", more_rows}};
  } else {
    advice = {{"even", "Fit again with the goal even, which makes coverage as even as the data allow."}};
  }
  if (!column.empty()) advice.push_back(by_column);
  return advice;
}

std::vector<Advice> advice_for_weak_place(const EvaluatedModel& model, const EvaluationReport& report,
                                          const LevelEvaluation& level) {
  const Place& place = level.weak_places.front();
  std::vector<Advice> advice =
      advice_for_place(model, report, level, place, "Fit again with more rows from there: the goal is already even.");
  if (advice.back().kind == "more_rows") {
    advice.push_back({"groups",
                      "Or calibrate these rows as a group of their own (Mondrian), which gives the group marginal "
                      "coverage. Every row needs a group."});
  }
  return advice;
}

std::vector<Advice> advice_for_gap(const EvaluatedModel& model, const EvaluationReport& report,
                                   const LevelEvaluation& level, const CoverageGap& gap) {
  std::vector<Advice> advice = advice_for_place(
      model, report, level, gap.lowest,
      "Fit again with more rows, or with features that explain where errors are large: the goal is already even.");
  if (gap.kind == PlaceKind::kFeature && advice.back().kind == "more_rows") {
    advice.push_back({"groups", "Or use ranges of '" + printable(report.features[gap.feature]) +
                                    "' for groups (Mondrian), which gives each range marginal coverage."});
  }
  if (model.goal == "narrow" && advice.front().kind == "even") {
    advice.push_back({"keep",
                      "Or keep the model if coverage matters on average only: the goal narrow accepts uneven coverage "
                      "for a smaller mean width."});
  }
  return advice;
}

/// Advice about single intervals that are infinite or empty.
void add_exceptions(OverallVerdict& verdict, const EvaluatedModel& model, const IntervalSummary& summary) {
  const std::string of_rows = " of " + count(summary.coverage.trials) + " intervals ";
  if (summary.infinite > 0) {
    verdict.advice.push_back(
        {"infinite", model.is_known ? count(summary.infinite) + of_rows +
                                          "are infinite: their groups have too few calibration rows, or none. "
                                          "Calibrate with rows of these groups."
                                    : "Find out why " + count(summary.infinite) + of_rows + "are infinite."});
  }
  if (summary.empty > 0) {
    const double share = static_cast<double>(summary.empty) / static_cast<double>(summary.coverage.trials);
    verdict.advice.push_back(
        {"empty", count(summary.empty) + of_rows + "(" + percent(share) +
                      ") are empty: no value conforms at this level, and the prediction alone "
                      "is returned. A higher level or a goal nearer to even makes fewer of them."});
  }
}

void add_weak_place(OverallVerdict& verdict, const EvaluationReport& report, const EvaluatedModel& model,
                    bool name_level) {
  const LevelEvaluation& level = report.levels[verdict.level];
  const WeakPlace& place = level.weak_places.front();
  verdict.code = "weak_place";
  verdict.mood = "weak";
  verdict.word = "Valid, with a weak place";
  verdict.headline +=
      (name_level ? "; at " + name_of(report, verdict.level) + ", coverage is low, " : "; coverage is low, ") +
      headline_share(place.coverage.share, level.level.value()) + ", where " + summary(place, level, report.features) +
      ".";
  verdict.evidence += evidence_for(report, level);
  for (Advice& advice : advice_for_weak_place(model, report, level)) {
    verdict.advice.push_back(std::move(advice));
  }
}

void add_unevenness(OverallVerdict& verdict, const EvaluationReport& report, const EvaluatedModel& model,
                    const CoverageGap& gap, bool name_level) {
  const LevelEvaluation& level = report.levels[verdict.level];
  verdict.code = "uneven";
  verdict.mood = "weak";
  verdict.word = "Valid, but uneven";
  verdict.headline += ", but uneven: " + (name_level ? "at " + name_of(report, verdict.level) + ", " : std::string()) +
                      "coverage is " + summary(gap, level, report.features) + ".";
  verdict.evidence += " " + uneven_text(level, report.features);
  for (Advice& advice : advice_for_gap(model, report, level, gap)) verdict.advice.push_back(std::move(advice));
}

/// Coverage is valid over all rows. Are there places where it is low, or does it differ between places?
OverallVerdict valid_verdict(const EvaluationReport& report, const EvaluatedModel& model, const Levels& finite) {
  const auto is_weak = [&](std::size_t j) { return !report.levels[j].weak_places.empty(); };
  const auto is_uneven = [&](std::size_t j) { return report.levels[j].uneven.has_value(); };
  auto shown = std::ranges::find_if(finite, is_weak);
  if (shown == finite.end()) shown = std::ranges::find_if(finite, is_uneven);
  const std::size_t j = shown == finite.end() ? finite.front() : *shown;
  const LevelEvaluation& level = report.levels[j];
  const bool too_high = level.verdict == Verdict::kTooHigh;
  OverallVerdict verdict{.code = too_high ? "too_high" : "valid",
                         .mood = "valid",
                         .word = too_high ? "Valid, but wide" : "Valid",
                         .headline = "The intervals",
                         .evidence = level.summary,
                         .advice = {},
                         .level = j};
  if (report.levels.size() > 1) verdict.headline += " of " + names_of(report, finite);
  verdict.headline += too_high ? " are valid, and wider than needed" : " are valid";
  if (too_high) {
    verdict.advice.push_back({"calibrate",
                              "These rows are easier than the calibration rows. Calibrate with rows like these to "
                              "make intervals narrower."});
  }
  if (is_weak(j)) {
    add_weak_place(verdict, report, model, finite.size() > 1);
  } else if (level.uneven) {
    add_unevenness(verdict, report, model, level.gaps[*level.uneven], finite.size() > 1);
  } else if (level.clusters) {
    verdict.headline += "; weak places are not searched, because rows of a cluster are not independent.";
  } else if (level.places_tested == 0) {
    verdict.headline += "; " + count_of(report.rows, "row") + (report.rows == 1 ? " is" : " are") +
                        " too few to search for weak places.";
    verdict.advice.push_back({"more_tests", "Test with at least " + count_of(kMinSearchRows, "row") +
                                                ", better thousands, to find weak places."});
  } else {
    verdict.headline += "; no place was found where coverage is weak.";
  }
  add_exceptions(verdict, model, level.intervals);
  return verdict;
}

/// All finite intervals are of pooled groups.
OverallVerdict unjudged_verdict(const EvaluationReport& report, const Levels& unjudged) {
  const std::size_t j = unjudged.front();
  const LevelEvaluation& level = report.levels[j];
  OverallVerdict verdict{.code = "not_judged",
                         .mood = "weak",
                         .word = "No verdict",
                         .headline = "No verdict on coverage: the intervals are of pooled groups. Those of " +
                                     name_of(report, j) + " contain " + percent(level.intervals.coverage.share) +
                                     " of the outcomes.",
                         .evidence = level.summary,
                         .advice = {{"groups_of_their_own",
                                     "Calibrate with more rows per group, or pool fewer groups: groups with a quantile "
                                     "of their own can be judged."}},
                         .level = j};
  if (!level.weak_places.empty()) {
    verdict.evidence += evidence_for(report, level);
  } else if (level.uneven) {
    verdict.evidence += " " + uneven_text(level, report.features);
  }
  return verdict;
}

/// The coverage has no exact law.
void add_approximation(OverallVerdict& verdict, const std::string& because) {
  if (verdict.mood != "broken") verdict.word += ", approximately";
  verdict.headline += " This is approximate, because " + because + ".";
}

}  // namespace

std::string level_name(double level) { return significant(100 * level, 6) + "%"; }

std::vector<std::string> remarks(const EvaluationReport& report) {
  std::vector<std::string> sentences;
  for (const UnknownLabels& labels : report.unknown_categories) sentences.push_back(labels.to_string());
  if (report.missed_by_range.rows > 0) sentences.push_back(report.missed_by_range.text);
  for (std::string& sentence : sentences) sentence.insert(0, "Note: ").append(".");
  return sentences;
}

std::string p_text(double p) {
  for (const auto& [bound, name] : {std::pair(0.0001, "0.0001"), {0.001, "0.001"}, {0.01, "0.01"}, {0.05, "0.05"}}) {
    if (p < bound) return std::string("p < ") + name;
  }
  return "p > 0.05";
}

std::string uneven_text(const LevelEvaluation& level, const std::vector<std::string>& features) {
  if (!level.uneven) return "";
  const CoverageGap& gap = level.gaps[*level.uneven];
  return "Coverage is uneven: " + summary(gap, level, features) + " (" + p_text(gap.p_value) +
         ", corrected for all places tested).";
}

std::string gaps_text(const LevelEvaluation& level) {
  std::vector<std::string> parts;
  double of_features = 0;
  double by_chance = 0;
  double p = 1;
  for (const CoverageGap& gap : level.gaps) {
    p = std::min(p, gap.p_value);
    if (gap.bins == 1) continue;
    by_chance = std::max(by_chance, gap.by_chance);
    if (gap.kind == PlaceKind::kFeature || gap.kind == PlaceKind::kCategory) {
      of_features = std::max(of_features, gap.mean);
    } else {
      parts.push_back(percent(gap.mean) + " by " + std::string(widthwise::name_of(gap.kind)));
    }
  }
  if (of_features > 0) parts.push_back(percent(of_features) + " by feature");
  if (parts.empty()) return "";
  return joined(parts, ", ") + "; " + percent(by_chance) + " by chance, " + p_text(p);
}

std::string mean_text(double mean, double finite_mean) {
  if (!std::isinf(mean) || !std::isfinite(finite_mean)) return significant(mean);
  return significant(finite_mean) + ", without infinite intervals";
}

std::optional<OverallVerdict> overall_verdict(const EvaluationReport& report) {
  if (!report.model) return std::nullopt;
  if (report.seen.any()) return seen_verdict(report);
  Levels infinite;
  Levels low;
  Levels finite;
  Levels unjudged;
  for (std::size_t j = 0; j < report.levels.size(); ++j) {
    const Verdict verdict = report.levels[j].verdict;
    if (verdict == Verdict::kInfinite) {
      infinite.push_back(j);
    } else if (verdict == Verdict::kNotJudged) {
      unjudged.push_back(j);
    } else {
      if (verdict == Verdict::kTooLow) low.push_back(j);
      finite.push_back(j);
    }
  }
  if (finite.empty() && unjudged.empty()) return infinite_verdict(report, infinite);
  std::ranges::stable_sort(finite, {}, [&](std::size_t j) { return !is_main(report, j); });
  OverallVerdict verdict = finite.empty() ? unjudged_verdict(report, unjudged)
                           : low.empty()  ? valid_verdict(report, *report.model, finite)
                                          : too_low_verdict(report, low);
  const std::string& because = report.model->approximate_because;
  if (!because.empty()) add_approximation(verdict, because);
  if (!finite.empty() && !unjudged.empty()) {
    verdict.headline += " Those of " + names_of(report, unjudged) + " are not judged.";
  }
  if (!infinite.empty()) {
    if (verdict.mood == "valid") verdict.word = "Valid, some infinite";
    if (verdict.mood != "broken") verdict.mood = "weak";
    verdict.headline += " Those of " + names_of(report, infinite) + " are infinite.";
    verdict.advice.push_back(advice_to_add_rows(report, infinite));
  }
  for (const OutcomeAdvice& advice : report.outcome_advice) verdict.advice.push_back({advice.option, advice.text});
  if (verdict.advice.empty())
    verdict.advice.push_back({"none", "No action needed. Evaluate again when the data change."});
  return verdict;
}

}  // namespace widthwise::internal
