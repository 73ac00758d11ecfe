#include <widthwise/online.hpp>

#include <map>
#include <tuple>

#include <widthwise/model.hpp>
#include <widthwise/report.hpp>
#include <widthwise/row_checks.hpp>
#include <widthwise/track.hpp>

#include "bindings.hpp"
#include "rows.hpp"

namespace widthwise::python {
namespace {

void construct(SharedOnline* self, const SharedShard& shared, const std::vector<double>& levels,
               const std::string& method, const std::optional<double>& step,
               const std::optional<std::uint64_t>& window_rows, const std::optional<double>& false_alarm_rate) {
  OnlineOptions options{.method = online_method_of(method), .step = step};
  options.window_rows = window_rows.value_or(options.window_rows);
  options.false_alarm_rate = false_alarm_rate.value_or(options.false_alarm_rate);
  new (self) SharedOnline(locked(
      [&](const CalibrationShard& shard) { return OnlineCalibration(shard.calibration, levels_of(levels), options); },
      shared));
}

/// Memory for predictions and intervals of n rows at k levels.
class IntervalRoom {
 public:
  IntervalRoom(std::size_t n, std::size_t k) : n_(n), k_(k), f_(room_for(n)), bounds_(room_for(n * 2 * k)) {}

  /// Call write(rows, index of the first, predictions, lower, upper) for consecutive parts.
  template <class Write>
  void fill(const Rows& rows, const Write& write) {
    rows.for_each_part_when_released([&](const widthwise::Rows& part, std::size_t first) {
      const std::size_t count = part.x.rows();
      double* const lower = bounds_.get() + first * 2 * k_;
      write(part, first, std::span(f_.get() + first, count), MutableMatrixView(lower, count, k_, 2 * k_),
            MutableMatrixView(lower + k_, count, k_, 2 * k_));
    });
  }

  /// Predictions (n) and intervals (n x 2 x k).
  std::pair<Vector, Cube> give() && {
    return {python::give<Vector>(std::move(f_), {n_}), python::give<Cube>(std::move(bounds_), {n_, 2, k_})};
  }

 private:
  std::size_t n_;
  std::size_t k_;
  std::unique_ptr<double[]> f_;
  std::unique_ptr<double[]> bounds_;
};

std::size_t level_count(const SharedOnline& shared) {
  return locked([](const OnlineCalibration& online) { return online.levels().size(); }, shared);
}

/// Issue all rows as one batch. Returns its number, predictions and intervals.
std::tuple<std::uint64_t, Vector, Cube> issue(SharedOnline& shared, const Model& model, const Table& table,
                                              const std::optional<Doubles>& predictions) {
  const Rows rows{table, span_of(predictions), {}};
  const std::size_t k = level_count(shared);
  IntervalRoom room(table.rows(), k);
  // One lock for both steps, so that the batch is recorded with the quantiles of its intervals.
  const std::uint64_t batch = locked(
      [&](OnlineCalibration& online) {
        std::vector<double> q(k);
        online.quantiles(q);
        RowSketch issued(OnlineCalibration::kBatchCapacity);
        std::vector<std::uint64_t> hashes;
        room.fill(rows, [&](const widthwise::Rows& part, std::size_t, std::span<double> f, auto lower, auto upper) {
          model.intervals_at(part, {q.data(), part.x.rows(), k, 0}, f, lower, upper);
          hashes.resize(part.x.rows());
          model.row_hashes(part, hashes);
          issued.add(hashes);
        });
        return online.issue(issued);
      },
      shared);
  auto [f, bounds] = std::move(room).give();
  return {batch, std::move(f), std::move(bounds)};
}

/// Observe outcomes of rows of one batch. If one row is rejected, none is observed.
void observe(SharedOnline& shared, std::uint64_t batch, const Model& model, const Table& table,
             const std::optional<Doubles>& predictions, const Doubles& outcomes) {
  check_outcomes(table, outcomes);
  const Rows rows{table, span_of(predictions), {}};
  locked(
      [&](OnlineCalibration& online) {
        OnlineCalibration later = online;
        RowSketch seen;
        rows.for_each_part_when_released([&](const widthwise::Rows& part, std::size_t first) {
          const std::span<const double> y = span_of(outcomes).subspan(first, part.x.rows());
          model.observe(later, batch, part, y);
          model.sketch(seen, part, y);
        });
        if (seen.rows() >= RowOverlap::kMinRows) require_new_rows(model, seen, RowSketch(), "");
        online = std::move(later);
      },
      shared);
}

/// Issue and observe rows with outcomes; each interval uses the outcomes known when its batch is issued. If one row is
/// rejected, none is observed. Returns predictions, intervals and the warning of the tracker.
std::tuple<Vector, Cube, std::string> track(SharedOnline& shared, const Model& model, const Table& table,
                                            const std::optional<Doubles>& predictions, const Doubles& outcomes,
                                            std::uint64_t batch_size, std::uint64_t delay) {
  check_outcomes(table, outcomes);
  const Rows rows{table, span_of(predictions), {}};
  IntervalRoom room(table.rows(), level_count(shared));
  const std::string warning = locked(
      [&](OnlineCalibration& online) {
        OnlineCalibration later = online;
        Tracker tracker(model, later, {.batch_size = batch_size, .delay = delay});
        room.fill(rows,
                  [&](const widthwise::Rows& part, std::size_t first, std::span<double> f, auto lower, auto upper) {
                    tracker.track(part, span_of(outcomes).subspan(first, part.x.rows()), f, lower, upper);
                  });
        tracker.finish();
        online = std::move(later);
        return tracker.warning();
      },
      shared);
  auto [f, bounds] = std::move(room).give();
  return {std::move(f), std::move(bounds), warning};
}

/// Test whether rows in time order are exchangeable with the calibration rows of the model.
std::map<std::uint64_t, std::uint64_t> pending(const SharedOnline& shared) {
  std::map<std::uint64_t, std::uint64_t> rows;
  for (const PendingBatch& batch : read<&OnlineCalibration::pending>(shared)) rows.emplace(batch.number, batch.rows);
  return rows;
}

nb::dict report(const SharedOnline& shared) {
  const std::string json =
      locked([](const OnlineCalibration& online) { return to_json(online, NonFinite::kName); }, shared);
  return nb::cast<nb::dict>(value_of(json));
}

std::vector<double> levels(const SharedOnline& shared) {
  std::vector<double> values;
  for (const Level& level : read<&OnlineCalibration::levels>(shared)) values.push_back(level.value());
  return values;
}

}  // namespace

void bind_online(nb::module_& module) {
  nb::class_<SharedOnline>(module, "OnlineCalibration")
      .def("__init__", &construct, nb::arg("calibration"), nb::arg("levels"), nb::arg("method"), nb::arg("step").none(),
           nb::arg("window_rows").none(), nb::arg("false_alarm_rate").none())
      .def("issue", &issue, nb::arg("model"), nb::arg("table"), nb::arg("predictions").none())
      .def("observe", &observe, nb::arg("batch"), nb::arg("model"), nb::arg("table"), nb::arg("predictions").none(),
           nb::arg("outcomes"))
      .def("track", &track, nb::arg("model"), nb::arg("table"), nb::arg("predictions").none(), nb::arg("outcomes"),
           nb::arg("batch_size"), nb::arg("delay"))
      .def(
          "drop",
          [](SharedOnline& self, std::uint64_t batch) {
            locked([&](OnlineCalibration& online) { online.drop(batch); }, self);
          },
          nb::arg("batch"))
      .def("pending", &pending)
      .def("report", &report)
      .def(
          "quantile",
          [](const SharedOnline& self, std::size_t j) {
            return locked([&](const OnlineCalibration& online) { return online.quantile(j); }, self);
          },
          nb::arg("j"))
      .def_prop_ro("levels", &levels)
      .def_prop_ro(
          "method",
          [](const SharedOnline& self) { return std::string(name_of(read<&OnlineCalibration::method>(self))); })
      .def_prop_ro("window_rows", &read<&OnlineCalibration::window_rows, OnlineCalibration>)
      .def_prop_ro("rows", &read<&OnlineCalibration::rows, OnlineCalibration>)
      .def_prop_ro("longest_delay", &read<&OnlineCalibration::longest_delay, OnlineCalibration>)
      .def("to_bytes", &bytes_of<OnlineCalibration>)
      .def_static("from_bytes", &guarded_from<OnlineCalibration>, nb::arg("data"));
}

}  // namespace widthwise::python
