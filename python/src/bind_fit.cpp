#include <cstdlib>

#include <widthwise/train/fit.hpp>
#include <widthwise/train/neighbours.hpp>
#include <widthwise/train/threads.hpp>
#include <widthwise/train/xgboost.hpp>

#include "bindings.hpp"
#include "predictor/outcomes_outside.hpp"
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

nb::dict to_dict(const GoalReport& report) {
  nb::dict dict;
  dict["goal"] = report.goal;
  dict["transform"] = report.transform;
  dict["mean_width"] = report.mean_width;
  dict["coverage"] = report.coverage;
  dict["worst_slab"] = report.worst_slab ? nb::object(python::to_dict(*report.worst_slab)) : nb::none();
  dict["infinite"] = report.infinite;
  dict["empty"] = report.empty;
  dict["length"] = report.length;
  return dict;
}

nb::dict to_dict(const FitReport& report) {
  nb::dict dict;
  dict["fit_rows"] = report.fit_rows;
  dict["hold_rows"] = report.hold_rows;
  dict["calibration_rows"] = report.calibration_rows;
  dict["base_error"] = report.base_error;
  dict["chosen"] = to_dict(report.chosen);
  dict["other"] = report.other ? nb::object(to_dict(*report.other)) : nb::none();
  dict["fixed"] = to_dict(report.fixed);
  dict["in_words"] = report.in_words();
  dict["warnings"] = report.warnings;
  return dict;
}

struct Trainers {
  std::unique_ptr<const BaseTrainer> base;
  std::unique_ptr<const LocalizerTrainer> localizer;
};

Trainers make_trainers(const std::string& base, bool with_localizer, const std::string& xgboost, std::size_t threads,
                       std::uint64_t seed) {
  Trainers trainers;
  std::shared_ptr<const XgboostLibrary> library;
  if (with_localizer || base == "xgboost") library = XgboostLibrary::load(xgboost);
  if (base == "xgboost") {
    TreeBaseOptions options;
    options.threads = threads;
    options.seed = seed;
    trainers.base = make_tree_base_trainer(library, options);
  } else if (base == "knn") {
    NeighbourOptions options;
    options.seed = seed;
    trainers.base = make_neighbour_trainer(options);
  } else if (!base.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "there is no base model '" + base + "'; expected xgboost or knn");
  }
  if (with_localizer) {
    TreeOptions options;
    options.threads = threads;
    options.seed = seed;
    trainers.localizer = make_tree_trainer(library, options);
  }
  return trainers;
}

std::pair<Model, nb::dict> fit_table(
    const Table& table, const Doubles& y, const std::optional<Doubles>& predictions,
    const std::optional<Doubles>& cv_predictions, const std::string& target, const std::string& prediction,
    std::uint64_t first_row, const std::string& base, const std::string& goal, const std::string& transform,
    std::optional<bool> two_sided, const std::optional<std::tuple<double, double, double>>& window,
    const std::vector<double>& levels, const std::string& guarantee, double calibration_share, std::size_t folds,
    const std::pair<double, double>& range, bool may_be_exact, bool compare, std::uint64_t seed, std::size_t threads,
    const std::string& xgboost, const nb::object& progress) {
  FitOptions options;
  if (!goal.empty()) options.goal = Goal::parse(goal);
  options.transform = transform;
  if (two_sided) options.sides = *two_sided ? Sides::kTwo : Sides::kOne;
  options.window = window_of(window);
  options.levels = levels_of(levels);
  options.guarantee = Guarantee::parse(guarantee);
  options.calibration_share = calibration_share;
  options.folds = folds;
  options.range = {range.first, range.second};
  options.may_be_exact = may_be_exact;
  options.compare = compare;
  options.seed = seed;

  const GoalPlan plan = plan_goal(options.goal, options.transform);
  const Trainers trainers = make_trainers(base, plan.objective != nullptr, xgboost, threads, seed);
  const FitResult result = [&] {
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
  return {result.model, to_dict(result.report)};
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
             nb::arg("window").none(), nb::arg("levels"), nb::arg("guarantee"), nb::arg("calibration_share"),
             nb::arg("folds"), nb::arg("range"), nb::arg("may_be_exact"), nb::arg("compare"), nb::arg("seed"),
             nb::arg("threads"), nb::arg("xgboost"), nb::arg("progress").none());
  module.def("check_outcomes", &check_outcomes, nb::arg("outcomes"), nb::arg("range"));
  module.attr("CALIBRATION_SHARE") = options.calibration_share;
  module.attr("FOLDS") = options.folds;
  module.def("available_processors", &available_processors);
}

}  // namespace widthwise::python
