#include <utility>

#include <widthwise/labels.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/row_checks.hpp>
#include <widthwise/schemes.hpp>

#include "base/message.hpp"
#include "bindings.hpp"
#include "rows.hpp"

namespace widthwise::python {
namespace {

template <auto method>
auto of_calibration(const SharedShard& shared) {
  return locked([](const CalibrationShard& shard) { return (shard.calibration.*method)(); }, shared);
}

/// A shard with scores that no model gave.
void construct(SharedShard* self, std::uint64_t capacity, std::uint64_t seed) {
  new (self) SharedShard(CalibrationShard{.calibration = Calibration(Calibration::Options{capacity, seed})});
}

void add(SharedShard& shared, const Doubles& scores, const std::optional<Booleans>& above, const nb::kwargs& given) {
  const Columns columns(given);
  const widthwise::Rows& rows = columns.rows();
  locked(
      [&](CalibrationShard& shard) {
        Calibration& calibration = shard.calibration;
        const RowNumbers numbers = columns.numbers(calibration.rows_seen());
        // Rows without weights are refused by a calibration that has them, which an empty one cannot.
        const bool lacks_weights = CalibrationScheme::of({}, calibration)->weighs_new_rows() && rows.weights.empty();
        if (rows.labels == nullptr || lacks_weights) {
          calibration.add(numbers, span_of(scores), span_of(above), rows.weights, rows.groups, rows.clusters);
          return;
        }
        Calibration added(calibration.options());
        added.add(numbers, span_of(scores), span_of(above), rows.weights, rows.groups, rows.clusters);
        added.name_groups(*rows.labels);
        calibration.merge(std::move(added));
      },
      shared);
}

/// Score rows of a model and add them to a shard of this model: all of them or, if one is rejected, none. With
/// `replace`, the name of the option that discards the calibration set, the shard is that set: it may hold scores of
/// another model, and rows that fitted the model or are already in the set are rejected.
void add_rows(SharedShard& shared, const Model& model, const GivenRows& given,
              const std::optional<std::string>& replace) {
  const std::span<const double> outcomes = given.y();
  const Table& table = given.table;
  const RowNumbers numbers = given.columns.numbers();
  numbers.check(table.rows(), "calibrate");
  const Rows rows = rows_of(given);
  locked(
      [&](CalibrationShard& shard) {
        CalibrationShard added{.scores_of = replace ? score_fingerprint(model) : shard.scores_of,
                               .calibration = Calibration(shard.calibration.options())};
        if (replace) require_scores_of(shard, added.scores_of);
        // Check all outcomes first, so that the message can name all rows, by key or position.
        model.check_outcomes(outcomes, given.columns.has_keys() ? numbers : RowNumbers(1), rows.columns.ids);
        model.check_new_clusters(rows.columns.clusters);
        rows.for_each_part_when_released([&](const widthwise::Rows& part, std::size_t first) {
          const std::size_t count = part.x.rows();
          added.add(model, part, outcomes.subspan(first, count), numbers.part(first, count));
        });
        if (replace) require_new_rows(model, added.sketch, shard.sketch, *replace);
        merge_shard(shard, std::move(added));
      },
      shared);
}

/// Whether rows that calibrate need a column of this role, as those that are there have it.
bool reads(const SharedShard& shared, Role role) {
  return locked(
      [&](const CalibrationShard& own) {
        return CalibrationScheme::of({}, own.calibration)->reads(role, Step::kCalibrate);
      },
      shared);
}

bool weighs_new_rows(const SharedShard& shared) {
  return locked(
      [](const CalibrationShard& own) { return CalibrationScheme::of({}, own.calibration)->weighs_new_rows(); },
      shared);
}

/// The stored scores of a group, in no particular order.
Vector scores(const SharedShard& shared, std::int64_t group) {
  const auto rows = locked([&](const CalibrationShard& shard) { return shard.calibration.rows(group); }, shared);
  auto out = room_for(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) out[i] = rows[i].score;
  return give<Vector>(std::move(out), {rows.size()});
}

/// Merge another shard, which may be the same one.
void merge(SharedShard& into, const SharedShard& shard) {
  locked([](CalibrationShard& all, const CalibrationShard& more) { merge_shard(all, more); }, into, shard);
}

SortedScores sorted(const SharedShard& shared, const std::string& guarantee, const std::string& form,
                    std::uint64_t max_size) {
  const Guarantee kind = Guarantee::parse(guarantee);
  const std::optional<ClusterForm> counted = cluster_form_of(form);
  if (!counted) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "cluster_coverage is '{}'; expected 'rows' or 'clusters'",
                               form);
  }
  const ClusterRule clusters{.form = *counted, .max_size = max_size};
  return locked([&](const CalibrationShard& shard) { return SortedScores(shard.calibration, kind, 0, clusters); },
                shared);
}

/// `test_weights` has one weight per score or is empty.
Vector p_values(const SortedScores& sorted, const Doubles& scores, std::int64_t group,
                const std::optional<Doubles>& test_weights) {
  auto out = room_for(scores.size());
  {
    const nb::gil_scoped_release release;
    const auto values = span_of(scores);
    const auto weights = span_of(test_weights);
    for (std::size_t i = 0; i < values.size(); ++i) {
      out[i] = sorted.p_value(values[i], group, weights.empty() ? std::nullopt : std::optional(weights[i]));
    }
  }
  return give<Vector>(std::move(out), {scores.size()});
}

/// The numbers and labels of the groups, read together: another thread may be adding rows.
std::vector<std::pair<std::int64_t, std::string>> groups(const SharedShard& self) {
  return locked(
      [](const CalibrationShard& shard) {
        std::vector<std::pair<std::int64_t, std::string>> all;
        for (const std::int64_t group : shard.calibration.groups())
          all.emplace_back(group, shard.calibration.label(group));
        return all;
      },
      self);
}

std::int64_t find_group(const SharedShard& self, const std::string& label) {
  return locked([&](const CalibrationShard& shard) { return shard.calibration.find_group(label); }, self);
}

std::uint64_t scores_of(const SharedShard& self) {
  return locked([](const CalibrationShard& shard) { return shard.scores_of; }, self);
}

/// The bytes of a shard; of scores that no model gave, those of their calibration. A model keeps its calibration
/// without `residuals`, so calibrations that are equal have equal bytes without them only.
nb::bytes shard_bytes(const SharedShard& self, bool residuals) {
  const auto bytes = locked(
      [&](const CalibrationShard& shard) {
        if (shard.scores_of == 0) return shard.calibration.serialise();
        if (residuals) return serialise_shard(shard);
        return serialise_shard(
            {.scores_of = shard.scores_of, .calibration = shard.calibration, .sketch = shard.sketch});
      },
      self);
  return nb::bytes(bytes.data(), bytes.size());
}

SharedShard shard_from(const nb::bytes& data) {
  const std::span bytes(static_cast<const std::byte*>(data.data()), data.size());
  constexpr std::size_t kHeader = 8;  // the header of a shard follows its size
  if (bytes.size() > kHeader && bytes[kHeader] == std::byte{'{'}) return SharedShard(deserialise_shard(bytes));
  return SharedShard(CalibrationShard{.calibration = Calibration::deserialise(bytes)});
}

}  // namespace

void bind_calibration(nb::module_& module) {
  module.def(
      "join_labels", [](const std::vector<std::string>& labels) { return join_labels(labels); }, nb::arg("labels"),
      "Several labels as one, such as 'AA, JFK'; different lists have different texts.");
  module.def("split_labels", &split_labels, nb::arg("text"), "The labels that join_labels joined.");
  nb::class_<GroupLabels>(module, "GroupLabels", "Labels of groups that are not integers, by number.")
      .def(nb::init<>())
      .def(
          "add", [](GroupLabels& self, const std::vector<std::string>& labels) { return self.add(labels); },
          nb::arg("labels"));
  nb::class_<SharedShard>(module, "CalibrationShard", "Scores of calibration rows, and a sketch of these rows.")
      .def("__init__", &construct, nb::arg("capacity") = Calibration::Options().capacity,
           nb::arg("seed") = Calibration::Options().seed)
      .def_static(
          "of", [](const Model& model) { return SharedShard(CalibrationShard::of(model)); }, nb::arg("model"))
      .def("add", &add, nb::arg("scores"), nb::arg("above").none() = nb::none(), nb::arg("columns"))
      .def("add_rows", &add_rows, nb::arg("model"), nb::arg("rows"), nb::arg("replace").none() = nb::none())
      .def("merge", &merge, nb::arg("other"))
      .def("to_bytes", &shard_bytes, nb::arg("residuals") = false)
      .def_static("from_bytes", &shard_from, nb::arg("data"))
      .def_prop_ro("scores_of", &scores_of)
      .def_prop_ro("rows_seen", &of_calibration<&Calibration::rows_seen>)
      .def_prop_ro("rows_kept", &of_calibration<&Calibration::rows_kept>)
      .def_prop_ro("groups", &groups)
      .def_prop_ro("labelled", &of_calibration<&Calibration::labelled>)
      .def_prop_ro("grouped", [](const SharedShard& self) { return reads(self, Role::kGroup); })
      .def_prop_ro("weighted", &weighs_new_rows)
      .def_prop_ro("clustered", [](const SharedShard& self) { return reads(self, Role::kCluster); })
      .def_prop_ro("clusters", &of_calibration<&Calibration::clusters>)
      .def("scores", &scores, nb::arg("group") = 0)
      .def("find_group", &find_group, nb::arg("label"))
      .def("sorted", &sorted, nb::arg("guarantee") = Guarantee().to_string(),
           nb::arg("cluster_coverage") = std::string(name_of(ClusterRule().form)), nb::arg("max_cluster_size") = 0);
  nb::class_<SharedSketch>(module, "RowSketch", "Content hashes of rows in bounded memory.")
      .def_prop_ro("rows", &read<&RowSketch::rows, RowSketch>);
  nb::class_<SortedScores>(module, "SortedScores")
      .def(
          "quantile",
          [](const SortedScores& self, double level, std::int64_t group, std::optional<double> test_weight) {
            return self.quantile(level, group, test_weight);
          },
          nb::arg("level"), nb::arg("group") = 0, nb::arg("test_weight").none() = nb::none())
      .def("p_values", &p_values, nb::arg("scores"), nb::arg("group") = 0, nb::arg("test_weights").none() = nb::none());
}

}  // namespace widthwise::python
