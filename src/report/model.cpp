#include <algorithm>
#include <cmath>

#include <widthwise/model_file.hpp>

#include "base/layout.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/json.hpp"

namespace widthwise {
namespace {

using internal::printable;

Json function_json(const RowFunction* function) {
  if (function == nullptr) return nullptr;
  const RowFunctionDescription description = function->describe();
  Json json = {{"kind", description.kind}};
  for (const auto& [name, value] : description.figures) json[name] = value;
  return json;
}

/// Lines "  name              value", with values wrapped and aligned.
class Lines {
 public:
  void add(std::string name, const std::string& value) {
    constexpr std::size_t kIndent = 20;
    name = printable(name);
    name.resize(std::max(kIndent - 2, name.size() + 1), ' ');
    text_ += "  " + name + internal::wrapped(value, kIndent) + "\n";
  }
  void add_blank() { text_ += "\n"; }

  [[nodiscard]] const std::string& to_string() const { return text_; }

 private:
  std::string text_;
};

std::string calibration_text(const Model& model) {
  if (const std::string missing = model.uncalibrated(); !missing.empty()) return missing;
  return model.scheme().describe(model.parts().calibration).summary;
}

/// "carrier (16), dest (105)"; empty if all features are numbers.
std::string categories_text(const Model& model) {
  std::string text;
  for (std::size_t j = 0; j < model.parts().features.size(); ++j) {
    const std::size_t count = model.categories_of(j).size();
    if (count == 0) continue;
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", printable(model.parts().features[j]), count);
  }
  return text;
}

/// The categories by the names of their features.
Json categories_json(const Model& model) {
  Json categories = Json::object();
  for (std::size_t j = 0; j < model.parts().features.size(); ++j) {
    const Labels& labels = model.categories_of(j);
    if (labels.size() > 0) categories[model.parts().features[j]] = labels.all();
  }
  return categories;
}

/// "the column 'forecast'", or the columns of the folds.
std::string prediction_text(const Model& model) {
  const std::vector<std::string> columns = model.prediction_columns();
  if (columns.size() == 1) return "the column '" + printable(columns.front()) + "'";
  if (!model.parts().upper_prediction.empty()) {
    return "the columns '" + printable(columns.front()) + "' and '" + printable(columns.back()) +
           "', a lower and an upper quantile";
  }
  return "the columns '" + printable(columns.front()) + "' to '" + printable(columns.back()) + "', one per fold";
}

void add_model(Lines& lines, const Model& model) {
  const ModelParts& parts = model.parts();
  lines.add("target", parts.target.empty() ? "not named" : printable(parts.target));
  lines.add("features", count(parts.features.size()) + ": " + internal::list(parts.features));
  if (const std::string categories = categories_text(model); !categories.empty()) lines.add("categories", categories);
  const ModelParts& first = parts.folds.empty() ? parts : parts.folds.front()->parts();
  const std::string per_fold = parts.folds.empty() ? "" : "one per fold; the first: ";
  lines.add("base model", first.base == nullptr ? "none: predictions are read from " + prediction_text(model)
                                                : per_fold + first.base->describe().summary);
  lines.add("localizer", first.localizer == nullptr ? "none: one width for all rows"
                                                    : per_fold + first.localizer->describe().summary);
  lines.add("rule", std::string(parts.rule.transform().name()) + " transform of the " +
                        std::string(name_of(parts.rule.score())) + " error, " +
                        (parts.rule.sides() == Sides::kTwo ? "two-sided" : "one half-width for both sides"));
  if (const std::string outcomes = parts.outcome_space.to_string(); !outcomes.empty()) lines.add("outcomes", outcomes);
  lines.add("fitted on", count_of(parts.fit_rows, "row"));
  lines.add("calibration", calibration_text(model));
  if (parts.shift != nullptr) lines.add("weights", "learnt: " + parts.shift->describe().summary);
  for (const RoleEntry& entry : roles()) {
    if (parts.columns.has(entry.role)) lines.add(entry.plural, "column '" + printable(parts.columns[entry.role]) + "'");
  }
  for (const auto& [name, value] : model.scheme().describe(parts.calibration).lines) lines.add(name, value);
}

void add_coverage(Lines& lines, const Model& model) {
  const ModelParts& parts = model.parts();
  lines.add("guarantee", model.guarantee_statement().to_string());
  for (const Level& level : parts.levels) {
    lines.add("level " + level.to_string(), model.scheme().coverage(parts.calibration, level, false));
  }
}

void add_stream(Lines& lines, const OnlineCalibration& online) {
  lines.add("stream", std::string(name_of(online.method())) + ", " + count_of(online.rows(), "row") + " observed" +
                          (online.rows_pending() == 0 ? "" : ", " + count(online.rows_pending()) + " pending"));
  for (std::size_t j = 0; j < online.levels().size() && online.rows() > 0; ++j) {
    const OnlineCoverage coverage = online.coverage(j);
    lines.add("  at level " + online.levels()[j].to_string(),
              "covered " + percent(internal::share(coverage.covered, coverage.rows)) + ", and " +
                  percent(internal::share(coverage.recent_covered, coverage.recent_rows)) + " of the last " +
                  count_of(coverage.recent_rows, "row"));
  }
  const auto& monitor = online.exchangeability();
  if (!monitor) return;
  const std::optional<ExchangeabilityAlarm>& alarm = monitor->alarm();
  lines.add("  alarm", alarm ? "at row " + count(alarm->row) + ": rows stopped being exchangeable with the calibration"
                             : std::string("none"));
}

Json levels_json(const Model& model) {
  const ModelParts& parts = model.parts();
  Json levels = Json::array();
  for (const Level& level : parts.levels) {
    levels.push_back({{"level", level.value()}, {"min_rows", model.needs(level).needed}});
    const CalibrationScheme& scheme = model.scheme();
    if (const auto spread = scheme.spread(parts.calibration, level)) levels.back().update(json_of(*spread));
    if (const auto least = scheme.least_coverage(level)) levels.back()["at_least"] = *least;
  }
  return levels;
}

}  // namespace

std::string to_text(const ModelReport& report) {
  const ModelParts& parts = report.model.parts();
  Lines lines;
  add_model(lines, report.model);
  add_coverage(lines, report.model);
  if (parts.online) add_stream(lines, *parts.online);
  if (!parts.notes.empty()) lines.add_blank();
  for (const auto& [name, value] : parts.notes) lines.add(name, value);
  return printable(report.file) + ": " + count_of(report.bytes, "byte") + ", format " + std::to_string(kModelFormat) +
         ", checksum verified\n\n" + lines.to_string();
}

std::string to_json(const ModelReport& report) {
  const ModelParts& parts = report.model.parts();
  const SchemeDescription description = report.model.scheme().describe(parts.calibration);
  return internal::dump(
      {{"model", report.file},
       {"bytes", report.bytes},
       {"format", kModelFormat},
       {"target", parts.target},
       {"prediction", internal::or_null(parts.prediction)},
       {"upper_prediction", internal::or_null(parts.upper_prediction)},
       {"group", internal::or_null(parts.columns[Role::kGroup])},
       {"cluster", internal::or_null(parts.columns[Role::kCluster])},
       {"id", internal::or_null(parts.columns[Role::kId])},
       {"cluster_rule", internal::cluster_rule_json(description)},
       {"pool_groups", parts.pool_groups},
       {"weight", internal::or_null(parts.columns[Role::kWeight])},
       {"shift", function_json(parts.shift.get())},
       {"features", parts.features},
       {"categories", categories_json(report.model)},
       {"base", function_json(parts.base.get())},
       {"localizer", function_json(parts.localizer.get())},
       {"score_transform", parts.rule.transform().name()},
       {"score", name_of(parts.rule.score())},
       {"two_sided", parts.rule.sides() == Sides::kTwo},
       {"unit", parts.unit},
       {"outcome_range", {parts.outcome_space.low, parts.outcome_space.high}},
       {"outcome_step", parts.outcome_space.has_step() ? Json(parts.outcome_space.step) : Json(nullptr)},
       {"fit_rows", parts.fit_rows},
       {"calibration",
        {{"rows_seen", parts.calibration.rows_seen()},
         {"rows_kept", parts.calibration.rows_kept()},
         {"groups", parts.calibration.groups().size()},
         {"grouped", description.groups.has_value()},
         {"by_group", internal::groups_json(description)},
         {"clusters", internal::cluster_count_json(description)},
         {"weighted", !description.weights.empty()},
         {"effective_rows", parts.calibration.effective_rows()}}},
       {"fold_rows", report.model.scheme().rows_by_fold()},
       {"guarantee", json_of(parts.guarantee)},
       {"guarantee_statement", report.model.guarantee_statement().to_string()},
       {"levels", levels_json(report.model)},
       {"online", parts.online ? json_of(*parts.online) : Json(nullptr)},
       {"notes", parts.notes}});
}

}  // namespace widthwise
