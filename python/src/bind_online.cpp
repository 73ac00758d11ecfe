#include <widthwise/online.hpp>

#include <map>
#include <tuple>

#include <widthwise/model.hpp>
#include <widthwise/track.hpp>

#include "bindings.hpp"
#include "rows.hpp"

namespace widthwise::python {
namespace {

nb::bytes to_bytes(const OnlineCalibration& online) {
  const auto bytes = online.serialise();
  return nb::bytes(bytes.data(), bytes.size());
}

OnlineCalibration from_bytes(const nb::bytes& bytes) {
  return OnlineCalibration::deserialise({static_cast<const std::byte*>(bytes.data()), bytes.size()});
}

void construct(OnlineCalibration* self, const Calibration& calibration, const std::vector<double>& levels,
               const std::string& method, const std::optional<double>& step,
               const std::optional<std::uint64_t>& window) {
  OnlineOptions options{.method = online_method_of(method), .step = step};
  options.window = window.value_or(options.window);
  new (self) OnlineCalibration(calibration, levels_of(levels), options);
}

/// Predictions and intervals of n rows, which `write` makes part by part: rows, their first, predictions, lower, upper.
template <class Write>
std::pair<Vector, Cube> intervals_of(const Rows& rows, std::size_t k, const Write& write) {
  const std::size_t n = rows.table.rows();
  auto f = room_for(n);
  auto bounds = room_for(n * 2 * k);
  rows.for_each_part([&](const ModelRows& part, std::size_t first) {
    const std::size_t count = part.x.rows();
    double* const lower = bounds.get() + first * 2 * k;
    write(part, first, std::span(f.get() + first, count), MutableMatrixView(lower, count, k, 2 * k),
          MutableMatrixView(lower + k, count, k, 2 * k));
  });
  return {give<Vector>(std::move(f), {n}), give<Cube>(std::move(bounds), {n, 2, k})};
}

/// Issue all rows as one batch. Returns its number, predictions and intervals.
std::tuple<std::uint64_t, Vector, Cube> issue(OnlineCalibration& online, const Model& model, const Table& table,
                                              const std::optional<Doubles>& predictions) {
  const std::size_t k = online.levels().size();
  std::vector<double> q(k);
  online.quantiles(q);
  auto [f, bounds] =
      intervals_of({table, span_of(predictions), {}}, k,
                   [&](const ModelRows& part, std::size_t, std::span<double> out, auto lower, auto upper) {
                     model.intervals_at(part, {q.data(), part.x.rows(), k, 0}, out, lower, upper);
                   });
  return {online.issue(table.rows()), std::move(f), std::move(bounds)};
}

/// Observe outcomes of rows of one batch. All rows are learnt or, when one is refused, none.
void observe(OnlineCalibration& online, std::uint64_t batch, const Model& model, const Table& table,
             const std::optional<Doubles>& predictions, const Doubles& outcomes) {
  check_outcomes(table, outcomes);
  OnlineCalibration later = online;
  const Rows rows{table, span_of(predictions), {}};
  rows.for_each_part([&](const ModelRows& part, std::size_t first) {
    model.observe(later, batch, part, span_of(outcomes).subspan(first, part.x.rows()));
  });
  online = std::move(later);
}

/// Of rows with outcomes, each interval from the outcomes known when its batch is issued. All rows are learnt or, when
/// one is refused, none.
std::pair<Vector, Cube> track(OnlineCalibration& online, const Model& model, const Table& table,
                              const std::optional<Doubles>& predictions, const Doubles& outcomes,
                              std::uint64_t batch_size, std::uint64_t delay) {
  check_outcomes(table, outcomes);
  OnlineCalibration later = online;
  Tracker tracker(model, later, {.batch_size = batch_size, .delay = delay});
  auto result =
      intervals_of({table, span_of(predictions), {}}, online.levels().size(),
                   [&](const ModelRows& part, std::size_t first, std::span<double> f, auto lower, auto upper) {
                     tracker.track(part, span_of(outcomes).subspan(first, part.x.rows()), f, lower, upper);
                   });
  tracker.finish();
  online = std::move(later);
  return result;
}

std::map<std::uint64_t, std::uint64_t> pending(const OnlineCalibration& online) {
  std::map<std::uint64_t, std::uint64_t> rows;
  for (const PendingBatch& batch : online.pending()) rows.emplace(batch.number, batch.rows);
  return rows;
}

std::vector<nb::dict> coverage(const OnlineCalibration& online) {
  std::vector<nb::dict> levels;
  for (std::size_t j = 0; j < online.levels().size(); ++j) {
    const OnlineCoverage found = online.coverage(j);
    nb::dict dict;
    dict["level"] = online.levels()[j].value();
    dict["step"] = online.step(j);
    dict["rows"] = found.rows;
    dict["covered"] = found.covered;
    dict["covered_fixed"] = found.covered_fixed;
    dict["recent_rows"] = found.recent_rows;
    dict["recent_covered"] = found.recent_covered;
    levels.push_back(dict);
  }
  return levels;
}

}  // namespace

void bind_online(nb::module_& module) {
  nb::class_<OnlineCalibration>(module, "OnlineCalibration")
      .def("__init__", &construct, nb::arg("calibration"), nb::arg("levels"), nb::arg("method"), nb::arg("step").none(),
           nb::arg("window").none())
      .def("issue", &issue, nb::arg("model"), nb::arg("table"), nb::arg("predictions").none())
      .def("observe", &observe, nb::arg("batch"), nb::arg("model"), nb::arg("table"), nb::arg("predictions").none(),
           nb::arg("outcomes"))
      .def("track", &track, nb::arg("model"), nb::arg("table"), nb::arg("predictions").none(), nb::arg("outcomes"),
           nb::arg("batch_size"), nb::arg("delay"))
      .def("drop", &OnlineCalibration::drop, nb::arg("batch"))
      .def("pending", &pending)
      .def("coverage", &coverage)
      .def("quantile", &OnlineCalibration::quantile, nb::arg("j"))
      .def_prop_ro("levels",
                   [](const OnlineCalibration& self) {
                     std::vector<double> values;
                     for (const Level& level : self.levels()) values.push_back(level.value());
                     return values;
                   })
      .def_prop_ro("method", [](const OnlineCalibration& self) { return std::string(name_of(self.method())); })
      .def_prop_ro("window", &OnlineCalibration::window)
      .def_prop_ro("rows", &OnlineCalibration::rows)
      .def_prop_ro("longest_delay", &OnlineCalibration::longest_delay)
      .def("to_bytes", &to_bytes)
      .def_static("from_bytes", &from_bytes, nb::arg("data"));
}

}  // namespace widthwise::python
