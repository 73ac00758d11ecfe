#include <utility>

#include <widthwise/calibration.hpp>
#include <widthwise/calibration_shard.hpp>
#include <widthwise/joined_labels.hpp>
#include <widthwise/row_sketch.hpp>
#include <widthwise/schemes.hpp>

#include "bindings.hpp"
#include "message.hpp"

namespace widthwise::python {
namespace {

void add(SharedCalibration& shared, const Doubles& scores, const std::optional<std::uint64_t>& first_row,
         const std::optional<Booleans>& above, const std::optional<Doubles>& weights,
         const std::optional<Integers>& groups, const std::optional<Keys>& keys, const GroupLabels* labels,
         const std::optional<Integers>& clusters) {
  if (clusters && (groups || weights)) {
    throw Error(ErrorCode::kInvalidArgument, "rows with clusters take neither groups nor weights");
  }
  locked(
      [&](Calibration& calibration) {
        const RowNumbers numbers = numbers_of(first_row.value_or(calibration.rows_seen()), keys);
        if (clusters) {
          calibration.add_clustered(numbers, span_of(scores), span_of(above), span_of(clusters));
          return;
        }
        // Rows without weights are refused by a calibration that has them, which an empty one cannot.
        if (labels == nullptr || (CalibrationScheme::of({}, calibration)->weighs_new_rows() && !weights)) {
          calibration.add(numbers, span_of(scores), span_of(above), span_of(weights), span_of(groups));
          return;
        }
        Calibration added(calibration.options());
        added.add(numbers, span_of(scores), span_of(above), span_of(weights), span_of(groups));
        added.name_groups(*labels);
        calibration.merge(std::move(added));
      },
      shared);
}

/// Whether rows that calibrate need a column of this role, as those that are there have it.
bool reads(const SharedCalibration& shared, Role role) {
  return locked([&](const Calibration& own) { return CalibrationScheme::of({}, own)->reads(role, Step::kCalibrate); },
                shared);
}

bool weighs_new_rows(const SharedCalibration& shared) {
  return locked([](const Calibration& own) { return CalibrationScheme::of({}, own)->weighs_new_rows(); }, shared);
}

/// The stored scores of a group, in no particular order.
Vector scores(const SharedCalibration& shared, std::int64_t group) {
  const auto rows = locked([&](const Calibration& calibration) { return calibration.rows(group); }, shared);
  auto out = room_for(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) out[i] = rows[i].score;
  return give<Vector>(std::move(out), {rows.size()});
}

/// Merge another object, which may be the same one.
template <class Value>
void merge(Guarded<Value>& guarded, const Guarded<Value>& other) {
  locked([](Value& value, const Value& more) { value.merge(more); }, guarded, other);
}

SortedScores sorted(const SharedCalibration& shared, const std::string& guarantee, const std::string& form,
                    std::uint64_t max_size) {
  const Guarantee kind = Guarantee::parse(guarantee);
  const std::optional<ClusterForm> counted = cluster_form_of(form);
  if (!counted) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "cluster_coverage is '{}'; expected 'rows' or 'clusters'",
                               form);
  }
  const ClusterRule clusters{.form = *counted, .max_size = max_size};
  return locked([&](const Calibration& calibration) { return SortedScores(calibration, kind, 0, clusters); }, shared);
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

/// The labels of the groups, in the order of their numbers.
/// The numbers and labels of the groups, read together: another thread may be adding rows.
std::vector<std::pair<std::int64_t, std::string>> groups(const SharedCalibration& self) {
  return locked(
      [](const Calibration& calibration) {
        std::vector<std::pair<std::int64_t, std::string>> all;
        for (const std::int64_t group : calibration.groups()) all.emplace_back(group, calibration.label(group));
        return all;
      },
      self);
}

std::int64_t find_group(const SharedCalibration& self, const std::string& label) {
  return locked([&](const Calibration& calibration) { return calibration.find_group(label); }, self);
}

/// The bytes of a shard: a calibration, the sketch of its rows and the fingerprint of their scores.
nb::bytes shard_bytes(const SharedCalibration& shared, const SharedSketch& rows, std::uint64_t scores_of) {
  const auto bytes = locked(
      [&](const Calibration& calibration, const RowSketch& sketch) {
        return serialise_shard({.scores_of = scores_of, .calibration = calibration, .sketch = sketch});
      },
      shared, rows);
  return nb::bytes(bytes.data(), bytes.size());
}

std::tuple<SharedCalibration, SharedSketch, std::uint64_t> shard_from(const nb::bytes& bytes) {
  CalibrationShard shard = deserialise_shard({static_cast<const std::byte*>(bytes.data()), bytes.size()});
  return {SharedCalibration(std::move(shard.calibration)), SharedSketch(std::move(shard.sketch)), shard.scores_of};
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
  nb::class_<SharedCalibration>(module, "Calibration")
      .def(
          "__init__",
          [](SharedCalibration* self, std::uint64_t capacity, std::uint64_t seed) {
            new (self) SharedCalibration(Calibration(Calibration::Options{capacity, seed}));
          },
          nb::arg("capacity") = Calibration::Options().capacity, nb::arg("seed") = Calibration::Options().seed)
      .def("add", &add, nb::arg("scores"), nb::arg("first_row").none(), nb::arg("above").none(),
           nb::arg("weights").none(), nb::arg("groups").none(), nb::arg("keys").none() = nb::none(),
           nb::arg("labels").none() = nb::none(), nb::arg("clusters").none() = nb::none())
      .def("merge", &merge<Calibration>, nb::arg("other"))
      .def("to_bytes", &bytes_of<Calibration>)
      .def_static("from_bytes", &guarded_from<Calibration>, nb::arg("data"))
      .def_prop_ro("rows_seen", &read<&Calibration::rows_seen, Calibration>)
      .def_prop_ro("rows_kept", &read<&Calibration::rows_kept, Calibration>)
      .def_prop_ro("groups", &groups)
      .def_prop_ro("labelled", &read<&Calibration::labelled, Calibration>)
      .def_prop_ro("grouped", [](const SharedCalibration& self) { return reads(self, Role::kGroup); })
      .def_prop_ro("weighted", &weighs_new_rows)
      .def_prop_ro("clustered", [](const SharedCalibration& self) { return reads(self, Role::kCluster); })
      .def_prop_ro("clusters", &read<&Calibration::clusters, Calibration>)
      .def_prop_ro("capacity", [](const SharedCalibration& self) { return read<&Calibration::options>(self).capacity; })
      .def_prop_ro("seed", [](const SharedCalibration& self) { return read<&Calibration::options>(self).seed; })
      .def("scores", &scores, nb::arg("group") = 0)
      .def("find_group", &find_group, nb::arg("label"))
      .def("sorted", &sorted, nb::arg("guarantee") = Guarantee().to_string(),
           nb::arg("cluster_coverage") = std::string(name_of(ClusterRule().form)), nb::arg("max_cluster_size") = 0);
  nb::class_<SharedSketch>(module, "RowSketch", "Content hashes of rows in bounded memory.")
      .def("__init__", [](SharedSketch* self) { new (self) SharedSketch(RowSketch()); })
      .def("merge", &merge<RowSketch>, nb::arg("other"))
      .def_prop_ro("rows", &read<&RowSketch::rows, RowSketch>)
      .def("to_bytes", &bytes_of<RowSketch>)
      .def_static("from_bytes", &guarded_from<RowSketch>, nb::arg("data"));
  module.def("shard_bytes", &shard_bytes, nb::arg("calibration"), nb::arg("rows"), nb::arg("scores_of"));
  module.def("shard_from", &shard_from, nb::arg("data"));
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
