#include <algorithm>
#include <cstdlib>

#include <widthwise/report.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/train/registry.hpp>
#include <widthwise/train/threads.hpp>
#include <widthwise/train/xgboost.hpp>

#include "bindings.hpp"
#include "outcomes_outside.hpp"
#include "progress_line.hpp"
#include "table.hpp"
#include "train/fit/blocks.hpp"
#include "train/fit/copies.hpp"
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

/// The column names and row numbers of a fit.
struct FitColumns {
  std::string target;
  std::string prediction;
  std::string upper_prediction;
  std::uint64_t first_row = 0;
  std::uint64_t calibrated_later = 0;                     ///< rows that the caller adds to the calibration set
  std::vector<std::vector<std::string>> categories = {};  ///< of the columns, none of numbers; or none at all
  std::string group = {};                                 ///< name of the column of groups
  std::string weight = {};                                ///< name of the column of weights
  std::string cluster = {};                               ///< name of the column of clusters
  std::string time = {};                                  ///< name of the column of times
};

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

/// The model, and its report as JSON and as text.
std::tuple<Model, std::string, std::string> fit_table(
    const Table& table, const Doubles& y, const std::optional<Doubles>& predictions,
    const std::optional<Doubles>& cv_predictions, const std::optional<Integers>& groups, const GroupLabels* labels,
    const std::optional<Doubles>& weights, const std::optional<Integers>& clusters, const std::optional<Doubles>& times,
    const Table* shift_to, const std::optional<Doubles>& sample_weights, const std::optional<Integers>& copies,
    const FitColumns& columns, const FitOptions& options, const TrainerOptions& trainer_options,
    const nb::object& progress) {
  const Trainers trainers = make_trainers(trainer_options, options.seed, options.needs_localizer());
  std::unique_ptr<const LocalizerTrainer> shift;
  if (shift_to != nullptr) shift = make_classifier_trainer(trainer_options, options.seed);
  FitResult result = [&] {
    const nb::gil_scoped_release release;
    std::vector<double> copy;
    const MatrixView x = matrix_of(table, copy);
    std::vector<double> shift_copy;
    return fit({.rows = {.x = x,
                         .predictions = span_of(predictions),
                         .groups = span_of(groups),
                         .labels = labels,
                         .weights = span_of(weights),
                         .clusters = span_of(clusters),
                         .times = span_of(times),
                         .sample_weights = span_of(sample_weights)},
                .y = span_of(y),
                .features = table.names(),
                .target = columns.target,
                .prediction = columns.prediction,
                .upper_prediction = columns.upper_prediction,
                .columns = {{Role::kGroup, columns.group},
                            {Role::kWeight, columns.weight},
                            {Role::kCluster, columns.cluster},
                            {Role::kTime, columns.time}},
                .categories = {columns.categories.begin(), columns.categories.end()},
                .first_row = columns.first_row,
                .cv_predictions = span_of(cv_predictions),
                .shift_to = shift_to == nullptr ? MatrixView() : matrix_of(*shift_to, shift_copy),
                .copies = span_of(copies)},
               trainers.base.get(), trainers.localizer.get(), options, progress_of(progress), nullptr, shift.get());
  }();
  if (columns.calibrated_later > 0) {
    result.report.calibration_rows += columns.calibrated_later;
    const Model& model = result.model;
    result.report.advise_cross(options, model.scheme().refusal(Choice::kFold).empty());
  }
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

internal::RowBlocks blocks_of(const std::optional<Integers>& clusters, const std::optional<Doubles>& times) {
  const auto numbers = span_of(clusters);
  const auto values = span_of(times);
  return {{numbers.begin(), numbers.end()}, {values.begin(), values.end()}};
}

/// Which rows are in a share of the clusters or of the times, as in fit: 0 or 1.
Numbers share_of_blocks(const std::optional<Integers>& clusters, const std::optional<Doubles>& times, double share,
                        std::uint64_t seed) {
  const std::vector<bool> in_share = blocks_of(clusters, times).share(share, seed);
  auto out = std::make_unique_for_overwrite<std::int64_t[]>(in_share.size());
  std::ranges::copy(in_share, out.get());
  return give<Numbers>(std::move(out), {in_share.size()});
}

/// The folds of rows with clusters or times, as in fit.
Numbers folds_of_blocks(const std::optional<Integers>& clusters, const std::optional<Doubles>& times, std::size_t count,
                        std::uint64_t seed) {
  const internal::Folds folds = blocks_of(clusters, times).folds(count, seed);
  auto out = std::make_unique_for_overwrite<std::int64_t[]>(folds.fold_of.size());
  std::ranges::copy(folds.fold_of, out.get());
  return give<Numbers>(std::move(out), {folds.fold_of.size()});
}

/// The number of the first row with the same content, for each row, and a warning; none if rows are kept as they are.
std::pair<std::optional<Numbers>, std::string> row_copies(
    const Table& table, const Doubles& y, const std::optional<Integers>& groups, const std::optional<Doubles>& weights,
    const std::optional<Integers>& clusters, const std::optional<Doubles>& times, const OptionValues& options) {
  std::vector<double> copy;
  const internal::RowCopies copies = internal::find_copies({.rows = {.x = matrix_of(table, copy),
                                                                     .groups = span_of(groups),
                                                                     .weights = span_of(weights),
                                                                     .clusters = span_of(clusters),
                                                                     .times = span_of(times)},
                                                            .y = span_of(y),
                                                            .features = table.names(),
                                                            .target = {}},
                                                           fit_options(options).duplicates, internal::Workers(nullptr));
  if (copies.first.empty()) return {std::nullopt, ""};
  auto out = std::make_unique_for_overwrite<std::int64_t[]>(copies.first.size());
  std::ranges::copy(copies.first, out.get());
  return {give<Numbers>(std::move(out), {copies.first.size()}), copies.warning};
}

/// Throw if outcomes are not in the outcome space of the options; the message counts and names rows.
void check_outcomes(const Doubles& outcomes, const OptionValues& options) {
  const OutcomeSpace space = fit_options(options).outcome_space;
  space.check("fit");
  internal::OutcomesOutside outside(space);
  outside.add(span_of(outcomes), 1);
  outside.require_none("fit");
}

}  // namespace

void bind_fit(nb::module_& module) {
  register_xgboost();
  register_python_nets();
  bind_progress(module);
  nb::class_<FitColumns>(module, "FitColumns")
      .def(nb::init<std::string, std::string, std::string, std::uint64_t, std::uint64_t,
                    std::vector<std::vector<std::string>>, std::string, std::string, std::string, std::string>(),
           nb::kw_only(), nb::arg("target"), nb::arg("prediction"), nb::arg("upper_prediction"), nb::arg("first_row"),
           nb::arg("calibrated_later"), nb::arg("categories"), nb::arg("group"), nb::arg("weight"), nb::arg("cluster"),
           nb::arg("time"));
  module.def(
      "fit",
      [](const Table& table, const Doubles& y, const std::optional<Doubles>& predictions,
         const std::optional<Doubles>& cv_predictions, const std::optional<Integers>& groups, const GroupLabels* labels,
         const std::optional<Doubles>& weights, const std::optional<Integers>& clusters,
         const std::optional<Doubles>& times, const Table* shift_to, const std::optional<Doubles>& sample_weights,
         const std::optional<Integers>& copies, const FitColumns& columns, const OptionValues& options,
         const OptionValues& trainers, const nb::object& progress) {
        TrainerOptions trainer_options;
        TrainerOptions::table().set(trainer_options, trainers);
        return fit_table(table, y, predictions, cv_predictions, groups, labels, weights, clusters, times, shift_to,
                         sample_weights, copies, columns, fit_options(options), trainer_options, progress);
      },
      nb::kw_only(), nb::arg("table"), nb::arg("y"), nb::arg("predictions").none(), nb::arg("cv_predictions").none(),
      nb::arg("groups").none(), nb::arg("labels").none(), nb::arg("weights").none(), nb::arg("clusters").none(),
      nb::arg("times").none(), nb::arg("shift_to").none(), nb::arg("sample_weights").none(), nb::arg("copies").none(),
      nb::arg("columns"), nb::arg("options"), nb::arg("trainers"), nb::arg("progress").none());
  module.def("check_fit_options", [](const OptionValues& options) { (void)fit_options(options); }, nb::arg("options"));
  module.def("fit_option_list", [] { return to_list(FitOptions::table().infos()); });
  module.def("trainer_option_list", [] { return to_list(TrainerOptions::table().infos()); });
  module.def("trainer_list", &trainer_list);
  module.def("check_outcomes", &check_outcomes, nb::arg("outcomes"), nb::arg("options"));
  module.def("row_copies", &row_copies, nb::kw_only(), nb::arg("table"), nb::arg("y"), nb::arg("groups").none(),
             nb::arg("weights").none(), nb::arg("clusters").none(), nb::arg("times").none(), nb::arg("options"));
  module.def("share_of_blocks", &share_of_blocks, nb::arg("clusters").none(), nb::arg("times").none(), nb::arg("share"),
             nb::arg("seed"));
  module.def("folds_of_blocks", &folds_of_blocks, nb::arg("clusters").none(), nb::arg("times").none(), nb::arg("count"),
             nb::arg("seed"));
  const FitOptions options;
  module.attr("CALIBRATION_SIZE") = options.calibration_size;
  module.attr("FOLDS") = options.folds;
  module.def("available_processors", &available_processors);
}

}  // namespace widthwise::python
