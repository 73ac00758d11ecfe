#include "report/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/layout.hpp"

namespace widthwise::internal {
namespace {

using Levels = std::vector<std::size_t>;  // indices of EvaluationReport::levels
using Sentences = std::vector<LevelSentences>;

LevelName name_of(const EvaluationReport& report, std::size_t j) { return {report.levels[j].level.value()}; }

/// "80%, 90% and 95%", or the ends of more than four.
std::string names_of(const EvaluationReport& report, Levels levels) {
  std::ranges::sort(levels, {}, [&](std::size_t j) { return report.levels[j].level.value(); });
  constexpr std::size_t kMaxNames = 4;
  if (levels.size() > kMaxNames) {
    return fmt::format("{} to {}", name_of(report, levels.front()), name_of(report, levels.back()));
  }
  std::vector<std::string> names;
  for (const std::size_t j : levels) names.push_back(written(name_of(report, j)));
  return list(names);
}

/// A share for a headline: without decimals, unless they tell it from the level.
Percent headline_share(double share, double level) {
  constexpr double kFar = 0.02;
  constexpr double kHighLevel = 0.97;
  return {share, std::abs(share - level) >= kFar && level <= kHighLevel ? 0 : 1};
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
    return {
        .code = "not_new",
        .mood = "broken",
        .word = "Not new clusters",
        .headline = fmt::format("These rows do not measure the coverage of new clusters: {}.", report.seen.shares()),
        .evidence =
            "The errors of a model in clusters that it has seen differ from its errors in new clusters, and "
            "so do coverage and width.",
        .advice = {{"new_rows", "Evaluate with clusters that neither fitted nor calibrated the model."}},
        .level = level};
  }
  return {.code = "not_new",
          .mood = "broken",
          .word = "Not new rows",
          .headline = fmt::format("These rows do not measure the coverage of new rows: {}.", report.seen.shares()),
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
    return {"add_rows",
            fmt::format("Calibrate every group with at least {} that fitted nothing.", Count{needed, "row"})};
  }
  constexpr double kDigits = 1e4;
  const double attainable = std::floor(kDigits * report.guarantee.max_level(have)) / kDigits;
  const std::string unit = unit_of(report);
  return {"add_rows", fmt::format("Add at least {} for the level {}, or use a level of at most {}, which {} {}.",
                                  Count{needed - have, "calibration " + unit}, LevelName{highest->value()},
                                  LevelName{attainable}, Count{have, unit}, have == 1 ? "allows" : "allow")};
}

/// The same for a model whose rows of clusters count.
OverallVerdict infinite_cluster_verdict(const EvaluationReport& report, const ClusterCoverage& clusters,
                                        std::size_t j) {
  const bool per_group = clusters.rows_have >= clusters.rows_needed;
  const std::string have = per_group ? " per group" : fmt::format(", and the model has {}", Count{clusters.rows_have});
  const std::string advice =
      per_group
          ? fmt::format("Calibrate every group with at least {} of new clusters", Count{clusters.rows_needed, "row"})
          : fmt::format("Add at least {} of new clusters",
                        Count{clusters.rows_needed - clusters.rows_have, "calibration row"});
  return {.code = "infinite",
          .mood = "broken",
          .word = "Infinite",
          .headline = fmt::format("The intervals are infinite: the level {} needs {} in clusters of these sizes{}.",
                                  name_of(report, j), Count{clusters.rows_needed, "calibration row"}, have),
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
          .headline = fmt::format("The intervals are infinite: the level {} needs {}{}.", name_of(report, lowest),
                                  Count{needed, "calibration " + unit_of(report)},
                                  have >= needed ? " per group" : fmt::format(", and the model has {}", Count{have})),
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

OverallVerdict too_low_verdict(const EvaluationReport& report, const Sentences& sentences, const Levels& low) {
  const std::size_t j = most_important(report, low);
  const LevelEvaluation& level = report.levels[j];
  const double share = judged_share(level);
  // Small groups and training-conditional guarantees give more than the level.
  const bool reached = share >= level.level.value();
  OverallVerdict verdict{.code = "too_low",
                         .mood = "broken",
                         .word = reached ? "Lower than expected" : "Not valid here",
                         .headline = fmt::format("The intervals {}: those of {} contain {} of the outcomes.",
                                                 reached ? "cover less than expected" : "are not valid on these rows",
                                                 name_of(report, j), Percent{share}),
                         .evidence = level.summary,
                         .advice = {{"calibrate", "Calibrate again with rows like these. Keep some rows for a test."}},
                         .level = j};
  if (const WeakPlace* place = lowest_place(level)) {
    const auto index = static_cast<std::size_t>(place - level.weak_places.data());
    const std::string& where = sentences[j].weak_places[index];
    verdict.headline += fmt::format(" Coverage is lowest, {}, where {}.",
                                    headline_share(place->coverage.share, level.level.value()), where);
    verdict.advice.push_back({"look", fmt::format("Check first what changed where {}.", where)});
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
    verdict.evidence += fmt::format(" {} of {} levels are too low.", Count{low.size()}, Count{report.levels.size()});
  }
  return verdict;
}

std::string evidence_for(const LevelEvaluation& level, const LevelSentences& sentences) {
  const Proportion& coverage = level.weak_places.front().coverage;
  const std::size_t found = level.weak_places.size();
  return fmt::format(" Where {}, {} of {} lie in their interval: {} ({} at 95% confidence).",
                     sentences.weak_places.front(), Count{coverage.successes}, Count{coverage.trials, "outcome"},
                     Percent{coverage.share}, PercentRange{coverage.low, coverage.high}) +
         (found == 1 ? "" : fmt::format(" In total, {} places are weak, some of which overlap.", Count{found}));
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
  const Advice by_column{
      "groups", fmt::format("Or use '{}' for groups (Mondrian), which gives each of its labels marginal coverage.",
                            Printable{column})};
  if (!column.empty() && std::ranges::find(report.features, column) == report.features.end()) {
    return {{"feature",
             fmt::format("Fit again with '{}' as a feature, so that widths can depend on it.", Printable{column})},
            by_column};
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
    advice.push_back(
        {"groups", fmt::format("Or use ranges of '{}' for groups (Mondrian), which gives each range marginal coverage.",
                               Printable{report.features[gap.feature]})});
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
  const Count all{summary.coverage.trials};
  if (summary.infinite > 0) {
    verdict.advice.push_back(
        {"infinite", model.is_known
                         ? fmt::format("{} of {} intervals are infinite: their groups have too few calibration rows, "
                                       "or none. Calibrate with rows of these groups.",
                                       Count{summary.infinite}, all)
                         : fmt::format("Find out why {} of {} intervals are infinite.", Count{summary.infinite}, all)});
  }
  if (summary.empty > 0) {
    const double share = static_cast<double>(summary.empty) / static_cast<double>(summary.coverage.trials);
    verdict.advice.push_back(
        {"empty", fmt::format("{} of {} intervals ({}) are empty: no value conforms at this level, and the prediction "
                              "alone is returned. A higher level or a goal nearer to even makes fewer of them.",
                              Count{summary.empty}, all, Percent{share})});
  }
}

/// "at 90%, " if the headline is about several levels.
std::string at_level(const EvaluationReport& report, std::size_t j, bool name_level) {
  return name_level ? fmt::format("at {}, ", name_of(report, j)) : "";
}

void add_weak_place(OverallVerdict& verdict, const EvaluationReport& report, const EvaluatedModel& model,
                    const LevelSentences& sentences, bool name_level) {
  const LevelEvaluation& level = report.levels[verdict.level];
  verdict.code = "weak_place";
  verdict.mood = "weak";
  verdict.word = "Valid, with a weak place";
  verdict.headline += fmt::format("; {}coverage is low, {}, where {}.", at_level(report, verdict.level, name_level),
                                  headline_share(level.weak_places.front().coverage.share, level.level.value()),
                                  sentences.weak_places.front());
  verdict.evidence += evidence_for(level, sentences);
  for (Advice& advice : advice_for_weak_place(model, report, level)) {
    verdict.advice.push_back(std::move(advice));
  }
}

void add_unevenness(OverallVerdict& verdict, const EvaluationReport& report, const EvaluatedModel& model,
                    const LevelSentences& sentences, const CoverageGap& gap, bool name_level) {
  verdict.code = "uneven";
  verdict.mood = "weak";
  verdict.word = "Valid, but uneven";
  verdict.headline +=
      fmt::format(", but uneven: {}coverage is {}.", at_level(report, verdict.level, name_level), sentences.difference);
  verdict.evidence += " " + sentences.uneven;
  for (Advice& advice : advice_for_gap(model, report, report.levels[verdict.level], gap)) {
    verdict.advice.push_back(std::move(advice));
  }
}

/// Coverage is valid over all rows. Are there places where it is low, or does it differ between places?
OverallVerdict valid_verdict(const EvaluationReport& report, const EvaluatedModel& model, const Sentences& sentences,
                             const Levels& finite) {
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
  if (report.levels.size() > 1) verdict.headline += fmt::format(" of {}", names_of(report, finite));
  verdict.headline += too_high ? " are valid, and wider than needed" : " are valid";
  if (too_high) {
    verdict.advice.push_back({"calibrate",
                              "These rows are easier than the calibration rows. Calibrate with rows like these to "
                              "make intervals narrower."});
  }
  if (is_weak(j)) {
    add_weak_place(verdict, report, model, sentences[j], finite.size() > 1);
  } else if (level.uneven) {
    add_unevenness(verdict, report, model, sentences[j], level.gaps[*level.uneven], finite.size() > 1);
  } else if (level.clusters) {
    verdict.headline += "; weak places are not searched, because rows of a cluster are not independent.";
  } else if (level.places_tested == 0) {
    verdict.headline += fmt::format("; {} {} too few to search for weak places.", Count{report.rows, "row"},
                                    report.rows == 1 ? "is" : "are");
    verdict.advice.push_back({"more_tests", fmt::format("Test with at least {}, better thousands, to find weak places.",
                                                        Count{kMinSearchRows, "row"})});
  } else {
    verdict.headline += "; no place was found where coverage is weak.";
  }
  add_exceptions(verdict, model, level.intervals);
  return verdict;
}

/// All finite intervals are of pooled groups.
OverallVerdict unjudged_verdict(const EvaluationReport& report, const Sentences& sentences, const Levels& unjudged) {
  const std::size_t j = unjudged.front();
  const LevelEvaluation& level = report.levels[j];
  OverallVerdict verdict{.code = "not_judged",
                         .mood = "weak",
                         .word = "No verdict",
                         .headline = fmt::format("No verdict on coverage: the intervals are of pooled groups. Those "
                                                 "of {} contain {} of the outcomes.",
                                                 name_of(report, j), Percent{level.intervals.coverage.share}),
                         .evidence = level.summary,
                         .advice = {{"groups_of_their_own",
                                     "Calibrate with more rows per group, or pool fewer groups: groups with a quantile "
                                     "of their own can be judged."}},
                         .level = j};
  if (!level.weak_places.empty()) {
    verdict.evidence += evidence_for(level, sentences[j]);
  } else if (level.uneven) {
    verdict.evidence += " " + sentences[j].uneven;
  }
  return verdict;
}

/// The coverage has no exact law.
void add_approximation(OverallVerdict& verdict, const std::string& because) {
  if (verdict.mood != "broken") verdict.word += ", approximately";
  verdict.headline += fmt::format(" This is approximate, because {}.", because);
}

}  // namespace

std::optional<OverallVerdict> overall_verdict(const EvaluationReport& report, const Sentences& sentences) {
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
  OverallVerdict verdict = finite.empty() ? unjudged_verdict(report, sentences, unjudged)
                           : low.empty()  ? valid_verdict(report, *report.model, sentences, finite)
                                          : too_low_verdict(report, sentences, low);
  const std::string& because = report.model->approximate_because;
  if (!because.empty()) add_approximation(verdict, because);
  if (!finite.empty() && !unjudged.empty()) {
    verdict.headline += fmt::format(" Those of {} are not judged.", names_of(report, unjudged));
  }
  if (!infinite.empty()) {
    if (verdict.mood == "valid") verdict.word = "Valid, some infinite";
    if (verdict.mood != "broken") verdict.mood = "weak";
    verdict.headline += fmt::format(" Those of {} are infinite.", names_of(report, infinite));
    verdict.advice.push_back(advice_to_add_rows(report, infinite));
  }
  for (const OutcomeAdvice& advice : report.outcome_advice) verdict.advice.push_back({advice.option, advice.text});
  if (verdict.advice.empty())
    verdict.advice.push_back({"none", "No action needed. Evaluate again when the data change."});
  return verdict;
}

}  // namespace widthwise::internal
