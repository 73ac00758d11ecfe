#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/online.hpp>
#include <widthwise/report.hpp>
#include <widthwise/row_checks.hpp>
#include <widthwise/track.hpp>

#include "base/message.hpp"
#include "command.hpp"
#include "conformal/outcomes.hpp"
#include "interval_columns.hpp"
#include "options.hpp"
#include "output.hpp"
#include "standard_streams.hpp"
#include "table_options.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct TrackArguments {
  std::string model;
  std::string table;
  TableOptions reading;
  std::string output;
  std::string save;
  std::vector<std::string> levels;
  std::vector<std::string> columns;
  std::string method;
  std::string step;
  std::string window_rows;
  std::string false_alarm_rate;
  std::uint64_t batch_size = TrackOptions{}.batch_size;
  std::string batch_by;
  std::uint64_t delay = 0;
  bool observe = false;
  bool restart = false;
  bool json = false;
};

/// The note of a model with the fingerprint_text of the last observed table.
constexpr const char* kTrackedLast = "tracked_last";

struct GivenOptions {
  std::vector<Level> levels;
  std::optional<OnlineMethod> method;
  std::optional<double> step;
  std::optional<std::uint64_t> window_rows;
  std::optional<double> false_alarm_rate;
};

GivenOptions parse(const TrackArguments& arguments) {
  GivenOptions given;
  given.levels = parse_levels(arguments.levels);
  if (!arguments.method.empty()) given.method = online_method_of(arguments.method);
  if (!arguments.step.empty()) given.step = parse_number("--step", arguments.step);
  if (!arguments.window_rows.empty()) given.window_rows = internal::read_whole<std::uint64_t>(arguments.window_rows);
  if (!arguments.false_alarm_rate.empty()) {
    given.false_alarm_rate = parse_number("--false-alarm-rate", arguments.false_alarm_rate);
  }
  return given;
}

/// Throw if an option contradicts the online state to resume.
void expect_same(const OnlineCalibration& online, const GivenOptions& given) {
  const auto expect = [](bool same, const std::string& option) {
    if (same) return;
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "{}: the model already tracks a stream with a different value; leave {} out to resume "
                               "it, or start again with --restart",
                               option, option);
  };
  expect(given.levels.empty() || given.levels == online.levels(), "--level");
  expect(!given.method || *given.method == online.method(), "--method");
  expect(!given.window_rows || *given.window_rows == online.window_rows(), "--window-rows");
  const auto& monitor = online.exchangeability();
  const double rate = monitor ? monitor->false_alarm_rate() : 0;
  expect(!given.false_alarm_rate || *given.false_alarm_rate == rate, "--false-alarm-rate");
  for (std::size_t j = 0; j < online.levels().size(); ++j) {
    expect(!given.step || *given.step == online.step(j), "--step");
  }
}

/// Resume the stream of the model, or start one from its calibration.
OnlineCalibration begin(const TrackArguments& arguments, const Model& model) {
  const GivenOptions given = parse(arguments);
  const ModelParts& parts = model.parts();
  if (parts.online && !arguments.restart) {
    expect_same(*parts.online, given);
    return *parts.online;
  }
  OnlineOptions options;
  options.method = given.method.value_or(options.method);
  options.step = given.step;
  options.window_rows = given.window_rows.value_or(options.window_rows);
  options.false_alarm_rate = given.false_alarm_rate.value_or(options.false_alarm_rate);
  return {parts.calibration, given.levels.empty() ? parts.levels : given.levels, options};
}

void refuse_known_rows(const TrackArguments& arguments, const Model& model, const TableReader& reader) {
  const auto& notes = model.parts().notes;
  const auto last = notes.find(kTrackedLast);
  if (model.parts().online && !arguments.restart && last != notes.end() && last->second == fingerprint_text(reader)) {
    throw Error(ErrorCode::kBadData,
                arguments.table + ": the model has already observed these rows; pass only rows that follow them");
  }
}

/// Throw if an outcome is infinite or not in the outcome space; missing outcomes are allowed.
void check_outcomes(const Model& model, std::span<const double> outcomes, const ModelTable& table,
                    const std::string& target) {
  const auto bad = std::find_if(outcomes.begin(), outcomes.end(), [](double y) { return std::isinf(y); });
  if (bad == outcomes.end()) {
    internal::OutcomesOutside outside(model.parts().outcome_space);
    outside.add(outcomes, table.batch().first_row() + 1, table.rows().ids);
    outside.require_none(fmt::format("{}: '{}'", table.file().string(), target));
    return;
  }
  const CellPlace place = table.place_of(target);
  throw internal::make_error(ErrorCode::kBadData,
                             "{}: {}: '{}' is infinite; leave the cell empty if the outcome is unknown", place.where,
                             place.row(static_cast<std::size_t>(bad - outcomes.begin())), target);
}

/// Description of the outcomes known when an interval was issued.
std::string mode_of(const TrackArguments& arguments) {
  const std::string late = arguments.delay == 0 ? ""
                                                : fmt::format(", {}{} late", count(arguments.delay),
                                                              arguments.delay == 1 ? " batch" : " batches");
  if (!arguments.batch_by.empty()) return fmt::format("in batches of equal '{}'{}", arguments.batch_by, late);
  if (arguments.batch_size > 1) return fmt::format("in batches of {} rows{}", count(arguments.batch_size), late);
  return late.empty() ? "row by row, each outcome known before the next row" : "row by row" + late;
}

/// Splits rows into batches: a batch ends where the value of a column changes.
class BatchesBy {
 public:
  explicit BatchesBy(std::string column) : column_(std::move(column)) {}

  /// Call use(first, count) for each run of rows of one batch, and `end` before the first row of another batch.
  template <class Use, class End>
  void split(const ModelTable& table, std::size_t rows, const Use& use, const End& end) {
    if (column_.empty()) {
      use(0, rows);
      return;
    }
    const std::span<const double> values = table.column(column_);
    require_finite(values, table.place_of(column_), "expected a batch number in every row");
    for (std::size_t first = 0; first < rows;) {
      if (last_ && *last_ != values[first]) end();
      last_ = values[first];
      std::size_t next = first + 1;
      while (next < rows && values[next] == *last_) ++next;
      use(first, next - first);
      first = next;
    }
  }

 private:
  std::string column_;
  std::optional<double> last_;
};

/// Write intervals of rows whose outcomes are known, and observe the outcomes in batches and with the delay of the
/// options.
void track_outcomes(const TrackArguments& arguments, const Model& model, OnlineCalibration& online, ModelTable& table,
                    IntervalColumns& added, TableWriter& writer) {
  const std::string& target = target_of(model);
  const std::uint64_t batch_size =
      arguments.batch_by.empty() ? arguments.batch_size : std::numeric_limits<std::uint64_t>::max();
  Tracker tracker(model, online, {.batch_size = batch_size, .delay = arguments.delay});
  BatchesBy batches(arguments.batch_by);
  ProgressBar bar("rows");
  while (table.next(bar, "tracking")) {
    const Rows rows = table.rows();
    const std::size_t n = rows.x.rows();
    const std::span<const double> outcomes = table.column(target);
    check_outcomes(model, outcomes, table, target);
    writer.write(table.batch(), added.of(n, [&](auto predictions, auto lower, auto upper) {
      batches.split(
          table, n,
          [&](std::size_t first, std::size_t count) {
            tracker.track(rows.slice(first, count), outcomes.subspan(first, count), predictions.subspan(first, count),
                          lower.slice(first, count), upper.slice(first, count));
          },
          [&] { tracker.end_batch(); });
    }));
  }
  with_file_in_errors(arguments.table, [&] { tracker.finish(); });
  if (!tracker.warning().empty()) warn(fmt::format("{}: {}", arguments.table, tracker.warning()));
}

/// Write intervals of new rows, issued as one batch.
void issue_rows(const Model& model, OnlineCalibration& online, ModelTable& table, IntervalColumns& added,
                TableWriter& writer) {
  const std::size_t k = online.levels().size();
  std::vector<double> quantiles(k);
  online.quantiles(quantiles);
  RowSketch issued(OnlineCalibration::kBatchCapacity);
  std::vector<std::uint64_t> hashes;
  {
    ProgressBar bar("rows");
    while (table.next(bar, "issuing")) {
      const Rows rows = table.rows();
      hashes.resize(rows.x.rows());
      model.row_hashes(rows, hashes);
      issued.add(hashes);
      writer.write(table.batch(), added.of(rows.x.rows(), [&](auto predictions, auto lower, auto upper) {
        model.intervals_at(rows, {quantiles.data(), rows.x.rows(), k, 0}, predictions, lower, upper);
      }));
    }
  }
  if (!issued.empty()) (void)online.issue(issued);
}

/// Observe outcomes of rows issued earlier; the batch column identifies their batches.
void observe_rows(const Model& model, OnlineCalibration& online, ModelTable& table) {
  const std::string& target = target_of(model);
  BatchesBy batches(kBatchColumn);
  RowSketch seen;
  ProgressBar bar("rows");
  while (table.next(bar, "observing")) {
    const Rows rows = table.rows();
    const std::span<const double> outcomes = table.column(target);
    check_outcomes(model, outcomes, table, target);
    model.sketch(seen, rows, outcomes);
    batches.split(
        table, rows.x.rows(),
        [&](std::size_t first, std::size_t count) {
          const double number = table.column(kBatchColumn)[first];
          if (number < 0 || number != std::floor(number) || number > static_cast<double>(online.rows_issued())) {
            throw internal::make_error(ErrorCode::kBadData,
                                       "{}: row {}: '{}' is not the number of an issued batch; expected the column "
                                       "written by 'widthwise track'",
                                       table.file().string(), table.batch().first_row() + first + 1, kBatchColumn);
          }
          try {
            model.observe(online, static_cast<std::uint64_t>(number), rows.slice(first, count),
                          outcomes.subspan(first, count));
          } catch (const Error& error) {
            throw internal::make_error(ErrorCode::kBadData, "{}: {}", table.file().string(), error.what());
          }
        },
        [] {});
  }
  with_file_in_errors(table.file(), [&] { require_new_rows(model, seen, RowSketch(), "--replace"); });
}

void save_state(const TrackArguments& arguments, const Model& model, const OnlineCalibration& online,
                const std::optional<std::string>& tracked) {
  if (arguments.save.empty()) return;
  ModelParts parts = model.parts();
  parts.online = online;
  if (tracked) parts.notes[kTrackedLast] = *tracked;
  save(Model(std::move(parts)), arguments.save);
}

void run_observe(const TrackArguments& arguments, const Model& model) {
  if (!model.parts().online) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "--observe: {} has no online state; issue intervals first with 'widthwise track --save'",
                               arguments.model);
  }
  const OnlineCalibration before = begin(arguments, model);
  OnlineCalibration online = before;
  auto reader = open_table(arguments.table, arguments.reading.read_options(batches_for(online.levels().size())));
  const std::string& target = target_of(model);
  require_model_columns(*reader, arguments.table, model,
                        {{target, ", which holds the outcomes to observe"},
                         {kBatchColumn, ", which 'widthwise track' writes for rows with pending outcomes"}});
  ModelTable table(model, arguments.table, std::move(reader), {target, kBatchColumn}, {}, RowUse::kStream);
  observe_rows(model, online, table);
  save_state(arguments, model, online, std::nullopt);
  print_report(arguments.json, TrackReport{.before = before,
                                           .after = online,
                                           .table = arguments.table,
                                           .saved = arguments.save,
                                           .rows = table.rows_read(),
                                           .unknown_categories = table.unknown_categories()});
  table.warn_of_labels();
}

void run_track(const TrackArguments& arguments, const Model& model) {
  const std::string& target = target_of(model);
  const OnlineCalibration before = begin(arguments, model);
  OnlineCalibration online = before;
  auto reader = open_table(arguments.table, arguments.reading.read_options(batches_for(online.levels().size())));
  const std::vector<std::string> names = column_names(*reader);
  const bool has_outcomes = std::find(names.begin(), names.end(), target) != names.end();
  if (has_outcomes) refuse_known_rows(arguments, model, *reader);
  std::optional<std::uint64_t> issued;
  if (!has_outcomes && !arguments.save.empty()) issued = online.rows_issued();
  const std::vector<std::string> carried =
      arguments.columns.empty() ? names : parse_columns(*reader, arguments.table, arguments.columns);
  IntervalColumns added(model, online.levels(), issued);
  require_free(added.names(), carried, arguments.table);
  const std::string fingerprint = fingerprint_text(*reader);
  std::vector<std::string> numbers;
  if (has_outcomes) numbers.push_back(target);
  if (has_outcomes && !arguments.batch_by.empty() && arguments.batch_by != target) {
    require_columns(*reader, arguments.table, {arguments.batch_by}, ErrorCode::kInvalidArgument, " for --batch-by");
    numbers.push_back(arguments.batch_by);
  }
  ModelTable table(model, arguments.table, std::move(reader), numbers, carried, RowUse::kStream);
  // Rows are handed out after the state that recorded them is saved: otherwise another run could issue the same batch.
  std::optional<HeldRows> held;
  if (!arguments.save.empty() && arguments.output == kStandardOutput) held.emplace();
  const auto writer = held ? create_table(*held, table.reader(), added.names())
                           : create_table(arguments.output, table.reader(), added.names());
  if (has_outcomes) {
    track_outcomes(arguments, model, online, table, added, *writer);
  } else {
    issue_rows(model, online, table, added, *writer);
  }
  writer->close_after([&] {
    save_state(arguments, model, online, online.rows() > before.rows() ? std::optional(fingerprint) : std::nullopt);
  });
  if (held) held->release();
  print_report(arguments.json, TrackReport{.before = before,
                                           .after = online,
                                           .table = arguments.table,
                                           .output = arguments.output,
                                           .saved = arguments.save,
                                           .rows = table.rows_read(),
                                           .added = added.names(),
                                           .infinite = added.infinite(),
                                           .issued = issued,
                                           .order = mode_of(arguments),
                                           .unknown_categories = table.unknown_categories()});
  table.warn_of_labels();
  if (has_outcomes) return;
  warn(fmt::format(
      "{}: no column '{}', so {}{}", arguments.table, target,
      arguments.save.empty()
          ? "no outcome was observed; with --save the intervals are recorded and their outcomes can "
            "be observed later"
          : fmt::format("no outcome was observed; when they are known, add the column to {} and run "
                        "'widthwise track {} {} --observe --save {}'",
                        arguments.output == kStandardOutput ? "these rows" : arguments.output, arguments.save,
                        arguments.output == kStandardOutput ? "TABLE" : arguments.output, arguments.save),
      suggestion(target, names)));
}

void run(const TrackArguments& arguments) {
  if (arguments.observe != arguments.output.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                arguments.observe ? "--observe writes no intervals; remove --output" : "--output FILE is required");
  }
  std::vector<std::string> used = {arguments.table};
  if (!arguments.observe) {
    require_other_file("--output", arguments.output, {arguments.model, arguments.table});
    used.push_back(arguments.output);
  }
  if (!arguments.save.empty()) require_other_file("--save", arguments.save, used);
  const auto lock = lock_for_update(arguments.model, arguments.save);
  const Model model = load(arguments.model);
  if (const std::string refusal = model.scheme().refusal(Choice::kStream); !refusal.empty()) {
    throw Error(ErrorCode::kInvalidArgument, arguments.model + ": " + refusal);
  }
  if (arguments.observe) {
    run_observe(arguments, model);
  } else {
    run_track(arguments, model);
  }
}

void declare(CLI::App& command, TrackArguments& arguments) {
  command.add_option("MODEL", arguments.model, "calibrated model file")->required()->type_name("FILE");
  accept_standard_input(
      command.add_option(
          "TABLE", arguments.table,
          "CSV or Parquet file with the model's columns, in time order, or -: standard input; rows without an outcome "
          "get intervals but are not recorded; a table without the outcome column is one batch, observed later with "
          "--observe"))
      ->required()
      ->type_name("FILE");
  accept_standard_output(
      command.add_option("-o,--output", arguments.output,
                         "CSV or Parquet file to write, with the columns of 'widthwise predict'; -: CSV to standard "
                         "output; each interval is computed before its outcome is observed"))
      ->type_name("FILE");
  command
      .add_option("--save", arguments.save,
                  "model file that receives the online state, MODEL or another; the next run resumes from it")
      ->type_name("FILE");
  CLI::Option* const batch_size =
      add_count(command, "--batch-size", arguments.batch_size,
                "rows per batch; outcomes are observed after the last row of a batch; default: 1");
  CLI::Option* const batch_by =
      command
          .add_option("--batch-by", arguments.batch_by,
                      "numeric column, such as a day; consecutive rows with the same value form a batch")
          ->type_name("COL")
          ->excludes(batch_size);
  CLI::Option* const delay =
      add_count(command, "--delay", arguments.delay,
                "number of later batches, not rows, issued before the outcomes of a batch are observed; default: 0");
  command
      .add_flag("--observe", arguments.observe,
                "observe outcomes of rows issued by an earlier run, matched by its column 'batch', in any order; write "
                "no intervals")
      ->excludes(batch_size)
      ->excludes(batch_by)
      ->excludes(delay);
  add_levels(command, arguments.levels, "the levels of the model");
  add_choice(command, "--method", arguments.method, {"adaptive", "decaying"},
             "adaptive: adjust the level with constant steps; decaying: adjust the quantile with shrinking steps; "
             "default: adaptive");
  command
      .add_option("--step", arguments.step,
                  "step size of one update; default: (1 - level) / 20 for adaptive, 1 for decaying")
      ->type_name("S");
  command
      .add_option("--window-rows", arguments.window_rows,
                  "recent rows used for the quantiles of adaptive and for the printed recent coverage; default: 1000")
      ->type_name("N")
      ->check(whole_number());
  add_false_alarm_rate(command, arguments.false_alarm_rate, "; 0: no alarm");
  command.add_flag("--restart", arguments.restart, "discard the saved online state and start from the calibration");
  add_copied_columns(command, arguments.columns);
  add_table_options(command, arguments.reading);
  add_json(command, arguments.json);
}

}  // namespace

Command add_track(CLI::App& program) {
  return make_command<TrackArguments>(
      program, "track", "Write intervals for a stream of rows, updated online with each observed outcome.",
      "widthwise track homes.safetensors today.csv -o intervals.csv --save homes.safetensors", declare, run);
}

}  // namespace widthwise::cli
