#include <utility>

#include "base/layout.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/json.hpp"
#include "report/sentences.hpp"

namespace widthwise {
namespace {

using internal::significant;

Json goal_json(const GoalReport& goal) {
  return {{"goal", goal.goal},
          {"score_transform", goal.score_transform},
          {"mean_width", goal.mean_width},
          {"finite_mean_width", goal.finite_mean_width},
          {"coverage", goal.coverage},
          {"worst_slab", goal.worst_slab ? json_of(*goal.worst_slab) : Json(nullptr)},
          {"infinite", goal.infinite},
          {"empty", goal.empty},
          {"iterations", goal.iterations}};
}

Json shift_json(const FitReport& report) {
  if (!report.shift) return nullptr;
  return {{"rows", report.shift->rows}, {"auc", report.shift->auc}};
}

/// The goals on the hold-out. The worst slab is only searched if rows are `independent`.
std::string goals_text(const FitReport& report, bool independent) {
  internal::TextTable table;
  table.add({"goal", "mean width", "coverage", "worst slab", "95% confidence"});
  const auto add = [&](const GoalReport& goal, const std::string& note) {
    std::vector<std::string> cells = {internal::goal_name(goal) + note,
                                      internal::written(internal::Mean{goal.mean_width, goal.finite_mean_width}),
                                      percent(goal.coverage)};
    if (goal.worst_slab) {
      cells.push_back(percent(goal.worst_slab->share));
      cells.push_back(internal::percent_range(goal.worst_slab->low, goal.worst_slab->high));
    } else {
      cells.insert(cells.end(), {"-", independent ? "too few rows" : "rows are not independent"});
    }
    table.add(std::move(cells));
  };
  add(report.chosen, ", this model");
  if (report.other) add(*report.other, "");
  if (report.chosen.goal != "fixed") add(report.fixed, "");
  return table.to_string();
}

std::string with_range(const Proportion& slab) {
  return percent(slab.share).append(" (").append(internal::percent_range(slab.low, slab.high)).append(")");
}

/// The gain of the goal even over the goal chosen, for advice; null when even was not compared.
Json even_gain(const FitReport& report) {
  if (!report.other || report.other->goal != "even") return nullptr;
  const GoalReport& even = *report.other;
  const GoalReport& chosen = report.chosen;
  if (!even.worst_slab || !chosen.worst_slab) return "The hold-out was too small to measure the gain.";
  return "On the hold-out, the goal even covered " + with_range(*even.worst_slab) +
         " where coverage is worst, instead of " + with_range(*chosen.worst_slab) + ", with a mean width of " +
         internal::written(internal::Mean{even.mean_width, even.finite_mean_width}) + " instead of " +
         internal::written(internal::Mean{chosen.mean_width, chosen.finite_mean_width}) +
         (even.worst_slab->low <= chosen.worst_slab->high ? "; the difference may be chance." : ".");
}

}  // namespace

std::string to_text(const FitResult& result, const std::optional<FitFiles>& files) {
  const FitReport& report = result.report;
  const ModelParts& parts = result.model.parts();
  std::string text = files ? internal::printable(files->model) + ": fitted on " + internal::printable(files->table) +
                                 ", " + count_of(parts.features.size(), "feature")
                           : "Fitted with " + count_of(parts.features.size(), "feature");
  const std::size_t folds = result.model.scheme().rows_by_fold().size();
  text += "\n\n  fitting rows      " + count(report.fit_rows);
  text +=
      folds > 0 ? ", in " + count_of(folds, "fold") : ", of which " + count(report.holdout_rows) + " in the hold-out";
  text += "\n  calibration rows  " + count(report.calibration_rows);
  if (folds > 0) text += ", each with the model of its fold";
  text += result.model.scheme().describe(parts.calibration).parts;
  if (report.effective_rows > 0 && result.model.scheme().weighs_new_rows())
    text += ", weighted (effective sample size " + count(report.effective_rows) + ")";
  text += "\n";
  if (report.shift) {
    text += "  learnt weights    from " + count_of(report.shift->rows, "row") +
            " to predict; a classifier separates them from the fitting rows with AUC " +
            significant(report.shift->auc) + "\n";
  }
  text += "  base error        " + significant(report.base_error) + ", mean |" + internal::printable(parts.target) +
          " - prediction| " + internal::kind_of_errors(parts) + "\n\n";
  const RoleNames& columns = result.model.scheme().options().columns;
  if (report.widths_measured()) {
    text += std::string("On the hold-out") + (folds > 0 ? " of the first fold model" : "") + ", at level " +
            parts.levels.front().to_string() + ":\n\n" +
            goals_text(report, !columns.has(Role::kCluster) && !columns.has(Role::kTime)) + "\n";
  }
  text += internal::wrapped(report.summary()) + "\n";
  if (!columns.has(Role::kTime)) return text;
  return text + "\n" +
         internal::wrapped("The rows are split by the time in '" + internal::printable(columns[Role::kTime]) +
                           "'. Rows ordered in time are rarely exchangeable, so the coverage of later rows is not "
                           "guaranteed: measure it with evaluate, and adapt to changes with track.") +
         "\n";
}

std::string to_json(const FitResult& result, const std::optional<FitFiles>& files, NonFinite non_finite) {
  const FitReport& report = result.report;
  const ModelParts& parts = result.model.parts();
  Json json = Json::object();
  if (files) json = {{"model", files->model}, {"table", files->table}, {"left_out", files->left_out}};
  json.update(
      {{"target", parts.target},
       {"group", internal::or_null(parts.columns[Role::kGroup])},
       {"cluster", internal::or_null(parts.columns[Role::kCluster])},
       {"id", internal::or_null(parts.columns[Role::kId])},
       {"time", internal::or_null(result.model.scheme().options().columns[Role::kTime])},
       {"features", parts.features},
       {"fit_rows", report.fit_rows},
       {"holdout_rows", report.holdout_rows},
       {"weight", internal::or_null(parts.columns[Role::kWeight])},
       {"calibration_rows", report.calibration_rows},
       {"effective_rows", report.effective_rows},
       {"calibration_clusters", internal::cluster_count_json(result.model.scheme().describe(parts.calibration))},
       {"fold_rows", result.model.scheme().rows_by_fold()},
       {"shift", shift_json(report)},
       {"base_error", report.base_error},
       {"level", parts.levels.front().value()},
       {"chosen", goal_json(report.chosen)},
       {"other", report.other ? goal_json(*report.other) : Json(nullptr)},
       {"fixed", goal_json(report.fixed)},
       {"summary", report.summary()},
       {"even_gain", even_gain(report)},
       {"warnings", report.warnings}});
  return internal::dump(json, non_finite);
}

}  // namespace widthwise
