#include <utility>

#include "base/layout.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "conformal/schemes/words.hpp"
#include "report/json.hpp"

namespace widthwise {
namespace {

using internal::with_guarantee;

/// "95%", "99.9%": all digits that a level has.
std::string level_percent(double level) { return internal::significant(100 * level) + "%"; }

}  // namespace

// ---- a calibrated model

std::string to_text(const CalibrationReport& report) {
  const ModelParts& parts = report.model.parts();
  const Calibration& calibration = parts.calibration;
  std::string text = internal::printable(report.file) + ": calibrated with " + count_of(calibration.rows_seen(), "row");
  if (report.rows_added < calibration.rows_seen()) text += ", of which " + count(report.rows_added) + " are new";
  const CalibrationScheme& scheme = report.model.scheme();
  const SchemeDescription description = scheme.describe(calibration);
  text += description.parts + description.weights;
  text += ".\n";
  if (report.weights_dropped) {
    text += internal::wrapped(
                "The rows are of the population to predict, so the model no longer has weights: rows to predict need "
                "no weights.") +
            "\n";
  }
  if (!description.pooled.empty()) text += internal::wrapped(description.pooled + ".") + "\n";
  for (const Level& level : parts.levels) {
    text += internal::wrapped("Intervals of level " + level.to_string() + with_guarantee(parts.guarantee) + " " +
                              scheme.coverage(calibration, level, true) + ".") +
            "\n";
  }
  return text;
}

std::string to_json(const CalibrationReport& report) {
  const ModelParts& parts = report.model.parts();
  Json levels = Json::array();
  for (const Level& level : parts.levels) {
    levels.push_back({{"level", level.value()}});
    if (const auto spread = report.model.scheme().spread(parts.calibration, level))
      levels.back().update(json_of(*spread));
  }
  const SchemeDescription description = report.model.scheme().describe(parts.calibration);
  return internal::dump({{"model", report.file},
                         {"rows_added", report.rows_added},
                         {"unknown_categories", json_of(report.unknown_categories)},
                         {"clusters", internal::cluster_count_json(description)},
                         {"cluster_rule", internal::cluster_rule_json(description)},
                         {"groups", internal::groups_json(description)},
                         {"rows_seen", parts.calibration.rows_seen()},
                         {"rows_kept", parts.calibration.rows_kept()},
                         {"effective_rows", parts.calibration.effective_rows()},
                         {"weights_dropped", report.weights_dropped},
                         {"guarantee", json_of(parts.guarantee)},
                         {"guarantee_statement", report.model.guarantee_statement().to_string()},
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
