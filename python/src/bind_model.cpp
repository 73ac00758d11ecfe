#include <algorithm>
#include <cmath>

#include <widthwise/model.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/report.hpp>
#include <widthwise/row_checks.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/xgboost.hpp>

#include "base/file.hpp"
#include "base/message.hpp"
#include "bindings.hpp"
#include "objective.hpp"
#include "rows.hpp"
#include "table.hpp"

namespace widthwise::python {
namespace {

using OptionalDoubles = std::optional<Doubles>;
using OptionalIntegers = std::optional<Integers>;

/// The columns of a matrix as the features, by position.
Table table_of(const Model& model, const AnyMatrix& matrix) { return from_matrix(matrix, model.parts().features); }

Rows rows_to_predict(const Table& table, const OptionalDoubles& predictions, const OptionalIntegers& groups,
                     const OptionalDoubles& weights, const OptionalDoubles& cluster_sizes) {
  return {table,
          span_of(predictions),
          {.x = {}, .groups = span_of(groups), .weights = span_of(weights), .cluster_sizes = span_of(cluster_sizes)}};
}

std::pair<Vector, Cube> intervals(const Model& model, const Table& table, const OptionalDoubles& predictions,
                                  const OptionalIntegers& groups, const std::vector<double>& level_values,
                                  const OptionalDoubles& weights, const OptionalDoubles& cluster_sizes) {
  const std::vector<Level> levels = levels_of(level_values);
  const std::size_t n = table.rows();
  const std::size_t k = levels.size();
  auto f = room_for(n);
  auto bounds = room_for(n * 2 * k);
  const Rows given = rows_to_predict(table, predictions, groups, weights, cluster_sizes);
  given.for_each_part([&](const widthwise::Rows& rows, std::size_t first) {
    const std::size_t count = rows.x.rows();
    double* const lower = bounds.get() + first * 2 * k;
    model.intervals(rows, levels, {f.get() + first, count}, {lower, count, k, 2 * k}, {lower + k, count, k, 2 * k});
  });
  return {give<Vector>(std::move(f), {n}), give<Cube>(std::move(bounds), {n, 2, k})};
}

bool has_categories(const Model& model) {
  return std::ranges::any_of(model.parts().categories, [](const Labels& one) { return one.size() > 0; });
}

std::vector<double> level_values(const Model& model) {
  std::vector<double> values;
  for (const Level& level : model.parts().levels) values.push_back(level.value());
  return values;
}

/// The usual call in one step, because for a single row the general one takes longer to read its arguments than to
/// predict: an array of doubles by position, one prediction per row or none, no groups and no weights. Nothing for
/// every other call, and for calls that must warn.
std::optional<std::pair<Vector, Cube>> plain_intervals(const Model& model, nb::handle matrix, nb::handle predictions,
                                                       std::optional<double> level) {
  const CalibrationScheme& scheme = model.scheme();
  AnyMatrix x;
  if (scheme.reads(Role::kGroup, Step::kPredict) || scheme.weighs_new_rows() || has_categories(model) ||
      !nb::try_cast(matrix, x, false) || x.dtype() != nb::dtype<double>() ||
      x.shape(1) != model.parts().features.size()) {
    return std::nullopt;
  }
  OptionalDoubles f;
  if (model.needs_predictions()) {
    Doubles given;
    if (model.prediction_count() != 1 || !predictions.type().is(matrix.type()) ||
        !nb::try_cast(predictions, given, false) || given.size() != x.shape(0)) {
      return std::nullopt;
    }
    f = given;
  } else if (!predictions.is_none()) {
    return std::nullopt;
  }
  const std::vector<double> levels = level ? std::vector{*level} : level_values(model);
  const auto warns = [&](double value) {
    return !model.scheme().infinite_warning(model.parts().calibration, value).empty();
  };
  if (!model.uncalibrated().empty() || std::any_of(levels.begin(), levels.end(), warns)) return std::nullopt;
  return intervals(model, borrow_matrix(x, model.parts().features), f, std::nullopt, levels, std::nullopt,
                   std::nullopt);
}

/// A vector with one number per row.
template <class Fill>
Vector a_number_each(const Rows& rows, const Fill& fill) {
  auto out = room_for(rows.table.rows());
  rows.for_each_part([&](const widthwise::Rows& part, std::size_t first) {
    fill(part, first, std::span(out.get() + first, part.x.rows()));
  });
  return give<Vector>(std::move(out), {rows.table.rows()});
}

/// A matrix with k numbers per row.
template <class Fill>
Matrix numbers_each(const Rows& rows, std::size_t k, const Fill& fill) {
  auto out = room_for(rows.table.rows() * k);
  rows.for_each_part([&](const widthwise::Rows& part, std::size_t first) {
    fill(part, MutableMatrixView(out.get() + first * k, part.x.rows(), k));
  });
  return give<Matrix>(std::move(out), {rows.table.rows(), k});
}

/// Predictions of the base model, or the median of those given for the folds.
Vector predictions(const Model& model, const Table& table, const OptionalDoubles& given) {
  return a_number_each({table, span_of(given)}, [&](const widthwise::Rows& part, std::size_t, std::span<double> out) {
    model.predictions(part, out);
  });
}

Vector p_values(const Model& model, const Table& table, const OptionalDoubles& predictions,
                const OptionalIntegers& groups, const Doubles& outcomes, const OptionalDoubles& weights,
                const OptionalDoubles& cluster_sizes) {
  check_outcomes(table, outcomes);
  return a_number_each(rows_to_predict(table, predictions, groups, weights, cluster_sizes),
                       [&](const widthwise::Rows& part, std::size_t first, std::span<double> out) {
                         model.p_values(part, span_of(outcomes).subspan(first, out.size()), out);
                       });
}

Vector scores(const Model& model, const Table& table, const OptionalDoubles& predictions, const Doubles& outcomes) {
  check_outcomes(table, outcomes);
  return a_number_each({table, span_of(predictions)},
                       [&](const widthwise::Rows& part, std::size_t first, std::span<double> out) {
                         model.scores(part, span_of(outcomes).subspan(first, out.size()), out);
                       });
}

Matrix quantiles(const Model& model, const Table& table, const OptionalDoubles& predictions,
                 const OptionalIntegers& groups, const std::vector<double>& probabilities,
                 const OptionalDoubles& weights, const OptionalDoubles& cluster_sizes) {
  const std::vector<Level> levels = levels_of(probabilities);
  return numbers_each(rows_to_predict(table, predictions, groups, weights, cluster_sizes), levels.size(),
                      [&](const widthwise::Rows& part, MutableMatrixView out) { model.quantiles(part, levels, out); });
}

Matrix parameters(const Model& model, const Table& table, const OptionalDoubles& predictions) {
  return numbers_each({table, span_of(predictions)}, model.parts().rule.parameter_count(),
                      [&](const widthwise::Rows& part, MutableMatrixView out) { model.parameters(part, out); });
}

/// The distances from f(x) to the lower and upper bounds at the scores of each row (n x m each).
std::pair<Matrix, Matrix> half_widths(const Model& model, const Table& table, const OptionalDoubles& predictions,
                                      const DoubleMatrix& scores) {
  const ConformalRule& rule = model.parts().rule;
  const std::size_t n = table.rows();
  const std::size_t m = scores.shape(1);
  if (scores.shape(0) != n) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "half_widths: {} rows but {} rows of scores", n,
                               scores.shape(0));
  }
  const std::size_t columns = rule.parameter_count();
  auto lower = room_for(n * m);
  auto upper = room_for(n * m);
  std::vector<double> numbers;
  Rows{table, span_of(predictions)}.for_each_part([&](const widthwise::Rows& part, std::size_t first) {
    const std::size_t count = part.x.rows();
    numbers.resize(count * columns);
    model.parameters(part, {numbers.data(), count, columns});
    rule.half_widths({scores.data() + first * m, count, m}, {numbers.data(), count, columns},
                     {lower.get() + first * m, count, m}, {upper.get() + first * m, count, m});
  });
  for (const auto& side : {lower.get(), upper.get()}) {
    for (std::size_t i = 0; i < n * m; ++i) side[i] *= model.parts().unit;
  }
  return {give<Matrix>(std::move(lower), {n, m}), give<Matrix>(std::move(upper), {n, m})};
}

/// s(x) in units of y for intervals of the form f(x) +- c s(x) with one c for all rows; only for transforms without
/// offset, and scores that are a power of the residual.
Vector scales(const Model& model, const Table& table, const OptionalDoubles& predictions) {
  const ConformalRule& rule = model.parts().rule;
  const AffineForm* const form = rule.transform().affine_form();
  if (form == nullptr || form->has_offset() || rule.sides() == Sides::kTwo) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "a difficulty is one factor per row, and the transform {}{} has none; fit with a "
                               "number as the goal, such as goal=1, symmetric",
                               rule.transform().name(), rule.sides() == Sides::kTwo ? ", two-sided," : "");
  }
  if (rule.score() == Score::kLog) {
    throw Error(ErrorCode::kInvalidArgument,
                "a difficulty is one factor per row, and the score log has none; fit with the score absolute or "
                "squared");
  }
  // A e^-v is constant for |r| proportional to e^v, and for r^2 to its root.
  const double power = rule.score() == Score::kSquared ? 0.5 : 1.0;
  const std::size_t columns = rule.parameter_count();
  std::vector<double> numbers;
  return a_number_each({table, span_of(predictions)},
                       [&](const widthwise::Rows& part, std::size_t, std::span<double> out) {
                         numbers.resize(out.size() * columns);
                         model.parameters(part, {numbers.data(), out.size(), columns});
                         form->coefficients({numbers.data(), out.size(), columns}, out, {});
                         for (double& v : out) v = std::exp(power * v) * model.parts().unit;
                       });
}

/// The groups of rows with these integers as labels, and a warning of those without calibration rows.
std::pair<Numbers, std::string> find_integers(const Model& model, const Integers& labels) {
  auto numbers = std::make_unique_for_overwrite<std::int64_t[]>(labels.size());
  GroupRows groups(model);
  {
    const nb::gil_scoped_release release;
    for (std::size_t i = 0; i < labels.size(); ++i) numbers[i] = groups.find(span_of(labels)[i]);
  }
  return {give<Numbers>(std::move(numbers), {labels.size()}), groups.warning()};
}

/// The same for distinct texts, each with its number of rows.
std::pair<std::vector<std::int64_t>, std::string> find_labels(const Model& model,
                                                              const std::vector<std::string>& labels,
                                                              const std::vector<std::uint64_t>& rows) {
  GroupRows groups(model);
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < labels.size(); ++i) numbers.push_back(groups.find(labels[i], rows.at(i)));
  return {std::move(numbers), groups.warning()};
}

/// The groups whose quantiles rows of these groups take.
Numbers quantile_groups(const Model& model, const Integers& groups) {
  auto numbers = std::make_unique_for_overwrite<std::int64_t[]>(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) numbers[i] = model.quantile_group(span_of(groups)[i]);
  return give<Numbers>(std::move(numbers), {groups.size()});
}

/// The model with these calibration rows, which scores of another model cannot be.
Model with_calibration(const Model& model, const SharedShard& rows) {
  return locked(
      [&](const CalibrationShard& shard) {
        require_scores_of(shard, score_fingerprint(model));
        return model.with_calibration(shard.calibration, shard.sketch);
      },
      rows);
}

/// The model with more calibration rows, or with these only.
Model add_shard(const Model& model, const SharedShard& rows, bool replaces, const std::string& option) {
  return locked(
      [&](const CalibrationShard& shard) {
        CalibrationUpdate update(model, replaces, option);
        update.add(shard);
        return std::move(update).finish();
      },
      rows);
}

std::optional<SharedOnline> online_of(const Model& model) {
  const std::optional<OnlineCalibration>& online = model.parts().online;
  if (!online) return std::nullopt;
  return SharedOnline(*online);
}

Model with_online(const Model& model, const SharedOnline* shared) {
  if (shared == nullptr) return model.with_online(std::nullopt);
  return locked([&](const OnlineCalibration& online) { return model.with_online(online); }, *shared);
}

/// The model that rows of a population calibrate; `population` is None if it is not stated.
Model for_rows_of(const Model& model, const std::optional<std::string>& population, bool replace) {
  return model_for_rows_of(model, population ? std::optional(population_of(*population)) : std::nullopt, replace);
}

SharedSketch sketch(const Model& model, const Table& table, const Doubles& outcomes) {
  check_outcomes(table, outcomes);
  const nb::gil_scoped_release release;
  return SharedSketch(sketch_of(model, table, span_of(outcomes)));
}

/// Throw if calibration rows fitted the model.
void check_new_rows(const Model& model, const SharedShard& rows) {
  locked([&](const CalibrationShard& shard) { require_new_rows(model, shard.sketch, RowSketch(), ""); }, rows);
}

/// A warning if the residuals of the rows that were added to a shard are larger or smaller than those of the fit by
/// more than chance; else empty.
std::string in_sample_warning(const Model& model, const SharedShard& rows) {
  return locked([&](const CalibrationShard& shard) { return check_in_sample(model, shard.residuals).warning(); }, rows);
}

Model with_notes(const Model& model, const std::map<std::string, std::string>& notes) {
  ModelParts parts = model.parts();
  for (const auto& [name, text] : notes) parts.notes[name] = text;
  return Model(std::move(parts));
}

Model with_fit_sketch(const Model& model, const SharedSketch& shared) {
  ModelParts parts = model.parts();
  parts.fit_sketch = locked([](const RowSketch& rows) { return rows; }, shared);
  return Model(std::move(parts));
}

nb::bytes to_bytes(const Model& model) {
  const auto bytes = serialise(model);
  return nb::bytes(bytes.data(), bytes.size());
}

/// The version of a file in Python: device, inode, size and time.
using Version = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;

Version to_tuple(const internal::FileVersion& version) {
  return {version.device, version.inode, version.size, version.changed};
}

std::optional<Version> version_of(const nb::bytes& file) {
  const auto version = internal::version_of(file_name_of(file));
  return version ? std::optional(to_tuple(*version)) : std::nullopt;
}

void throw_if_signalled() {
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Save the model and return the version of the file. `loaded` is the version that the model was loaded from, if it was
/// loaded from this file. Throws if the file has changed since, because the update of another process would be lost.
Version save_model(const Model& model, const nb::bytes& file, const std::optional<Version>& loaded) {
  const std::string name = file_name_of(file);
  const nb::gil_scoped_release release;
  const std::vector<std::byte> bytes = serialise(model);
  std::optional<ModelFileLock> lock;
  if (loaded && internal::version_of(name)) lock.emplace(name, throw_if_signalled);
  if (const auto now = internal::version_of(name); loaded && now && to_tuple(*now) != *loaded) {
    throw internal::make_error(ErrorCode::kFile,
                               "{}: cannot be written: the file changed after this model was loaded; load it again and "
                               "repeat the update, or save under another name",
                               name);
  }
  return to_tuple(internal::write_file_atomically(name, bytes));
}

Model load_model(const nb::bytes& file) {
  const std::string name = file_name_of(file);
  const nb::gil_scoped_release release;
  return load(name);
}

Model from_bytes(const nb::bytes& bytes) {
  return deserialise({static_cast<const std::byte*>(bytes.data()), bytes.size()});
}

// ---- row functions as arrays, for exporters

/// A dict with the kind, and numbers and arrays by name; None without a function.
nb::object arrays_of(const RowFunction* function) {
  if (function == nullptr) return nb::none();
  const RowFunctionDescription description = function->describe();
  nb::dict dict;
  dict["kind"] = description.kind;
  dict["inputs"] = function->inputs();
  dict["outputs"] = function->outputs();
  for (const auto& [name, value] : description.numbers) {
    std::visit([&](auto number) { dict[nb::str(name.c_str())] = number; }, value);
  }
  for (const NamedArray& array : description.arrays) {
    std::visit([&](auto values) { dict[nb::str(array.name.c_str())] = array_of(values, array.shape); }, array.values);
  }
  return dict;
}

/// The columns and residuals that the user trained a localizer on.
struct TrainedRows {
  std::vector<std::string> features;
  std::string target;
  std::string prediction;
  Doubles residuals;
  double unit;
};

/// A model with a localizer that the user trained.
Model from_trained(std::shared_ptr<const RowFunction> localizer, const std::string& name,
                   const WidthObjective& objective, const TrainedRows& rows) {
  return Model(ModelParts{.features = rows.features,
                          .target = rows.target,
                          .prediction = rows.prediction,
                          .localizer = std::move(localizer),
                          .rule = objective.resolved.rule,
                          .unit = rows.unit,
                          .levels = {0.9},
                          .fit_residuals = residual_quantiles(span_of(rows.residuals)),
                          .fit_rows = rows.residuals.size(),
                          .notes = {{"goal", objective.resolved.goal.to_string()}, {"localizer", name}}});
}

Model from_xgboost(const nb::bytes& saved, const WidthObjective& objective, const TrainedRows& rows) {
  return from_trained(read_trees({static_cast<const std::byte*>(saved.data()), saved.size()}), "trees", objective,
                      rows);
}

/// `layers` are weights (outputs x inputs) and biases of each layer.
Model from_net(const std::vector<std::pair<FloatMatrix, Floats>>& layers, const Doubles& centre, const Doubles& scale,
               double bound, const WidthObjective& objective, const TrainedRows& rows) {
  DenseNetArrays net{.centre = {centre.data(), centre.data() + centre.size()},
                     .scale = {scale.data(), scale.data() + scale.size()},
                     .bound = bound,
                     .layers = {}};
  for (const auto& [weights, biases] : layers) {
    net.layers.push_back({.inputs = static_cast<std::uint32_t>(weights.shape(1)),
                          .outputs = static_cast<std::uint32_t>(weights.shape(0)),
                          .weights = {weights.data(), weights.data() + weights.size()},
                          .biases = {biases.data(), biases.data() + biases.size()}});
  }
  return from_trained(std::make_shared<const DenseNet>(std::move(net)), "net", objective, rows);
}

/// The categories of each feature; none of a number.
std::vector<std::vector<std::string>> categories_of(const Model& model) {
  std::vector<std::vector<std::string>> categories;
  for (std::size_t j = 0; j < model.parts().features.size(); ++j) {
    const std::span<const std::string> labels = model.categories_of(j).all();
    categories.emplace_back(labels.begin(), labels.end());
  }
  return categories;
}

/// Properties for the contents of a model.
void bind_parts(nb::class_<Model>& model) {
  model.def_prop_ro("features", [](const Model& self) { return self.parts().features; })
      .def_prop_ro("feature_count", [](const Model& self) { return self.parts().features.size(); })
      .def_prop_ro("categories", &categories_of)
      .def_prop_ro("has_categories", &has_categories)
      .def_prop_ro("target", [](const Model& self) { return self.parts().target; })
      .def_prop_ro("prediction", [](const Model& self) { return self.parts().prediction; })
      .def_prop_ro("group", [](const Model& self) { return self.parts().columns[Role::kGroup]; })
      .def_prop_ro("weight", [](const Model& self) { return self.parts().columns[Role::kWeight]; })
      .def_prop_ro("needs_weights",
                   [](const Model& self) { return self.scheme().reads(Role::kWeight, Step::kPredict); })
      .def_prop_ro("weighted", [](const Model& self) { return self.scheme().weighs_new_rows(); })
      .def_prop_ro("cluster", [](const Model& self) { return self.parts().columns[Role::kCluster]; })
      .def_prop_ro("id", [](const Model& self) { return self.parts().columns[Role::kId]; })
      .def_prop_ro("clustered", [](const Model& self) { return self.scheme().reads(Role::kCluster, Step::kCalibrate); })
      .def_prop_ro("cluster_coverage",
                   [](const Model& self) { return std::string(name_of(self.parts().cluster_coverage)); })
      .def_prop_ro("cluster_bound", [](const Model& self) { return self.scheme().cluster_rule().max_size; })
      .def_prop_ro("counts_cluster_rows",
                   [](const Model& self) { return self.scheme().reads(Role::kClusterSize, Step::kPredict); })
      .def_prop_ro("calibration_clusters", [](const Model& self) { return self.parts().calibration.clusters(); })
      .def_prop_ro("pool_groups", [](const Model& self) { return self.parts().pool_groups; })
      .def_prop_ro("grouped", [](const Model& self) { return self.scheme().reads(Role::kGroup, Step::kPredict); })
      .def_prop_ro("needs_predictions", &Model::needs_predictions)
      .def_prop_ro("predicts_quantiles", &Model::predicts_quantiles)
      .def_prop_ro("transform", [](const Model& self) { return std::string(self.parts().rule.transform().name()); })
      .def_prop_ro("gamma", [](const Model& self) { return self.parts().rule.transform().options().gamma; })
      .def_prop_ro("score", [](const Model& self) { return std::string(name_of(self.parts().rule.score())); })
      .def_prop_ro("two_sided", [](const Model& self) { return self.parts().rule.sides() == Sides::kTwo; })
      .def_prop_ro("unit", [](const Model& self) { return self.parts().unit; })
      .def_prop_ro(
          "range",
          [](const Model& self) { return std::pair(self.parts().outcome_space.low, self.parts().outcome_space.high); })
      .def_prop_ro("step", [](const Model& self) { return self.parts().outcome_space.step; })
      .def_prop_ro("levels", &level_values)
      .def_prop_ro("fit_rows", [](const Model& self) { return self.parts().fit_rows; })
      .def_prop_ro("notes", [](const Model& self) { return self.parts().notes; })
      .def_prop_ro("calibration", [](const Model& self) { return SharedShard(CalibrationShard::in(self)); })
      .def_prop_ro("calibration_rows", [](const Model& self) { return self.scheme().rows(self.parts().calibration); })
      .def_prop_ro("cross_calibrated", [](const Model& self) { return !self.scheme().takes_rows(); })
      .def_prop_ro("prediction_count", &Model::prediction_count)
      .def_prop_ro("prediction_columns", &Model::prediction_columns);
}

/// What a model computes of rows.
void bind_rows(nb::class_<Model>& model) {
  model.def("table_of", &table_of, nb::arg("matrix"))
      .def("predictions", &predictions, nb::arg("table"), nb::arg("predictions").none() = nb::none())
      .def("plain_intervals", &plain_intervals, nb::arg("matrix"), nb::arg("predictions").none(),
           nb::arg("level").none())
      .def("intervals", &intervals, nb::arg("table"), nb::arg("predictions").none(), nb::arg("groups").none(),
           nb::arg("levels"), nb::arg("weights").none() = nb::none(), nb::arg("cluster_sizes").none() = nb::none())
      .def("quantiles", &quantiles, nb::arg("table"), nb::arg("predictions").none(), nb::arg("groups").none(),
           nb::arg("probabilities"), nb::arg("weights").none() = nb::none(),
           nb::arg("cluster_sizes").none() = nb::none())
      .def("p_values", &p_values, nb::arg("table"), nb::arg("predictions").none(), nb::arg("groups").none(),
           nb::arg("outcomes"), nb::arg("weights").none() = nb::none(), nb::arg("cluster_sizes").none() = nb::none())
      .def("scores", &scores, nb::arg("table"), nb::arg("predictions").none(), nb::arg("outcomes"))
      .def("parameters", &parameters, nb::arg("table"), nb::arg("predictions").none())
      .def("half_widths", &half_widths, nb::arg("table"), nb::arg("predictions").none(), nb::arg("scores"))
      .def("scales", &scales, nb::arg("table"), nb::arg("predictions").none());
}

}  // namespace

void bind_model(nb::module_& module) {
  module.attr("SEEN_VERDICT") = kSeenVerdict;
  nb::class_<TrainedRows>(module, "TrainedRows")
      .def(nb::init<std::vector<std::string>, std::string, std::string, Doubles, double>(), nb::kw_only(),
           nb::arg("features"), nb::arg("target"), nb::arg("prediction"), nb::arg("residuals"), nb::arg("unit"));
  nb::class_<Model> model(module, "Model", "Base model, localizer, rule and calibration together.");
  bind_parts(model);
  bind_rows(model);
  model.def("base_arrays", [](const Model& self) { return arrays_of(self.parts().base.get()); })
      .def("localizer_arrays", [](const Model& self) { return arrays_of(self.parts().localizer.get()); })
      .def_prop_ro("score_fingerprint", &score_fingerprint)
      .def("without_weights", &without_weights)
      .def("for_rows_of", &for_rows_of, nb::arg("population").none(), nb::arg("replace"))
      .def("with_calibration", &with_calibration, nb::arg("calibration"))
      .def("add_shard", &add_shard, nb::arg("shard"), nb::arg("replace"), nb::arg("option"))
      .def("sketch", &sketch, nb::arg("table"), nb::arg("outcomes"))
      .def("require_new_rows", &check_new_rows, nb::arg("calibration"))
      .def_prop_ro("guarantee", [](const Model& self) { return self.parts().guarantee.to_string(); })
      .def_prop_ro("guarantee_statement", [](const Model& self) { return self.guarantee_statement().to_string(); })
      .def(
          "with_guarantee",
          [](const Model& self, const std::string& guarantee) {
            return self.with_guarantee(Guarantee::parse(guarantee));
          },
          nb::arg("guarantee"))
      .def_prop_ro("online", &online_of)
      .def("with_online", &with_online, nb::arg("online").none())
      .def("with_fit_sketch", &with_fit_sketch, nb::arg("rows"))
      .def("with_notes", &with_notes, nb::arg("notes"))
      .def("find_integers", &find_integers, nb::arg("labels"))
      .def("find_labels", &find_labels, nb::arg("labels"), nb::arg("rows"))
      .def("quantile_groups", &quantile_groups, nb::arg("groups"))
      .def("uncalibrated", &Model::uncalibrated)
      .def(
          "infinite_warning",
          [](const Model& self, double level) {
            return self.scheme().infinite_warning(self.parts().calibration, level);
          },
          nb::arg("level"))
      .def("in_sample_warning", &in_sample_warning, nb::arg("shard"))
      .def("to_bytes", &to_bytes)
      .def_static("from_bytes", &from_bytes, nb::arg("data"))
      .def_static("from_xgboost", &from_xgboost, nb::arg("saved"), nb::arg("objective"), nb::arg("rows"))
      .def_static("from_net", &from_net, nb::arg("layers"), nb::arg("centre"), nb::arg("scale"), nb::arg("bound"),
                  nb::arg("objective"), nb::arg("rows"))
      .def("save", &save_model, nb::arg("file"), nb::arg("loaded").none() = nb::none())
      .def_static("load", &load_model, nb::arg("file"));

  module.def("version_of", &version_of, nb::arg("file"));
}

}  // namespace widthwise::python
