#include <algorithm>
#include <cstdlib>

#include <widthwise/report.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/train/registry.hpp>
#include <widthwise/train/threads.hpp>
#include <widthwise/train/xgboost.hpp>

#include "base/progress_line.hpp"
#include "bindings.hpp"
#include "conformal/outcomes.hpp"
#include "rows.hpp"
#include "table.hpp"
#include "train/progress_steps.hpp"

namespace widthwise::python {
namespace {

/// A progress callback that calls a Python function and cancels on Ctrl-C.
ProgressCallback progress_of(const nb::object& callback) {
  return [&callback](const Progress& progress) {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!callback.is_none()) {
      const double share =
          progress.total == 0 ? 0 : static_cast<double>(progress.done) / static_cast<double>(progress.total);
      callback(nb::str(progress.stage.data(), progress.stage.size()), share);
    }
    return true;
  };
}

const ProgressCallback kNoCallback;

/// Bind the steps of a fit around which Python trains something itself. Methods hold the GIL.
void bind_progress(nb::module_& module) {
  using internal::ProgressSteps;
  nb::class_<ProgressSteps>(module, "ProgressSteps")
      .def("__init__", [](ProgressSteps* self) { new (self) ProgressSteps(kNoCallback); })
      .def(
          "plan",
          [](ProgressSteps& steps, const std::string& kind, double seconds, std::size_t count) {
            steps.plan(kind, seconds, ProgressSteps::Length::kKnown, count);
          },
          nb::arg("kind"), nb::arg("seconds"), nb::arg("count") = 1)
      .def("begin", &ProgressSteps::begin)
      .def("share", &ProgressSteps::share, nb::arg("part"));
  module.def(
      "progress_line",
      [](const std::string& stage, double share, double seconds, std::size_t columns) {
        const double left = internal::seconds_left(seconds, share);
        return to_string(internal::ProgressLine{.stage = stage, .share = share, .seconds_left = left}, columns);
      },
      nb::arg("stage"), nb::arg("share"), nb::arg("seconds"), nb::arg("columns"));
  module.def("clock_text", &internal::clock_text, nb::arg("seconds"));
}

/// Names of the columns of a fit by their roles, and the categories of the features, none of numbers.
using ColumnNames = std::map<std::string, std::string>;
using Categories = std::vector<std::vector<std::string>>;

FitOptions fit_options(const OptionValues& values) {
  FitOptions options;
  FitOptions::table().set(options, values);
  return options;
}

/// The numbers of a table, in `copy` unless they are a matrix already.
MatrixView matrix_of(const Table& table, std::vector<double>& copy) {
  if (const auto matrix = table.as_matrix()) return *matrix;
  copy.resize(table.rows() * table.columns());
  table.copy(0, {copy.data(), table.rows(), table.columns()});
  return {copy.data(), table.rows(), table.columns()};
}

/// The table of a fit; a view, except for names. `copy` holds the numbers if they are no matrix yet.
FitTable fit_table(const GivenRows& rows, const ColumnNames& names, const Categories& categories,
                   std::vector<double>& copy) {
  const auto name = [&](const char* role) {
    const auto found = names.find(role);
    return found == names.end() ? std::string() : found->second;
  };
  RoleNames by_role;
  for (const RoleEntry& entry : roles()) by_role[entry.role] = name(entry.name);
  widthwise::Rows columns = rows.columns.rows();
  columns.x = matrix_of(rows.table, copy);
  return {.rows = columns,
          .y = rows.y(),
          .features = rows.table.names(),
          .target = name("target"),
          .prediction = name("prediction"),
          .upper_prediction = name("upper_prediction"),
          .columns = by_role,
          .categories = {categories.begin(), categories.end()},
          .first_row = rows.columns.first_row()};
}

/// A plan with the predictions of its parts.
struct Plan {
  SplitPlan splits;
  std::vector<std::optional<Doubles>> predictions = std::vector<std::optional<Doubles>>(splits.parts.size());

  [[nodiscard]] PlannedPredictions planned() const {
    PlannedPredictions all{splits, {}};
    for (const auto& one : predictions) all.values.push_back(span_of(one));
    return all;
  }
};

/// The model, and its report as JSON and as text. The predictions are those of a plan or of the rows; "cross_validated"
/// among the names means that other models than the deployed one made them.
std::tuple<Model, std::string, std::string> fit_model(const GivenRows& rows, const ColumnNames& names,
                                                      const Categories& categories, const Table* shift_to,
                                                      const OptionValues& options, const OptionValues& trainers,
                                                      const nb::object& progress, const Plan* plan) {
  TrainerOptions trainer_options;
  TrainerOptions::table().set(trainer_options, trainers);
  const FitOptions fit_with = fit_options(options);
  const Trainers made = make_trainers(trainer_options, fit_with.seed, fit_with.needs_localizer());
  std::unique_ptr<const LocalizerTrainer> shift;
  if (shift_to != nullptr) shift = make_classifier_trainer(trainer_options, fit_with.seed);
  const FitResult result = [&] {
    const nb::gil_scoped_release release;
    std::vector<double> copy;
    std::vector<double> shift_copy;
    FitTable table = fit_table(rows, names, categories, copy);
    if (shift_to != nullptr) table.shift_to = matrix_of(*shift_to, shift_copy);
    if (plan != nullptr) {
      return fit(table, plan->planned(), made.localizer.get(), fit_with, progress_of(progress), shift.get());
    }
    (names.contains("cross_validated") ? table.cv_predictions : table.rows.predictions) = span_of(rows.predictions);
    return fit(table, made.base.get(), made.localizer.get(), fit_with, progress_of(progress), nullptr, shift.get());
  }();
  return {result.model, to_json(result, std::nullopt, NonFinite::kName), to_text(result)};
}

nb::dict to_dict(const OptionInfo& info) {
  nb::dict dict;
  dict["name"] = info.name;
  dict["form"] = info.form;
  dict["expected"] = info.expected;
  dict["help"] = info.help;
  dict["group"] = info.group;
  dict["default"] = info.default_value;
  return dict;
}

nb::list to_list(std::span<const OptionInfo> infos) {
  nb::list list;
  for (const OptionInfo& info : infos) list.append(to_dict(info));
  return list;
}

/// All trainers with their options.
nb::list trainer_list() {
  nb::list list;
  for (const TrainerEntry& entry : trainers()) {
    nb::dict dict;
    dict["kind"] = std::string(name_of(entry.kind));
    dict["name"] = entry.name;
    dict["help"] = entry.help;
    dict["distributed"] = entry.distributed;
    dict["takes_categories"] = entry.takes_categories;
    dict["available"] = entry.make_base != nullptr || entry.make_localizer != nullptr;
    dict["options"] = to_list(entry.options);
    list.append(dict);
  }
  return list;
}

using GivenFold = std::pair<Integers, Integers>;

Numbers array_of_rows(const std::vector<std::size_t>& rows) {
  auto out = std::make_unique_for_overwrite<std::int64_t[]>(rows.size());
  std::ranges::copy(rows, out.get());
  return give<Numbers>(std::move(out), {rows.size()});
}

std::vector<std::size_t> rows_of(const Integers& numbers) {
  const auto values = span_of(numbers);
  return {values.begin(), values.end()};
}

/// The plan of a fit; with given folds, an empty list for the rows to split.
Plan plan_of(const GivenRows& rows, const ColumnNames& names, const OptionValues& options,
             const std::optional<std::vector<GivenFold>>& folds) {
  std::vector<double> copy;
  const FitTable table = fit_table(rows, names, {}, copy);
  if (!folds) return {plan_splits(table, fit_options(options))};
  std::vector<Fold> given;
  for (const auto& [train, test] : *folds) given.push_back({.train = rows_of(train), .test = rows_of(test)});
  return {plan_splits(table, fit_options(options), std::move(given))};
}

/// Fitting rows, calibration rows, learning rows, and the training and test rows of each fold.
using PartRows = std::tuple<Numbers, Numbers, Numbers, std::vector<std::pair<Numbers, Numbers>>>;

std::vector<PartRows> parts_of(const Plan& plan) {
  std::vector<PartRows> parts;
  for (const SplitPart& part : plan.splits.parts) {
    std::vector<std::pair<Numbers, Numbers>> folds;
    for (const Fold& fold : part.folds) folds.emplace_back(array_of_rows(fold.train), array_of_rows(fold.test));
    parts.emplace_back(array_of_rows(part.fitting), array_of_rows(part.calibration), array_of_rows(part.learning),
                       std::move(folds));
  }
  return parts;
}

/// Throw if outcomes are not in the outcome space of the options; the message counts and names rows.
void check_space(const Doubles& outcomes, const OptionValues& options, const std::vector<std::string>& ids) {
  const OutcomeSpace space = fit_options(options).outcome_space;
  space.check("fit");
  internal::OutcomesOutside outside(space);
  outside.add(span_of(outcomes), 1, ids);
  outside.require_none("fit");
}

}  // namespace

void bind_fit(nb::module_& module) {
  register_xgboost();
  register_python_nets();
  bind_progress(module);
  nb::class_<Plan>(module, "SplitPlan", "Which rows an estimator is fitted to and predicts; takes its predictions.")
      .def_prop_ro("parts", &parts_of, nb::rv_policy::move)
      .def(
          "predict", [](Plan& plan, std::size_t part, const Doubles& values) { plan.predictions.at(part) = values; },
          nb::arg("part"), nb::arg("values"));
  module.def("plan_splits", &plan_of, nb::arg("rows"), nb::arg("names"), nb::arg("options"),
             nb::arg("folds").none() = nb::none());
  module.def("fit", &fit_model, nb::arg("rows"), nb::arg("names"), nb::arg("categories"), nb::arg("shift_to").none(),
             nb::arg("options"), nb::arg("trainers"), nb::arg("progress").none(), nb::arg("plan").none() = nb::none());
  module.def("check_fit_options", [](const OptionValues& options) { (void)fit_options(options); }, nb::arg("options"));
  module.def("fit_option_list", [] { return to_list(FitOptions::table().infos()); });
  module.def("trainer_option_list", [] { return to_list(TrainerOptions::table().infos()); });
  module.def("trainer_list", &trainer_list);
  module.def("check_outcomes", &check_space, nb::arg("outcomes"), nb::arg("options"),
             nb::arg("ids") = std::vector<std::string>());
  const FitOptions options;
  module.attr("CALIBRATION_SIZE") = options.calibration_size;
  module.def("available_processors", &available_processors);
}

}  // namespace widthwise::python
