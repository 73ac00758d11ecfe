#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/layout.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "conformal/outcomes.hpp"
#include "report/bins.hpp"
#include "report/goals.hpp"
#include "report/json.hpp"
#include "report/listed_rows.hpp"
#include "report/verdict.hpp"

namespace widthwise {
namespace {

using internal::percent_range;
using internal::significant;

std::string verdict_of(const EvaluationReport& report, const LevelEvaluation& level) {
  return std::string(report.seen.any() ? kSeenVerdict : name_of(level.verdict));
}

/// The verdict on coverage, and on its evenness.
std::string summary_of(const EvaluationReport& report, const LevelEvaluation& level) {
  if (report.seen.any()) return report.seen.to_string();
  const std::string uneven = internal::uneven_text(level, report.features);
  return uneven.empty() ? level.summary : level.summary + " " + uneven;
}

// ---- text

std::string with_confidence(const Proportion& share) {
  return percent(share.share) + "  (" + percent_range(share.low, share.high) + " at 95% confidence)";
}

/// Without a confidence interval, which would need independent rows.
std::string with_clusters(const Proportion& share, const ClusterCoverage& clusters) {
  return percent(share.share) + " of the rows, " + percent(clusters.mean) + " on average over " +
         count_of(clusters.clusters, "cluster");
}

/// A line "  name            value", with a long value on several lines.
std::string line(std::string name, const std::string& value) {
  constexpr std::size_t kNameWidth = 16;
  name.resize(kNameWidth, ' ');
  return "  " + name + internal::wrapped(value, 2 + kNameWidth) + "\n";
}

/// "12 intervals, 3.2%", or nothing for none.
std::string share_line(const std::string& name, std::uint64_t found, std::uint64_t rows) {
  if (found == 0) return "";
  return line(name, count_of(found, "interval") + ", " + percent(internal::share(found, rows)));
}

std::string weak_places_text(const LevelEvaluation& level, const std::vector<std::string>& features) {
  constexpr std::size_t kShown = 3;
  if (level.places_tested == 0) return "";
  const std::vector<WeakPlace>& found = level.weak_places;
  const std::string number = found.empty() ? "none" : count(found.size());
  std::string text = line("weak places", number + " of " + count(level.places_tested) + " tested");
  for (std::size_t i = 0; i < std::min(kShown, found.size()); ++i) {
    text += line("", with_confidence(found[i].coverage));
    const std::string where = summary(found[i], level, features);
    text += line("", "where " + where);
  }
  if (found.size() > kShown) text += line("", "and " + count(found.size() - kShown) + " more");
  return text;
}

std::string ert_text(const EvaluationReport& report, const LevelEvaluation& level) {
  if (!report.conditional) return "";
  if (!level.ert) return line("ERT", "needs at least " + count(kMinSearchRows) + " rows with features");
  const ExcessRisk& l1 = level.ert->l1;
  return line("ERT", percent(l1.total.value) + ", standard error " + percent(l1.total.standard_error) + "  (" +
                         percent(l1.under.value) + " from low coverage, " + percent(l1.over.value) + " from high)");
}

/// Many bins are shown with the lowest coverage, the weak ones first.
constexpr std::size_t kMaxBinsShown = 30;

std::string bins_text(const std::string& title, const std::vector<Bin>& bins) {
  internal::TextTable table;
  table.add({title, "rows", "mean width", "coverage", "95% confidence"});
  for (const std::size_t i : internal::lowest_bins(bins, kMaxBinsShown)) {
    const Bin& bin = bins[i];
    const std::string name = internal::name_of_bin(bin);
    const bool some_infinite = bin.infinite > 0 && bin.infinite < bin.coverage.trials;
    std::vector<std::string> cells = {name, count(bin.coverage.trials),
                                      significant(some_infinite ? bin.finite_mean_width : bin.mean_width),
                                      percent(bin.coverage.share), percent_range(bin.coverage.low, bin.coverage.high)};
    if (some_infinite) cells.push_back(count(bin.infinite) + " infinite");
    if (bin.weak) cells.emplace_back("weak");
    table.add(std::move(cells));
  }
  std::string text = table.to_string();
  if (bins.size() > kMaxBinsShown) {
    text += "  and " + count(bins.size() - kMaxBinsShown) + " more with higher coverage\n";
  }
  return text;
}

/// The categorical features with weak labels, except a column that is shown anyway.
std::string categories_text(const EvaluationReport& report, const LevelEvaluation& level) {
  std::string text;
  for (const FeatureBins& feature : level.by_feature) {
    const auto is_weak_label = [](const Bin& bin) { return bin.weak && !bin.label.empty(); };
    if (feature.feature == report.features.size() || std::ranges::none_of(feature.bins, is_weak_label)) continue;
    const std::string& name = report.features[feature.feature];
    if (level.by && level.by->name == name) continue;
    text.append("\n").append(bins_text("by " + internal::printable(name), feature.bins));
  }
  return text;
}

std::string level_text(const EvaluationReport& report, std::size_t j) {
  const LevelEvaluation& level = report.levels[j];
  const IntervalSummary& summary = level.intervals;
  std::string text = "\nLevel ";
  text.append(level.level.to_string()).append("\n");
  text += line("coverage",
               level.clusters ? with_clusters(summary.coverage, *level.clusters) : with_confidence(summary.coverage));
  if (level.slab) text += line("worst slab", with_confidence(level.slab->coverage));
  text += weak_places_text(level, report.features);
  if (const std::string gaps = internal::gaps_text(level); !gaps.empty()) text += line("coverage gap", gaps);
  text += ert_text(report, level);
  text += line("mean width", internal::mean_text(summary.mean_width, summary.finite_mean_width));
  text += line("median width", significant(summary.median_width));
  text += line("interval score", internal::mean_text(summary.interval_score, summary.finite_interval_score));
  text += share_line("infinite", summary.infinite, summary.coverage.trials);
  text += share_line("empty", summary.empty, summary.coverage.trials);
  text.append("\n  ").append(internal::wrapped(summary_of(report, level), 2)).append("\n");
  // Fewer rows make bins that show nothing but chance.
  if (report.rows >= kMinSearchRows && !level.by_width.empty())
    text.append("\n").append(bins_text("by width", level.by_width));
  if (!level.by_group.empty()) text.append("\n").append(bins_text("by group", level.by_group));
  text += categories_text(report, level);
  if (level.by) text.append("\n").append(bins_text("by " + internal::printable(level.by->name), level.by->bins));
  return text + internal::text_of(level.listed);
}

// ---- JSON

Json slab_json(const LevelEvaluation& level, const std::vector<std::string>& features) {
  if (!level.slab) return nullptr;
  Json direction = Json::object();
  for (std::size_t f = 0; f < features.size(); ++f) direction[features[f]] = level.slab->direction[f];
  return {{"coverage", json_of(level.slab->coverage)},
          {"low", level.slab->low},
          {"high", level.slab->high},
          {"direction", direction},
          {"weak", level.slab_is_weak}};
}

Json weakest_json(const LevelEvaluation& level, const std::vector<std::string>& features) {
  if (!level.weakest) return nullptr;
  const FeatureSlab& weakest = *level.weakest;
  return {{"feature", features[weakest.feature]},
          {"low", weakest.low},
          {"high", weakest.high},
          {"coverage", json_of(weakest.coverage)},
          {"where", summary(weakest, features[weakest.feature])},
          {"weak", level.range_is_weak}};
}

Json weak_places_json(const LevelEvaluation& level, const std::vector<std::string>& features) {
  Json found = Json::array();
  for (const WeakPlace& place : level.weak_places) {
    found.push_back({{"kind", name_of(place.kind)},
                     {"where", summary(place, level, features)},
                     {"coverage", json_of(place.coverage)},
                     {"p_value", place.p_value}});
  }
  return {{"tested", level.places_tested}, {"error", kWeakPlaceError}, {"found", found}};
}

/// The prediction is named null, whatever the features are named.
Json by_feature_json(const LevelEvaluation& level, const std::vector<std::string>& features) {
  Json array = Json::array();
  for (const FeatureBins& feature : level.by_feature) {
    const bool is_prediction = feature.feature == features.size();
    array.push_back({{"feature", is_prediction ? Json(nullptr) : Json(features[feature.feature])},
                     {"bins", json_of(feature.bins)}});
  }
  return array;
}

Json gaps_json(const LevelEvaluation& level, const std::vector<std::string>& features) {
  Json array = Json::array();
  for (const CoverageGap& gap : level.gaps) {
    const bool of_feature = gap.kind == PlaceKind::kFeature || gap.kind == PlaceKind::kCategory;
    array.push_back({{"kind", name_of(gap.kind)},
                     {"feature", of_feature ? Json(features[gap.feature]) : Json(nullptr)},
                     {"bins", gap.bins},
                     {"mean", gap.mean},
                     {"by_chance", gap.by_chance},
                     {"largest", gap.largest},
                     {"p_value", gap.p_value}});
  }
  return array;
}

/// Where coverage is most clearly high and low, or null unless it is uneven.
Json uneven_json(const LevelEvaluation& level, const std::vector<std::string>& features) {
  if (!level.uneven) return nullptr;
  const CoverageGap& gap = level.gaps[*level.uneven];
  const auto place = [&](const Place& one) {
    return Json{{"where", summary(one, level, features)}, {"coverage", json_of(one.coverage)}};
  };
  return {{"kind", name_of(gap.kind)},
          {"highest", place(gap.highest)},
          {"lowest", place(gap.lowest)},
          {"p_value", gap.p_value},
          {"text", internal::uneven_text(level, features)}};
}

Json level_json(const EvaluationReport& report, std::size_t j) {
  const LevelEvaluation& level = report.levels[j];
  const IntervalSummary& summary = level.intervals;
  Json json = {{"level", level.level.value()},
               {"coverage", json_of(summary.coverage)},
               {"mean_width", summary.mean_width},
               {"median_width", summary.median_width},
               {"interval_score", summary.interval_score},
               {"finite_mean_width", summary.finite_mean_width},
               {"finite_interval_score", summary.finite_interval_score},
               {"infinite", summary.infinite},
               {"infinite_share", internal::share(summary.infinite, summary.coverage.trials)},
               {"empty", summary.empty},
               {"empty_share", internal::share(summary.empty, summary.coverage.trials)},
               {"verdict",
                {{"word", verdict_of(report, level)},
                 {"text", summary_of(report, level)},
                 {"confidence", level.confidence},
                 {"expected_low", level.expected.low},
                 {"expected_high", level.expected.high},
                 {"judged", json_of(level.judged.value_or(summary.coverage))}}},
               {"clusters", level.clusters ? Json{{"count", level.clusters->clusters},
                                                  {"coverage", level.clusters->mean},
                                                  {"coverage_of_rows", level.clusters->rows},
                                                  {"judged", name_of(level.clusters->form)},
                                                  {"differ", level.clusters->differ}}
                                           : Json(nullptr)},
               {"worst_slab", slab_json(level, report.features)},
               {"weakest", weakest_json(level, report.features)},
               {"weak_places", weak_places_json(level, report.features)},
               {"gaps", gaps_json(level, report.features)},
               {"uneven", uneven_json(level, report.features)},
               {"ert", level.ert ? json_of(*level.ert) : Json(nullptr)},
               {"rows", internal::json_of(level.listed)},
               {"by_width", json_of(level.by_width)},
               {"by_group", json_of(level.by_group)},
               {"by_feature", by_feature_json(level, report.features)}};
  if (level.by) json["by"] = {{"column", level.by->name}, {"bins", json_of(level.by->bins)}};
  return json;
}

/// Shares of rows that the model has seen, or null.
Json seen_json(const SeenRows& seen) {
  if (!seen.any()) return nullptr;
  const auto share = [](const RowOverlap& rows) { return rows.found() ? rows.share() : 0; };
  return {{"fitted", share(seen.fitted)},
          {"calibrated", share(seen.calibrated)},
          {"fitted_clusters", seen.fitted_clusters},
          {"calibrated_clusters", seen.calibrated_clusters},
          {"rows", seen.shares()},
          {"text", seen.to_string()}};
}

/// The overall verdict, or null.
Json verdict_json(const EvaluationReport& report) {
  const std::optional<internal::OverallVerdict> verdict = internal::overall_verdict(report);
  if (!verdict) return nullptr;
  Json advice = Json::array();
  for (const internal::Advice& one : verdict->advice) advice.push_back({{"kind", one.kind}, {"text", one.text}});
  return {{"code", verdict->code},         {"mood", verdict->mood},         {"word", verdict->word},
          {"headline", verdict->headline}, {"evidence", verdict->evidence}, {"advice", advice},
          {"level", verdict->level}};
}

}  // namespace

EvaluatedModel EvaluatedModel::of(const Model& model) {
  const ModelParts& parts = model.parts();
  const auto goal = parts.notes.find("goal");
  return {.level = parts.levels.front(),
          .calibration_rows = model.calibration_rows(),
          .approximate_because = model.scheme().approximate_because(),
          .goal = goal == parts.notes.end() ? "" : goal->second,
          .one_width = parts.rule.parameter_count() == 0,
          .unit = model.scheme().unit_name(),
          .takes_rows = model.scheme().takes_rows(),
          .guarantee = model.guarantee_statement().to_string(),
          .predictions_given = internal::has_given_predictions(parts)};
}

MissedByRange MissedByRange::of(const Model& model, std::span<const double> outcomes, std::uint64_t first_row) {
  internal::OutcomesOutside outside(model.parts().outcome_space);
  outside.add(outcomes, first_row);
  if (!outside.any()) return {};
  return {outside.rows(), outside.to_string(true)};
}

std::vector<OutcomeAdvice> OutcomeAdvice::of(const Model& model, std::span<const double> outcomes,
                                             std::span<const double> lower, std::span<const double> upper) {
  internal::OutcomeHints hints(model.parts().outcome_space);
  hints.add_outcomes(outcomes);
  hints.add_bounds(lower, upper);
  std::vector<OutcomeAdvice> advice;
  for (internal::OutcomeHint& hint : hints.hints()) advice.push_back({std::move(hint.kind), std::move(hint.text)});
  return advice;
}

std::string to_text(const EvaluationReport& report) {
  const std::optional<internal::OverallVerdict> verdict = internal::overall_verdict(report);
  std::string text = report.table.empty() ? "" : internal::printable(report.table) + ": ";
  text += count_of(report.rows, "row") + "\n";
  for (const std::string& remark : internal::remarks(report)) {
    text.append("\n").append(internal::wrapped(remark)).append("\n");
  }
  if (verdict) text.append("\n").append(internal::wrapped(verdict->headline)).append("\n");
  for (std::size_t j = 0; j < report.levels.size(); ++j) text += level_text(report, j);
  if (report.crps) {
    const CrpsSummary& crps = *report.crps;
    text.append("\nAll levels\n").append(line("CRPS", internal::mean_text(crps.mean, crps.finite_mean)));
    if (crps.infinite > 0) {
      text += line("", count_of(crps.infinite, "row") + ", " + percent(internal::share(crps.infinite, crps.rows)) +
                           ", with infinite quantiles");
    }
  }
  if (report.exchangeability) {
    text.append("\n").append(internal::wrapped(report.exchangeability->summary())).append("\n");
  }
  if (!verdict) return text;
  text += "\nWhat to do:\n";
  for (const internal::Advice& advice : verdict->advice) {
    text.append("  - ").append(internal::wrapped(advice.text, 4)).append("\n");
  }
  return text;
}

std::string to_json(const EvaluationReport& report, NonFinite non_finite) {
  Json json = Json::object();
  if (!report.table.empty()) json["table"] = report.table;
  json["rows"] = report.rows;
  json["guarantee"] = json_of(report.guarantee);
  json["guarantee_statement"] = internal::or_null(report.model ? report.model->guarantee : "");
  json["seen"] = seen_json(report.seen);
  json["unknown_categories"] = json_of(report.unknown_categories);
  const MissedByRange& missed = report.missed_by_range;
  json["missed_by_range"] = missed.rows == 0 ? Json(nullptr) : Json{{"rows", missed.rows}, {"text", missed.text}};
  json["verdict"] = verdict_json(report);
  if (report.exchangeability) json["exchangeability"] = json_of(report.exchangeability);
  json["crps"] = report.crps ? Json(report.crps->mean) : Json(nullptr);
  json["finite_crps"] = report.crps ? Json(report.crps->finite_mean) : Json(nullptr);
  json["crps_infinite"] = report.crps ? Json(report.crps->infinite) : Json(nullptr);
  json["levels"] = Json::array();
  for (std::size_t j = 0; j < report.levels.size(); ++j) json["levels"].push_back(level_json(report, j));
  return internal::dump(json, non_finite);
}

}  // namespace widthwise
