#include "report/json.hpp"

#include <cmath>
#include <optional>
#include <string_view>

#include "base/printable.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kIndent = 2;

std::string scalar(const Json& json, NonFinite non_finite) {
  if (non_finite == NonFinite::kName && json.is_number_float()) {
    const double number = json.get<double>();
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// nlohmann's own dump has no other word than null for what is not finite.
void append(std::string& text, const Json& json, NonFinite non_finite, std::size_t indent) {
  if (!json.is_structured() || json.empty()) {
    text += scalar(json, non_finite);
    return;
  }
  const bool is_object = json.is_object();
  text += is_object ? '{' : '[';
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    if (!first) text += ',';
    first = false;
    text.append(1, '\n').append(indent + kIndent, ' ');
    if (is_object) text += scalar(key, non_finite) + ": ";
    append(text, value, non_finite, indent + kIndent);
  }
  text.append(1, '\n').append(indent, ' ').append(1, is_object ? '}' : ']');
}

}  // namespace

Json json_of(const Guarantee& guarantee) {
  const std::optional<Level>& confidence = guarantee.confidence();
  return confidence ? Json(confidence->value()) : Json(guarantee.to_string());
}

Json json_of(const std::vector<UnknownLabels>& unknown) {
  Json features = Json::array();
  for (const UnknownLabels& labels : unknown) {
    Json first = Json::array();
    for (const UnknownLabel& one : labels.first) {
      first.push_back({{"label", one.label}, {"similar", or_null(one.similar)}});
    }
    features.push_back({{"feature", labels.feature},
                        {"values", labels.values},
                        {"unknown", labels.unknown},
                        {"labels", first},
                        {"text", labels.to_string()}});
  }
  return features;
}

Json json_of(const Proportion& proportion) {
  return {{"share", proportion.share},
          {"low", proportion.low},
          {"high", proportion.high},
          {"successes", proportion.successes},
          {"trials", proportion.trials}};
}

Json json_of(const Ert& ert) {
  const auto estimate = [](const Estimate& one) {
    return Json{{"value", one.value}, {"standard_error", one.standard_error}};
  };
  const auto risk = [&](const ExcessRisk& one) {
    Json json = estimate(one.total);
    json["under"] = estimate(one.under);
    json["over"] = estimate(one.over);
    return json;
  };
  return {{"rows", ert.rows}, {"l1", risk(ert.l1)}, {"brier", risk(ert.brier)}, {"kl", risk(ert.kl)}};
}

Json json_of(const CoverageSpread& spread) {
  return {{"rows", spread.rows}, {"mean", spread.mean}, {"low", spread.low}, {"high", spread.high}};
}

Json json_of(const std::vector<Bin>& bins) {
  Json array = Json::array();
  for (const Bin& bin : bins) {
    array.push_back({{"low", bin.low},
                     {"high", bin.high},
                     {"coverage", json_of(bin.coverage)},
                     {"mean_width", bin.mean_width},
                     {"finite_mean_width", bin.finite_mean_width},
                     {"infinite", bin.infinite},
                     {"weak", bin.weak}});
    if (!bin.label.empty()) array.back()["label"] = bin.label;
  }
  return array;
}

// Without confidence intervals: they assume exchangeable rows, which those of a stream need not be.
Json json_of(const OnlineCoverage& coverage) {
  return {{"rows", coverage.rows},
          {"coverage", share(coverage.covered, coverage.rows)},
          {"recent_rows", coverage.recent_rows},
          {"recent_coverage", share(coverage.recent_covered, coverage.recent_rows)},
          {"fixed_coverage", share(coverage.covered_fixed, coverage.rows)}};
}

Json json_of(const OnlineCalibration& online) {
  Json levels = Json::array();
  for (std::size_t j = 0; j < online.levels().size(); ++j) {
    levels.push_back({{"level", online.levels()[j].value()}, {"step", online.step(j)}});
    levels.back().update(json_of(online.coverage(j)));
  }
  return {{"method", name_of(online.method())},
          {"window_rows", online.window_rows()},
          {"rows", online.rows()},
          {"pending", online.rows_pending()},
          {"longest_delay", online.longest_delay()},
          {"levels", levels},
          {"exchangeability", json_of(online.exchangeability())}};
}

Json json_of(const std::optional<ExchangeabilityMonitor>& test) {
  if (!test) return nullptr;
  Json alarm = nullptr;
  if (const auto& raised = test->alarm()) {
    alarm = {{"row", raised->row}, {"errors", raised->larger ? "larger" : "smaller"}};
  }
  return {{"false_alarm_rate", test->false_alarm_rate()},
          {"rows", test->rows()},
          {"alarm", alarm},
          {"log_martingale", test->log_martingale()},
          {"highest_log_martingale", test->highest_log_martingale()},
          {"text", test->summary()}};
}

Json groups_json(const SchemeDescription& description) {
  if (!description.groups) return nullptr;
  Json json = Json::array();
  for (const GroupCount& group : *description.groups) {
    json.push_back({{"label", group.label}, {"rows", group.rows}, {"pooled", group.pooled}});
  }
  return json;
}

Json cluster_count_json(const SchemeDescription& description) {
  const bool counted = description.clusters && description.clusters->count > 0;
  return counted ? Json(description.clusters->count) : Json(nullptr);
}

Json cluster_rule_json(const SchemeDescription& description) {
  if (!description.clusters) return nullptr;
  const ClusterCounts& clusters = *description.clusters;
  return {{"coverage", name_of(clusters.form)}, {"count", clusters.count},         {"rows", clusters.rows},
          {"largest", clusters.largest},        {"effective", clusters.effective}, {"max_size", clusters.max_size}};
}

std::string dump(const Json& json, NonFinite non_finite) {
  std::string text;
  append(text, json, non_finite, 0);
  return printable_json(text) + "\n";
}

}  // namespace widthwise::internal

namespace widthwise {

std::string to_json(const Proportion& proportion, NonFinite non_finite) {
  return internal::dump(internal::json_of(proportion), non_finite);
}

std::string to_json(const Ert& ert, NonFinite non_finite) { return internal::dump(internal::json_of(ert), non_finite); }

std::string to_json(const CoverageSpread& spread, NonFinite non_finite) {
  return internal::dump(internal::json_of(spread), non_finite);
}

std::string to_json(const std::vector<UnknownLabels>& unknown, NonFinite non_finite) {
  return internal::dump(internal::json_of(unknown), non_finite);
}

std::string to_json(const std::vector<Bin>& bins, NonFinite non_finite) {
  return internal::dump(internal::json_of(bins), non_finite);
}

}  // namespace widthwise
