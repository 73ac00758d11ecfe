#include <widthwise/train/fit.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <new>
#include <string>
#include <utility>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "conformal/outcomes.hpp"
#include "train/fit/base_model.hpp"
#include "train/fit/copies.hpp"
#include "train/fit/holdout.hpp"
#include "train/fit/part_of_table.hpp"
#include "train/fit/splits.hpp"
#include "train/fit/steps.hpp"
#include "train/workers/workers.hpp"

namespace widthwise {

using internal::Candidate;
using internal::FittingCategories;
using internal::FittingRows;
using internal::Goals;
using internal::Holdout;
using internal::PartOfTable;
using internal::ProgressSteps;
using internal::Splits;
using internal::text_of;
using internal::Workers;

namespace {

/// Handle a mean error of 0: throw, or train nothing if predictions may be exact.
void accept_exact_predictions(const FittingRows& rows, const FitTable& table, bool may_be_exact, const Workers& workers,
                              Goals& goals, FitReport& report) {
  internal::check_rounded_to_zero(rows.residuals, workers);
  if (!may_be_exact) internal::refuse_exact_predictions(table);
  goals = {.chosen = goals.fixed,
           .two_sided = std::nullopt,
           .central = std::nullopt,
           .fixed = goals.fixed,
           .other = std::nullopt};
  report.warnings.emplace_back("every prediction equals the outcome, so there is no error to learn from");
}

/// The decrease of the hold-out loss that justifies the parameters of two sides. Chance differences decrease with the
/// square root of the number of rows.
double min_gain(std::uint64_t holdout_rows) { return 0.35 / std::sqrt(static_cast<double>(holdout_rows)); }

/// Whether two sides are better than one. A scale for each side always describes the mean error better, but its
/// intervals may be wider, so that goals of the scale family compare interval scores instead of losses. They try two
/// sides around quantiles only, where either is plausible.
bool has_better_sides(const Candidate& two_sided, const Candidate& symmetric, double gain) {
  const ResolvedGoal& goal = symmetric.goal;
  const bool by_loss = goal.goal.is_narrow() || goal.rule.transform().has_spline_inverse();
  return by_loss ? two_sided.trained.loss < symmetric.trained.loss - gain
                 : internal::has_smaller_score(two_sided, symmetric, 0);
}

/// Train the chosen goal, with one side or two, and with the shortest or the central intervals of a distribution.
Candidate choose(const Goals& goals, const Holdout& holdout, std::uint64_t holdout_rows) {
  Candidate chosen = holdout.try_out(goals.chosen);
  const double gain = min_gain(holdout_rows);
  if (goals.two_sided) {
    Candidate two_sided = holdout.try_out(*goals.two_sided);
    if (has_better_sides(two_sided, chosen, gain)) chosen = std::move(two_sided);
  }
  if (goals.central) {
    Candidate central = holdout.try_out(*goals.central, chosen.trained);
    if (internal::has_smaller_score(central, chosen, 1)) chosen = std::move(central);
  }
  return chosen;
}

/// A report that has only the numbers of rows.
FitReport report_of(const Splits& splits) {
  FitReport report;
  report.fit_rows = splits.fit_rows();
  report.holdout_rows = splits.holdout_rows();
  report.calibration_rows = splits.calibration_rows();
  return report;
}

void compare(const Candidate& chosen, const Goals& goals, const Holdout& holdout, FitReport& report) {
  report.chosen = chosen.report;
  report.fixed = holdout.try_out(goals.fixed).report;
  if (goals.other) report.other = holdout.try_out(*goals.other).report;
}

/// FitReport::outcome_hints, from the outcomes of all rows and the intervals of the hold-out.
std::string hints_of(const FitTable& table, const OutcomeSpace& space, const Candidate& chosen, double unit,
                     const Workers& workers) {
  internal::OutcomeHints hints(space);
  hints.add_outcomes(table.y);
  workers.add_up(hints.counts());
  for (const Interval& interval : chosen.intervals) hints.add_bounds({&interval.lower, 1}, {&interval.upper, 1}, unit);
  std::string text;
  for (const internal::OutcomeHint& hint : hints.hints()) text.append(" ").append(hint.text);
  return text;
}

/// ModelParts::pool_groups. By default, as many rows as the levels need.
std::uint64_t pool_below(const FitOptions& options) {
  if (options.pool_groups) return *options.pool_groups;
  std::uint64_t rows = 1;
  for (const Level& level : options.levels) rows = std::max(rows, options.guarantee.min_rows(level));
  return rows;
}

/// ModelParts::fit_clusters of a sketch of the clusters of the fitting rows: none if nothing was learnt from them,
/// because predictions of the deployed model are given and there is no localizer.
RowSketch learnt_clusters(RowSketch fitting, const FitTable& table, bool has_localizer) {
  return table.rows.predictions.empty() || has_localizer ? std::move(fitting) : RowSketch();
}

/// The largest number of rows of a cluster.
std::uint64_t largest_count(const RowSketch& clusters) {
  std::uint64_t largest = 0;
  for (const RowSketch::Entry& entry : clusters.entries()) largest = std::max(largest, entry.count);
  return largest;
}

/// ModelParts::shift; null if the table has no rows to learn weights from.
std::shared_ptr<const RowFunction> learnt_weights(const FitTable& table, const FittingRows& rows,
                                                  const LocalizerTrainer* trainer, const FitOptions& options,
                                                  ProgressSteps& steps, FitReport& report) {
  if (table.shift_to.rows() == 0) return nullptr;
  if (trainer == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "fit: learning weights from shift_to needs a trainer");
  }
  internal::LearntShift shift =
      internal::learn_shift(table, rows, *trainer, options.seed, steps.next(), report.warnings);
  report.shift = shift.report;
  return shift.function;
}

/// How the model was made, for its file.
std::map<std::string, std::string> notes_of(const ResolvedGoal& goal, const FitTable& table, const Splits& splits,
                                            const BaseTrainer* base, const LocalizerTrainer* localizer,
                                            const FitOptions& options, const std::string& settings,
                                            const Workers& workers) {
  std::map<std::string, std::string> notes{
      {"goal", goal.goal.to_string()}, {"seed", std::to_string(options.seed)}, {"options", settings}};
  workers.add_note(notes);
  if (table.columns.has(Role::kTime)) notes["time"] = table.columns[Role::kTime];
  if (internal::given_predictions(table).empty()) {
    notes["base"] = std::string(base->name());
    notes["base_engine"] = base->engine();
    notes["base_options"] = base->settings();
    notes["folds"] = std::to_string(splits.folds().count);
  } else {
    notes[kTrainedWith] = table.cv_predictions.empty() ? "predictions of the deployed model" : kCrossValidated;
  }
  if (goal.objective == nullptr) return notes;
  notes["localizer"] = std::string(localizer->name());
  notes["localizer_engine"] = localizer->engine();
  notes["localizer_options"] = localizer->settings();
  if (goal.level_window) {
    notes["level_window"] = goal.level_window->lower.to_string() + ".." + goal.level_window->upper.to_string();
    if (goal.level_window->outside > 0) notes["outside_level_window"] = text_of(goal.level_window->outside);
  }
  return notes;
}

/// Plan the steps of a fit by split calibration, in their order. The guesses of their times are proportional to the
/// rows and columns, and the factors are those of the trainers of trees.
void plan_steps(const FitTable& table, const Splits& splits, const Goals& goals, ProgressSteps& steps) {
  using Length = ProgressSteps::Length;
  constexpr double kBase = 2e-6;       // seconds per value of the table to train the base model
  constexpr double kLocalizer = 2e-6;  // to train a localizer until it stops
  const auto columns = static_cast<double>(table.rows.x.columns() + 1);
  const double values = columns * static_cast<double>(splits.learning().rows.size());
  if (internal::given_predictions(table).empty()) {
    const double seconds = kBase * columns * static_cast<double>(splits.fitting().rows.size());
    const std::size_t folds = splits.folds().count;
    steps.plan("base", seconds * static_cast<double>(std::max<std::size_t>(folds - 1, 1)));
    if (folds != kOneSplit) steps.plan("base", seconds);
  }
  if (table.shift_to.rows() > 0) steps.plan("weights", kLocalizer * values);
  const auto train = [&](const ResolvedGoal& goal) {
    if (goal.objective != nullptr) steps.plan("localizer", kLocalizer * values, Length::kAtMost);
  };
  train(goals.chosen);
  if (goals.two_sided) train(*goals.two_sided);
  if (goals.other) train(*goals.other);
  if (goals.chosen.objective != nullptr && Holdout::retrains(splits.learning_rows()))
    steps.plan("localizer on all rows", kLocalizer * values);
}

/// What every step of one fit reads.
struct Setting {
  const BaseTrainer* base;  ///< may be null, as the other two
  const LocalizerTrainer* localizer;
  const LocalizerTrainer* shift;
  const FitOptions& options;
  const ProgressCallback& progress;
  const Workers& workers;
  const FitTable& given;  ///< the table without the predictions of a plan
};

/// The names of the columns that rows to calibrate or predict have as well.
RoleNames model_columns(const RoleNames& columns) {
  RoleNames kept;
  for (const RoleEntry& entry : roles()) {
    if (entry.reads(Step::kCalibrate)) kept[entry.role] = columns[entry.role];
  }
  return kept;
}

/// A fit by split calibration of a table that is checked and names its copies.
FitResult fit_split(const FitTable& table, const Splits& splits, const Setting& setting, Goals goals,
                    const std::string& settings) {
  const auto& [base, localizer, shift, options, progress, workers, given] = setting;
  const FittingCategories categories(table, splits, workers);
  const FitTable& encoded = categories.table();
  ProgressSteps steps(progress);
  plan_steps(table, splits, goals, steps);
  const FittingRows rows = internal::fit_base_model(encoded, splits, base, steps);
  FitReport report = report_of(splits);
  const bool may_cross = internal::combination_of(given, workers).add(Choice::kCrossCalibration).refusal().empty();
  report.advise_cross(options, may_cross);
  report.base_error = internal::mean_error(rows, splits, workers);
  if (report.base_error == 0) {
    accept_exact_predictions(rows, table, options.may_be_exact, workers, goals, report);
  }
  const double unit = unit_near(report.base_error);
  const auto weigher = learnt_weights(encoded, rows, shift, options, steps, report);

  const Holdout holdout(rows, unit, splits, workers, options, localizer, steps);
  const Candidate chosen = choose(goals, holdout, splits.holdout_rows());
  compare(chosen, goals, holdout, report);
  report.outcome_hints = hints_of(table, options.outcome_space, chosen, unit, workers);

  const auto trained = holdout.retrain(chosen);
  RowSketch clusters = internal::sketch_of_clusters(table, splits.seen(), workers);
  const std::uint64_t largest_cluster = table.columns.has(Role::kGroup)
                                            ? largest_count(internal::sketch_of_parts(table, splits.seen(), workers))
                                            : largest_count(clusters);
  const Model fitted(
      ModelParts{.features = table.features,
                 .categories = encoded.categories,
                 .target = table.target,
                 .prediction = rows.base != nullptr ? "" : table.prediction,
                 .upper_prediction = table.upper_prediction,
                 .columns = model_columns(table.columns),
                 .cluster_coverage = options.cluster_coverage,
                 .max_cluster_size = options.max_cluster_size.value_or(0),
                 .fit_cluster_size = largest_cluster,
                 .fit_clusters = learnt_clusters(std::move(clusters), table, trained != nullptr),
                 .pool_groups = pool_below(options),
                 .shift = weigher,
                 .base = rows.base,
                 .localizer = trained,
                 .rule = chosen.goal.rule,
                 .unit = unit,
                 .outcome_space = options.outcome_space,
                 .levels = options.levels,
                 .calibration = {},
                 .guarantee = options.guarantee,
                 .fit_residuals = internal::fit_residuals(rows, splits, workers),
                 .fit_rows = splits.fit_rows(),
                 .fit_sketch = internal::sketch_of(encoded, splits.seen(), workers),
                 .notes = notes_of(chosen.goal, table, splits, rows.trainer != nullptr ? rows.trainer.get() : base,
                                   localizer, options, settings, workers)});
  Model model = internal::calibrate(fitted, encoded, splits, workers, options.seed, report.warnings);
  report.effective_rows = model.parts().calibration.effective_rows();
  if (std::string warning = weights_warning(model); !warning.empty()) report.warnings.push_back(std::move(warning));
  return {std::move(model), std::move(report)};
}

/// The result with further warnings, of which some may be empty.
FitResult with_warnings(FitResult result, std::initializer_list<std::string> warnings) {
  for (const std::string& warning : warnings) {
    if (!warning.empty()) result.report.warnings.push_back(warning);
  }
  return result;
}

[[noreturn]] void refuse_too_much(const FitTable& table) {
  throw internal::make_error(ErrorCode::kTooLittleMemory,
                             "fit: out of memory with {} of {}; fit to a sample of the rows, or on a larger machine",
                             internal::count_of(table.rows.x.rows(), "row"),
                             internal::count_of(table.rows.x.columns(), "feature"));
}

}  // namespace

std::string weights_warning(const Model& model) {
  return model.scheme().uncertainty(model.parts().calibration, model.parts().levels.front());
}

FitResult fit(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
              const FitOptions& options, const ProgressCallback& progress, const Communicator* communicator,
              const LocalizerTrainer* shift) try {
  const Workers workers(communicator);
  const internal::OptionsForRows few(options, table, workers);
  const FitOptions& chosen = few.options;
  const Goals goals = internal::resolve_goals(chosen, internal::predicted_numbers(table, base) == 2);
  const std::string settings = internal::validate(table, base, localizer, chosen, goals.chosen, workers);
  const bool cross = chosen.calibration == CalibrationMethod::kCross;
  if (!cross && chosen.folds == kFoldPerRow) {
    throw Error(ErrorCode::kInvalidArgument, "fit: folds 'all' needs cross-calibration (calibration 'cross')");
  }
  if (cross && chosen.folds == kOneSplit) {
    throw Error(ErrorCode::kInvalidArgument, "fit: cross-calibration (calibration 'cross') needs at least 2 folds");
  }
  const Setting setting{base, localizer, shift, chosen, progress, workers, table};
  const auto fit_rows = [&](const FitTable& rows) {
    return cross ? internal::fit_folds(rows, base, localizer, chosen, progress, nullptr)
                 : fit_split(rows, Splits(rows, chosen, workers), setting, goals, settings);
  };
  internal::RowCopies copies = internal::find_copies(table, chosen.duplicates, workers);
  const bool drops = !copies.first.empty() && chosen.duplicates == Duplicates::kDrop;
  FitTable rows = table;  // a view
  if (!copies.first.empty()) rows.copies = copies.first;
  FitResult result =
      drops ? fit_rows(PartOfTable(table, internal::distinct_rows(copies.first)).table()) : fit_rows(rows);
  return with_warnings(std::move(result), {few.warning, copies.warning});
} catch (const std::bad_alloc&) {
  refuse_too_much(table);
}

FitResult fit(const FitTable& table, const PlannedPredictions& predictions, const LocalizerTrainer* localizer,
              const FitOptions& options, const ProgressCallback& progress, const LocalizerTrainer* shift) try {
  const Workers alone(nullptr);
  FitTable rows = table;  // a view
  rows.copies = predictions.plan.copies;
  const std::vector<std::vector<double>> values = internal::predicted_values(table, predictions);
  const bool cross = options.calibration == CalibrationMethod::kCross;
  (cross ? rows.rows.predictions : rows.cv_predictions) = values.front();
  FitOptions accepting = options;
  accepting.may_be_exact = true;  // an estimator may predict its outcomes exactly
  const internal::OptionsForRows few(accepting, table, alone, internal::least_predicted(table, predictions.plan.parts));
  const FitOptions& chosen = few.options;
  const Goals goals = internal::resolve_goals(chosen, internal::predicted_numbers(rows, nullptr) == 2);
  const std::string settings = internal::validate(rows, nullptr, localizer, chosen, goals.chosen, alone);
  const auto fit_rows = [&] {
    if (!cross) {
      return fit_split(rows, Splits(rows, predictions.plan.parts.front(), chosen, alone),
                       {nullptr, localizer, shift, chosen, progress, alone, table}, goals, settings);
    }
    rows.rows.predictions = {};
    const PlannedPredictions finite{predictions.plan, {values.begin(), values.end()}};
    return internal::fit_folds(rows, nullptr, localizer, chosen, progress, &finite);
  };
  return with_warnings(fit_rows(), {few.warning, predictions.plan.warning});
} catch (const std::bad_alloc&) {
  refuse_too_much(table);
}

}  // namespace widthwise
