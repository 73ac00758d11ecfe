#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/layout.hpp"
#include "conformal/outcomes.hpp"
#include "report/json.hpp"
#include "report/listed_rows.hpp"
#include "report/verdict.hpp"

namespace widthwise {
namespace {

using internal::Block;
using internal::Count;
using internal::LevelSentences;
using internal::Mean;
using internal::NamedLines;
using internal::Paragraph;
using internal::Percent;
using internal::PercentRange;
using internal::Printable;
using internal::Significant;
using internal::TableBlock;
using internal::written;

// ---- text

std::string with_confidence(const Proportion& share) {
  return fmt::format("{}  ({} at 95% confidence)", Percent{share.share}, PercentRange{share.low, share.high});
}

/// Without a confidence interval, which would need independent rows.
std::string with_clusters(const Proportion& share, const ClusterCoverage& clusters) {
  return fmt::format("{} of the rows, {} on average over {}", Percent{share.share}, Percent{clusters.mean},
                     Count{clusters.clusters, "cluster"});
}

void add_coverage_lines(NamedLines& level_lines, const LevelEvaluation& level) {
  const Proportion& coverage = level.intervals.coverage;
  level_lines.lines.emplace_back("coverage",
                                 level.clusters ? with_clusters(coverage, *level.clusters) : with_confidence(coverage));
  if (level.slab) level_lines.lines.emplace_back("worst slab", with_confidence(level.slab->coverage));
}

void add_weak_places(NamedLines& level_lines, const LevelEvaluation& level, const LevelSentences& sentences) {
  constexpr std::size_t kShown = 3;
  if (level.places_tested == 0) return;
  const std::size_t found = level.weak_places.size();
  level_lines.lines.emplace_back(
      "weak places",
      fmt::format("{} of {} tested", found == 0 ? "none" : written(Count{found}), Count{level.places_tested}));
  for (std::size_t i = 0; i < std::min(kShown, found); ++i) {
    level_lines.lines.emplace_back("", with_confidence(level.weak_places[i].coverage));
    level_lines.lines.emplace_back("", "where " + sentences.weak_places[i]);
  }
  if (found > kShown) level_lines.lines.emplace_back("", fmt::format("and {} more", Count{found - kShown}));
}

void add_evenness(NamedLines& level_lines, const LevelEvaluation& level, const LevelSentences& sentences,
                  bool conditional) {
  if (!sentences.gaps.empty()) level_lines.lines.emplace_back("coverage gap", sentences.gaps);
  if (!conditional) return;
  if (!level.ert) {
    level_lines.lines.emplace_back("ERT", fmt::format("needs at least {} rows with features", Count{kMinSearchRows}));
    return;
  }
  const ExcessRisk& l1 = level.ert->l1;
  level_lines.lines.emplace_back(
      "ERT", fmt::format("{}, standard error {}  ({} from low coverage, {} from high)", Percent{l1.total.value},
                         Percent{l1.total.standard_error}, Percent{l1.under.value}, Percent{l1.over.value}));
}

void add_widths(NamedLines& level_lines, const IntervalSummary& summary) {
  level_lines.lines.emplace_back("mean width", written(Mean{summary.mean_width, summary.finite_mean_width}));
  level_lines.lines.emplace_back("median width", written(Significant{summary.median_width}));
  level_lines.lines.emplace_back("interval score",
                                 written(Mean{summary.interval_score, summary.finite_interval_score}));
  for (const auto& [name, found] : {std::pair("infinite", summary.infinite), {"empty", summary.empty}}) {
    if (found == 0) continue;
    level_lines.lines.emplace_back(name, fmt::format("{}, {}", Count{found, "interval"},
                                                     Percent{internal::share(found, summary.coverage.trials)}));
  }
}

/// Many bins are shown with the lowest coverage, the weak ones first.
TableBlock bins_table(const std::string& by, std::span<const Bin> bins) {
  constexpr std::size_t kMaxShown = 30;
  TableBlock block;
  block.table.add({fmt::format("by {}", Printable{by}), "rows", "mean width", "coverage", "95% confidence"});
  for (const std::size_t i : internal::lowest_bins(bins, kMaxShown)) {
    const Bin& bin = bins[i];
    const Proportion& coverage = bin.coverage;
    const bool some_infinite = bin.infinite > 0 && bin.infinite < coverage.trials;
    std::vector<std::string> cells = {internal::name_of_bin(bin), written(Count{coverage.trials}),
                                      written(Significant{some_infinite ? bin.finite_mean_width : bin.mean_width}),
                                      written(Percent{coverage.share}),
                                      written(PercentRange{coverage.low, coverage.high})};
    if (some_infinite) cells.push_back(fmt::format("{} infinite", Count{bin.infinite}));
    if (bin.weak) cells.emplace_back("weak");
    block.table.add(std::move(cells));
  }
  if (bins.size() > kMaxShown) {
    block.note = fmt::format("and {} more with higher coverage", Count{bins.size() - kMaxShown});
  }
  return block;
}

/// The bins that are shown, by what: those of groups and of the column that was asked for, and those of categorical
/// features with weak labels.
std::vector<std::pair<std::string, std::span<const Bin>>> shown_bins(const EvaluationReport& report,
                                                                     const LevelEvaluation& level) {
  std::vector<std::pair<std::string, std::span<const Bin>>> shown;
  // Fewer rows make bins that show nothing but chance.
  if (report.rows >= kMinSearchRows && !level.by_width.empty()) shown.emplace_back("width", level.by_width);
  if (!level.by_group.empty()) shown.emplace_back("group", level.by_group);
  for (const FeatureBins& feature : level.by_feature) {
    const auto is_weak_label = [](const Bin& bin) { return bin.weak && !bin.label.empty(); };
    if (feature.feature == report.features.size() || std::ranges::none_of(feature.bins, is_weak_label)) continue;
    const std::string& name = report.features[feature.feature];
    if (!level.by || level.by->name != name) shown.emplace_back(name, feature.bins);
  }
  if (level.by) shown.emplace_back(level.by->name, level.by->bins);
  return shown;
}

void add_level(std::vector<Block>& blocks, const EvaluationReport& report, const LevelEvaluation& level,
               const LevelSentences& sentences) {
  NamedLines level_lines{"Level " + level.level.to_string()};
  add_coverage_lines(level_lines, level);
  add_weak_places(level_lines, level, sentences);
  add_evenness(level_lines, level, sentences, report.conditional);
  add_widths(level_lines, level.intervals);
  blocks.emplace_back(std::move(level_lines));
  blocks.emplace_back(Paragraph{sentences.verdict, 2});
  for (const auto& [by, bins] : shown_bins(report, level)) blocks.emplace_back(bins_table(by, bins));
  for (TableBlock& table : internal::tables_of(level.listed)) blocks.emplace_back(std::move(table));
}

NamedLines crps_lines(const CrpsSummary& crps) {
  NamedLines of_all{"All levels", {{"CRPS", written(Mean{crps.mean, crps.finite_mean})}}};
  if (crps.infinite > 0) {
    of_all.lines.emplace_back("", fmt::format("{}, {}, with infinite quantiles", Count{crps.infinite, "row"},
                                              Percent{internal::share(crps.infinite, crps.rows)}));
  }
  return of_all;
}

internal::Points advice_points(const internal::OverallVerdict& verdict) {
  internal::Points points{"What to do:"};
  for (const internal::Advice& advice : verdict.advice) points.texts.push_back(advice.text);
  return points;
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

Json weak_places_json(const LevelEvaluation& level, const LevelSentences& sentences) {
  Json found = Json::array();
  for (std::size_t i = 0; i < level.weak_places.size(); ++i) {
    const WeakPlace& place = level.weak_places[i];
    found.push_back({{"kind", name_of(place.kind)},
                     {"where", sentences.weak_places[i]},
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
Json uneven_json(const LevelEvaluation& level, const std::vector<std::string>& features,
                 const LevelSentences& sentences) {
  if (!level.uneven) return nullptr;
  const CoverageGap& gap = level.gaps[*level.uneven];
  const auto place = [&](const Place& one) {
    return Json{{"where", summary(one, level, features)}, {"coverage", json_of(one.coverage)}};
  };
  return {{"kind", name_of(gap.kind)},
          {"highest", place(gap.highest)},
          {"lowest", place(gap.lowest)},
          {"p_value", gap.p_value},
          {"text", sentences.uneven}};
}

Json level_json(const EvaluationReport& report, const LevelEvaluation& level, const LevelSentences& sentences) {
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
                {{"word", sentences.word},
                 {"text", sentences.verdict},
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
               {"weak_places", weak_places_json(level, sentences)},
               {"gaps", gaps_json(level, report.features)},
               {"uneven", uneven_json(level, report.features, sentences)},
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
Json verdict_json(const std::optional<internal::OverallVerdict>& verdict) {
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
  const std::vector<LevelSentences> sentences = internal::level_sentences(report);
  const std::optional<internal::OverallVerdict> verdict = internal::overall_verdict(report, sentences);
  std::vector<Block> blocks = {NamedLines{
      fmt::format("{}{}{}", Printable{report.table}, report.table.empty() ? "" : ": ", Count{report.rows, "row"})}};
  for (std::string& remark : internal::remarks(report)) blocks.emplace_back(Paragraph{std::move(remark)});
  if (verdict) blocks.emplace_back(Paragraph{verdict->headline});
  for (std::size_t j = 0; j < report.levels.size(); ++j) add_level(blocks, report, report.levels[j], sentences[j]);
  if (report.crps) blocks.emplace_back(crps_lines(*report.crps));
  if (report.exchangeability) blocks.emplace_back(Paragraph{report.exchangeability->summary()});
  if (verdict) blocks.emplace_back(advice_points(*verdict));
  return internal::laid_out(blocks);
}

std::string to_json(const EvaluationReport& report, NonFinite non_finite) {
  const std::vector<LevelSentences> sentences = internal::level_sentences(report);
  Json json = Json::object();
  if (!report.table.empty()) json["table"] = report.table;
  json["rows"] = report.rows;
  json["guarantee"] = json_of(report.guarantee);
  json["guarantee_statement"] = internal::or_null(report.model ? report.model->guarantee : "");
  json["seen"] = seen_json(report.seen);
  json["unknown_categories"] = json_of(report.unknown_categories);
  const MissedByRange& missed = report.missed_by_range;
  json["missed_by_range"] = missed.rows == 0 ? Json(nullptr) : Json{{"rows", missed.rows}, {"text", missed.text}};
  json["verdict"] = verdict_json(internal::overall_verdict(report, sentences));
  if (report.exchangeability) json["exchangeability"] = json_of(report.exchangeability);
  json["crps"] = report.crps ? Json(report.crps->mean) : Json(nullptr);
  json["finite_crps"] = report.crps ? Json(report.crps->finite_mean) : Json(nullptr);
  json["crps_infinite"] = report.crps ? Json(report.crps->infinite) : Json(nullptr);
  json["levels"] = Json::array();
  for (std::size_t j = 0; j < report.levels.size(); ++j) {
    json["levels"].push_back(level_json(report, report.levels[j], sentences[j]));
  }
  return internal::dump(json, non_finite);
}

}  // namespace widthwise
