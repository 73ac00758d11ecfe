#include <cstdlib>

#include <widthwise/report.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/train/knn.hpp>
#include <widthwise/train/threads.hpp>
#include <widthwise/train/xgboost.hpp>

#include "bindings.hpp"
#include "outcomes_outside.hpp"
#include "table.hpp"

namespace widthwise::python {
namespace {

/// Tell a Python function of progress, and let Ctrl-C stop the work.
ProgressCallback progress_of(const nb::object& callback) {
  return [&callback](const Progress& progress) {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!callback.is_none()) {
      callback(nb::str(progress.stage.data(), progress.stage.size()), progress.done, progress.total, progress.loss);
    }
    return true;
  };
}

struct Trainers {
  std::unique_ptr<const BaseTrainer> base;
  std::unique_ptr<const LocalizerTrainer> localizer;
};

Trainers make_trainers(const std::string& base, bool with_localizer, const std::string& xgboost, std::size_t threads,
                       std::uint64_t seed) {
  Trainers trainers;
  std::shared_ptr<const XgboostLibrary> library;
  if (with_localizer || base == "trees") library = XgboostLibrary::load(xgboost);
  if (base == "trees") {
    TreeBaseOptions options;
    options.threads = threads;
    options.seed = seed;
    trainers.base = make_tree_base_trainer(library, options);
  } else if (base == "knn") {
    KnnOptions options;
    options.seed = seed;
    trainers.base = make_knn_trainer(options);
  } else if (!base.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "there is no base model '" + base + "'; expected trees or knn");
  }
  if (with_localizer) {
    TreeOptions options;
    options.threads = threads;
    options.seed = seed;
    trainers.localizer = make_tree_trainer(library, options);
  }
  return trainers;
}

/// The model, and its report as JSON and as text. `calibrated_later` rows are added to the report, and to the model by
/// the caller.
std::tuple<Model, std::string, std::string> fit_table(
    const Table& table, const Doubles& y, const std::optional<Doubles>& predictions,
    const std::optional<Doubles>& cv_predictions, const std::string& target, const std::string& prediction,
    std::uint64_t first_row, const std::string& base, const std::string& goal, const std::string& transform,
    std::optional<bool> two_sided, const std::optional<std::tuple<double, double, double>>& level_window,
    const std::vector<double>& levels, const std::string& guarantee, double calibration_size, std::size_t folds,
    const std::pair<double, double>& range, bool may_be_exact, bool compare, std::uint64_t seed, std::size_t threads,
    const std::string& xgboost, std::uint64_t calibrated_later, const nb::object& progress) {
  FitOptions options;
  if (!goal.empty()) options.goal = Goal::parse(goal);
  options.score_transform = transform;
  if (two_sided) options.sides = *two_sided ? Sides::kTwo : Sides::kOne;
  options.level_window = level_window_of(level_window);
  options.levels = levels_of(levels);
  options.guarantee = Guarantee::parse(guarantee);
  options.calibration_size = calibration_size;
  options.folds = folds;
  options.outcome_range = {range.first, range.second};
  options.may_be_exact = may_be_exact;
  options.compare = compare;
  options.seed = seed;

  const ResolvedGoal resolved = resolve_goal(options.goal, options.score_transform);
  const Trainers trainers = make_trainers(base, resolved.objective != nullptr, xgboost, threads, seed);
  FitResult result = [&] {
    const nb::gil_scoped_release release;
    std::vector<double> copy;
    MatrixView x;
    if (const auto matrix = table.as_matrix()) {
      x = *matrix;
    } else {
      copy.resize(table.rows() * table.columns());
      table.copy(0, {copy.data(), table.rows(), table.columns()});
      x = {copy.data(), table.rows(), table.columns()};
    }
    return fit({.x = x,
                .y = span_of(y),
                .predictions = span_of(predictions),
                .features = table.names(),
                .target = target,
                .prediction = prediction,
                .first_row = first_row,
                .cv_predictions = span_of(cv_predictions)},
               trainers.base.get(), trainers.localizer.get(), options, progress_of(progress));
  }();
  result.report.calibration_rows += calibrated_later;
  return {result.model, to_json(result, std::nullopt, NonFinite::kName), to_text(result)};
}

/// Throw, counting and naming rows, when outcomes lie outside the range.
void check_outcomes(const Doubles& outcomes, const std::pair<double, double>& range) {
  internal::OutcomesOutside outside({range.first, range.second});
  outside.add(span_of(outcomes), 0);
  outside.require_none("fit");
}

}  // namespace

void bind_fit(nb::module_& module) {
  const FitOptions options;
  module.def("fit", &fit_table, nb::kw_only(), nb::arg("table"), nb::arg("y"), nb::arg("predictions").none(),
             nb::arg("cv_predictions").none(), nb::arg("target"), nb::arg("prediction"), nb::arg("first_row"),
             nb::arg("base"), nb::arg("goal"), nb::arg("transform"), nb::arg("two_sided").none(),
             nb::arg("level_window").none(), nb::arg("levels"), nb::arg("guarantee"), nb::arg("calibration_size"),
             nb::arg("folds"), nb::arg("range"), nb::arg("may_be_exact"), nb::arg("compare"), nb::arg("seed"),
             nb::arg("threads"), nb::arg("xgboost"), nb::arg("calibrated_later"), nb::arg("progress").none());
  module.def("check_outcomes", &check_outcomes, nb::arg("outcomes"), nb::arg("range"));
  module.attr("CALIBRATION_SIZE") = options.calibration_size;
  module.attr("FOLDS") = options.folds;
  module.def("available_processors", &available_processors);
}

}  // namespace widthwise::python
