#include <widthwise/calibration.hpp>
#include <widthwise/row_sketch.hpp>

#include "bindings.hpp"

namespace widthwise::python {
namespace {

template <class Thing>
nb::bytes to_bytes(const Thing& thing) {
  const auto bytes = thing.serialise();
  return nb::bytes(bytes.data(), bytes.size());
}

template <class Thing>
Thing from_bytes(const nb::bytes& bytes) {
  return Thing::deserialise({static_cast<const std::byte*>(bytes.data()), bytes.size()});
}

void add(Calibration& calibration, const Doubles& scores, std::uint64_t first_row, const std::optional<Booleans>& above,
         const std::optional<Doubles>& weights, const std::optional<Integers>& groups,
         const std::optional<Keys>& keys) {
  const nb::gil_scoped_release release;
  calibration.add(numbers_of(first_row, keys), span_of(scores), span_of(above), span_of(weights), span_of(groups));
}

/// The scores kept of a group, in an order that tells nothing.
Vector scores(const Calibration& calibration, std::int64_t group) {
  const auto rows = calibration.rows(group);
  auto out = room_for(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) out[i] = rows[i].score;
  return give<Vector>(std::move(out), {rows.size()});
}

/// `test_weights` has one for each score, or none.
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

}  // namespace

void bind_calibration(nb::module_& module) {
  nb::class_<Calibration>(module, "Calibration")
      .def(
          "__init__",
          [](Calibration* self, std::uint64_t capacity, std::uint64_t seed) {
            new (self) Calibration(Calibration::Options{capacity, seed});
          },
          nb::arg("capacity") = Calibration::Options().capacity, nb::arg("seed") = Calibration::Options().seed)
      .def("add", &add, nb::arg("scores"), nb::arg("first_row"), nb::arg("above").none(), nb::arg("weights").none(),
           nb::arg("groups").none(), nb::arg("keys").none() = nb::none())
      .def("merge", &Calibration::merge, nb::arg("other"), nb::call_guard<nb::gil_scoped_release>())
      .def("to_bytes", &to_bytes<Calibration>)
      .def_static("from_bytes", &from_bytes<Calibration>, nb::arg("data"))
      .def_prop_ro("rows_seen", &Calibration::rows_seen)
      .def_prop_ro("rows_kept", &Calibration::rows_kept)
      .def_prop_ro("groups", &Calibration::groups)
      .def_prop_ro("grouped", &Calibration::grouped)
      .def_prop_ro("capacity", [](const Calibration& self) { return self.options().capacity; })
      .def_prop_ro("seed", [](const Calibration& self) { return self.options().seed; })
      .def("duplicate", &Calibration::duplicate)
      .def("scores", &scores, nb::arg("group") = 0)
      .def(
          "sorted",
          [](const Calibration& self, const std::string& guarantee) {
            return SortedScores(self, Guarantee::parse(guarantee));
          },
          nb::arg("guarantee") = Guarantee().text(), nb::call_guard<nb::gil_scoped_release>());
  nb::class_<RowSketch>(module, "RowSketch", "Content hashes of rows, in bounded memory.")
      .def(nb::init<>())
      .def("merge", &RowSketch::merge, nb::arg("other"), nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("rows", &RowSketch::rows)
      .def("to_bytes", &to_bytes<RowSketch>)
      .def_static("from_bytes", &from_bytes<RowSketch>, nb::arg("data"));
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
