#include <utility>

#include <widthwise/guarantee_statement.hpp>

#include "layout.hpp"
#include "printable.hpp"
#include "report/groups.hpp"
#include "report/json.hpp"
#include "text.hpp"

namespace widthwise {
namespace {

using internal::with_guarantee;

/// "95%", "99.9%": all digits that a level has.
std::string level_percent(double level) { return internal::significant(100 * level) + "%"; }

}  // namespace

std::string to_text(const LevelNeeds& needs) {
  if (needs.clusters) return count_of(needs.needed, "calibration cluster");
  return count_of(needs.needed, "calibration row") +
         (needs.cluster_size == 0 ? "" : " for clusters of up to " + count_of(needs.cluster_size, "row"));
}

std::string infinite_warning(const Model& model, const Level& level) {
  const Guarantee& guarantee = model.parts().guarantee;
  if (model.parts().calibration.grouped()) {
    const std::uint64_t needed = guarantee.min_rows(level);
    const internal::QuantileSizes sizes(model, level);
    if (sizes.too_small.empty()) return "";
    return "intervals of level " + level.to_string() + with_guarantee(guarantee) + " are infinite for " +
           count(sizes.too_small.size()) + " of " + count_of(model.parts().calibration.groups().size(), "group") +
           ", which " + (sizes.pooled_groups == sizes.too_small.size() && sizes.pooled_groups > 1 ? "together " : "") +
           "have fewer than the " + count_of(needed, "calibration row") +
           " that the level needs: " + internal::short_list(sizes.too_small);
  }
  const LevelNeeds needs = model.needs(level);
  if (needs.met()) return "";
  return "intervals of level " + level.to_string() + with_guarantee(guarantee) + " are infinite: the level needs " +
         to_text(needs) + ", the model has " + count(needs.have) +
         (model.weighted() ? ", the effective sample size of its weighted rows" : "");
}

std::string grouped_coverage(const Model& model, const Level& level) {
  const Guarantee& guarantee = model.parts().guarantee;
  const internal::QuantileSizes sizes(model, level);
  std::string text;
  if (sizes.quantiles > 0) {
    const CoverageSpread spread = coverage_spread(level, sizes.min_rows, kSpreadConfidence, guarantee);
    text = "cover " + internal::percent_range(spread.low, spread.high) + " of new outcomes in the smallest group (" +
           count_of(sizes.min_rows, "row") + "), with 95% confidence";
  }
  if (sizes.too_small.empty()) return text;
  return text + (text.empty() ? "are" : ", and are") + " infinite for " + count_of(sizes.too_small.size(), "group") +
         " with too few rows: " + internal::short_list(sizes.too_small);
}

// ---- a calibrated model

std::string to_text(const CalibrationReport& report) {
  const ModelParts& parts = report.model.parts();
  const Calibration& calibration = parts.calibration;
  std::string text = internal::printable(report.file) + ": calibrated with " + count_of(calibration.rows_seen(), "row");
  if (report.rows_added < calibration.rows_seen()) text += ", of which " + count(report.rows_added) + " are new";
  text += internal::parts_text(calibration);
  if (calibration.weighted()) text += ", weighted (effective sample size " + count(calibration.effective_rows()) + ")";
  text += ".\n";
  if (report.weights_dropped) {
    text += internal::wrapped(
                "The rows are of the population to predict, so the model no longer has weights: rows to predict need "
                "no weights.") +
            "\n";
  }
  if (const std::string pooled = internal::pooled_text(report.model); !pooled.empty()) {
    text += internal::wrapped(pooled + ".") + "\n";
  }
  for (const Level& level : parts.levels) {
    const std::string intervals = "Intervals of level " + level.to_string() + with_guarantee(parts.guarantee);
    if (calibration.grouped()) {
      text += internal::wrapped(intervals + " " + grouped_coverage(report.model, level) + ".") + "\n";
      continue;
    }
    const LevelNeeds needs = report.model.needs(level);
    if (!needs.met()) {
      text += internal::wrapped(intervals + " are infinite: the level needs " + to_text(needs) + ".") + "\n";
      continue;
    }
    const CoverageSpread spread =
        coverage_spread(level, report.model.calibration_rows(), kSpreadConfidence, parts.guarantee);
    const bool is_approximate = calibration.weighted() || report.model.counts_cluster_rows();
    text +=
        internal::wrapped(intervals + (is_approximate ? " cover about " : " cover ") +
                          internal::percent_range(spread.low, spread.high) + " of new outcomes, with 95% confidence" +
                          internal::cluster_condition(report.model) + ".") +
        "\n";
  }
  return text;
}

std::string to_json(const CalibrationReport& report) {
  const ModelParts& parts = report.model.parts();
  Json levels = Json::array();
  for (const Level& level : parts.levels) {
    levels.push_back({{"level", level.value()}});
    levels.back().update(
        json_of(coverage_spread(level, report.model.calibration_rows(), kSpreadConfidence, parts.guarantee)));
  }
  return internal::dump({{"model", report.file},
                         {"rows_added", report.rows_added},
                         {"unknown_categories", json_of(report.unknown_categories)},
                         {"clusters", internal::clusters_json(parts.calibration)},
                         {"cluster_rule", internal::cluster_rule_json(report.model)},
                         {"groups", parts.calibration.grouped() ? internal::groups_json(report.model) : Json(nullptr)},
                         {"rows_seen", parts.calibration.rows_seen()},
                         {"rows_kept", parts.calibration.rows_kept()},
                         {"effective_rows", parts.calibration.effective_rows()},
                         {"weights_dropped", report.weights_dropped},
                         {"guarantee", json_of(parts.guarantee)},
                         {"guarantee_statement", guarantee_statement(report.model).to_string()},
                         {"levels", levels}});
}

// ---- the size of a calibration set

CalibrationPlan CalibrationPlan::for_tolerance(const Level& level, double tolerance, double confidence,
                                               const Guarantee& guarantee) {
  CalibrationPlan plan =
      for_rows(level, rows_for_tolerance(level, tolerance, confidence, guarantee), confidence, guarantee);
  plan.tolerance = tolerance;
  return plan;
}

CalibrationPlan CalibrationPlan::for_rows(const Level& level, std::uint64_t rows, double confidence,
                                          const Guarantee& guarantee) {
  return {.level = level,
          .guarantee = guarantee,
          .confidence = confidence,
          .spread = coverage_spread(level, rows, confidence, guarantee)};
}

std::string CalibrationPlan::summary() const {
  const std::string intervals = "intervals of level " + level.to_string() + with_guarantee(guarantee);
  const std::string range = "between " + percent(spread.low, 2) + " and " + percent(spread.high, 2);
  const std::string confident = "with " + level_percent(confidence) + " confidence";
  if (tolerance) {
    return "Calibrate with at least " + count_of(spread.rows, "row") + " to keep the coverage of " + intervals +
           " within " + internal::significant(*tolerance) + " of " + level.to_string() + ": coverage is " + range +
           ", " + confident + ".";
  }
  const std::string with_rows = "With " + count_of(spread.rows, "calibration row") + ", " + intervals;
  const std::uint64_t needed = guarantee.min_rows(level);
  if (spread.rows < needed) {
    return with_rows + " are infinite: finite intervals need at least " + count_of(needed, "row") + ".";
  }
  std::string text = with_rows + " cover " + range + " of new outcomes, " + confident + ", and " +
                     percent(spread.mean, 2) + " on average over calibration sets.";
  if (const std::optional<Level>& conditional = guarantee.confidence()) {
    text += " In " + level_percent(conditional->value()) + " of calibration sets they cover at least " +
            level_percent(level.value()) + ".";
  }
  return text;
}

std::string to_text(const CalibrationPlan& plan) { return internal::wrapped(plan.summary()) + "\n"; }

std::string to_json(const std::vector<CalibrationPlan>& plans, NonFinite non_finite) {
  Json all = Json::array();
  for (const CalibrationPlan& plan : plans) {
    Json json = {{"level", plan.level.value()},
                 {"guarantee", json_of(plan.guarantee)},
                 {"confidence", plan.confidence},
                 {"tolerance", plan.tolerance ? Json(*plan.tolerance) : Json(nullptr)},
                 {"min_rows", plan.guarantee.min_rows(plan.level)}};
    json.update(json_of(plan.spread));
    json["summary"] = plan.summary();
    all.push_back(std::move(json));
  }
  return internal::dump(all.size() == 1 ? all.front() : all, non_finite);
}

}  // namespace widthwise
