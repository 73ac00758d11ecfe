#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/online.hpp>

#include "command.hpp"
#include "interval_columns.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct TrackArguments {
  std::string model;
  std::string table;
  std::string output;
  std::string save;
  std::vector<std::string> levels;
  std::vector<std::string> columns;
  std::string method;
  std::string step;
  std::string window;
  bool restart = false;
  bool json = false;
};

/// The note of a model that tells which table it observed last, by fingerprint_text.
constexpr const char* kTrackedLast = "tracked_last";

struct GivenOptions {
  std::vector<Level> levels;
  std::optional<OnlineMethod> method;
  std::optional<double> step;
  std::optional<std::uint64_t> window;
};

GivenOptions parse(const TrackArguments& arguments) {
  GivenOptions given;
  given.levels = parse_levels(arguments.levels);
  if (!arguments.method.empty()) given.method = online_method_of(arguments.method);
  if (!arguments.step.empty()) given.step = parse_number("--step", arguments.step);
  // Digits, as was checked; those of more than 64 bits are too many rows anyway.
  if (!arguments.window.empty()) {
    given.window =
        internal::read_whole<std::uint64_t>(arguments.window).value_or(std::numeric_limits<std::uint64_t>::max());
  }
  return given;
}

/// Refuse an option that is against the state to go on from.
void expect_same(const OnlineCalibration& online, const GivenOptions& given) {
  const auto expect = [](bool same, const std::string& option) {
    if (same) return;
    throw Error(ErrorCode::kInvalidArgument,
                option + ": the model is in the middle of a stream that it follows with another; leave " + option +
                    " out to go on, or begin anew with --restart");
  };
  expect(given.levels.empty() || given.levels == online.levels(), "--level");
  expect(!given.method || *given.method == online.method(), "--method");
  expect(!given.window || *given.window == online.window(), "--window");
  for (std::size_t j = 0; j < online.levels().size(); ++j) {
    expect(!given.step || *given.step == online.step(j), "--step");
  }
}

/// Go on where the model is in its stream, or begin one with its calibration.
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
  options.window = given.window.value_or(options.window);
  return {parts.calibration, given.levels.empty() ? parts.levels : given.levels, options};
}

void refuse_known_rows(const TrackArguments& arguments, const Model& model, const TableReader& reader) {
  const auto& notes = model.parts().notes;
  const auto last = notes.find(kTrackedLast);
  if (model.parts().online && !arguments.restart && last != notes.end() && last->second == fingerprint_text(reader)) {
    throw Error(ErrorCode::kBadData,
                arguments.table + ": the model has observed these very rows; go on with those that came after them");
  }
}

/// Outcomes may be missing, but not infinite.
void check_outcomes(std::span<const double> outcomes, const ModelTable& table, const std::string& target) {
  const auto bad = std::find_if(outcomes.begin(), outcomes.end(), [](double y) { return std::isinf(y); });
  if (bad == outcomes.end()) return;
  const auto row = table.batch().first_row() + static_cast<std::uint64_t>(bad - outcomes.begin());
  throw Error(ErrorCode::kBadData, table.file().string() + ": row " + std::to_string(row + 1) + ": '" + target +
                                       "' is infinite; leave it empty if it is not known");
}

void report(const TrackArguments& arguments, const OnlineCalibration& online, const IntervalColumns& added,
            std::uint64_t rows, std::uint64_t observed) {
  const std::vector<Level>& levels = online.levels();
  if (arguments.json) {
    Json by_level = Json::array();
    for (std::size_t j = 0; j < levels.size(); ++j) {
      Json entry = {{"level", levels[j].value()}, {"step", online.step(j)}};
      entry.update(to_json(online.coverage(j)));
      entry["infinite"] = added.infinite()[j];
      by_level.push_back(std::move(entry));
    }
    print_json(Json{{"output", arguments.output},
                    {"saved", arguments.save.empty() ? Json(nullptr) : Json(arguments.save)},
                    {"rows", rows},
                    {"observed", observed},
                    {"added", added.names()},
                    {"method", name_of(online.method())},
                    {"window", online.window()},
                    {"levels", by_level}});
    return;
  }
  std::string text = arguments.output + ": " + count_of(rows, "row") + ", with " + list(added.names()) + ".\n";
  if (!arguments.save.empty()) {
    text += arguments.save + ": goes on from here, after " + count_of(online.rows(), "row") + " with outcomes.\n";
  }
  if (online.rows() > 0) {
    TextTable table;
    const std::uint64_t recent = online.coverage(0).recent_rows;
    table.add({"level", "coverage of " + count_of(online.rows(), "row"), "of the last " + count(recent),
               "calibration as it was"});
    for (std::size_t j = 0; j < levels.size(); ++j) {
      const OnlineCoverage coverage = online.coverage(j);
      table.add({levels[j].text(), percent(share(coverage.covered, coverage.rows)),
                 percent(share(coverage.recent_covered, coverage.recent_rows)),
                 percent(share(coverage.covered_fixed, coverage.rows))});
    }
    text += "\n" + table.text();
  }
  print(text);
}

void run(const TrackArguments& arguments) {
  require_other_file("--output", arguments.output, {arguments.model, arguments.table});
  if (!arguments.save.empty()) require_other_file("--save", arguments.save, {arguments.table, arguments.output});
  const Model model = load(arguments.model);
  const std::string& target = target_of(model);
  OnlineCalibration online = begin(arguments, model);
  auto reader = TableReader::open(arguments.table);
  const std::vector<std::string> names = column_names(*reader);
  const bool teaches = std::find(names.begin(), names.end(), target) != names.end();
  if (teaches) refuse_known_rows(arguments, model, *reader);
  const std::vector<std::string> carried =
      arguments.columns.empty() ? names : parse_columns(*reader, arguments.table, arguments.columns);
  IntervalColumns added(model, online.levels());
  added.require_free(carried, arguments.table);
  const std::string fingerprint = fingerprint_text(*reader);
  ModelTable table(model, arguments.table, std::move(reader),
                   teaches ? std::vector<std::string>{target} : std::vector<std::string>{}, carried);
  const auto writer = TableWriter::open(arguments.output, table.reader(), added.names());
  const std::uint64_t before = online.rows();
  std::vector<double> unknown;
  RowSketch seen;
  {
    ProgressBar bar("rows");
    while (table.next(bar, "tracking")) {
      const ModelRows rows = table.rows();
      unknown.resize(rows.x.rows(), std::numeric_limits<double>::quiet_NaN());
      const std::span<const double> outcomes = teaches ? table.column(target) : unknown;
      check_outcomes(outcomes, table, target);
      if (teaches) model.sketch(seen, rows, outcomes);
      writer->write(table.batch(), added.of(rows.x.rows(), [&](auto predictions, auto lower, auto upper) {
        model.track(online, rows, outcomes, predictions, lower, upper);
      }));
    }
  }
  check_new_rows(model, seen, RowSketch(), arguments.table);
  writer->close();
  const std::uint64_t observed = online.rows() - before;
  if (!arguments.save.empty()) {
    ModelParts parts = model.parts();
    parts.online = online;
    if (observed > 0) parts.notes[kTrackedLast] = fingerprint;
    save(Model(std::move(parts)), arguments.save);
  }
  report(arguments, online, added, table.rows_read(), observed);
  if (!teaches) {
    warn(arguments.table + ": no column '" + target + "', so there was nothing to learn" + suggestion(target, names));
  }
}

}  // namespace

Command add_track(CLI::App& program) {
  auto arguments = std::make_shared<TrackArguments>();
  CLI::App& command =
      add_command(program, "track", "Write intervals that follow a stream: each row's outcome corrects those after it.",
                  "widthwise track homes.safetensors today.csv -o intervals.csv --save homes.safetensors");
  command.add_option("MODEL", arguments->model, "model file, calibrated")->required()->type_name("FILE");
  command
      .add_option("TABLE", arguments->table,
                  "CSV or Parquet file with the model's columns, in the order of time; a row without an outcome gets "
                  "its interval and teaches nothing")
      ->required()
      ->type_name("FILE");
  command
      .add_option("-o,--output", arguments->output,
                  "CSV or Parquet file to write, as predict does: each interval is made before its outcome is seen")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--save", arguments->save,
                  "keep what was learnt in this model file, MODEL or another; the next table goes on from there")
      ->type_name("FILE");
  add_levels(command, arguments->levels, "those the model was fitted for");
  add_choice(command, "--method", arguments->method, {"adaptive", "decaying"},
             "move the level, for ever, or the quantile, by shrinking steps; default: adaptive");
  command
      .add_option("--step", arguments->step,
                  "how far one miss moves the level; default: a twentieth of 1 - level when adaptive, 1 when decaying")
      ->type_name("S");
  command
      .add_option("--window", arguments->window,
                  "recent rows that adaptive takes quantiles of, and that the report counts; default: 1000")
      ->type_name("N")
      ->check(whole_number());
  command.add_flag("--restart", arguments->restart, "begin anew with the calibration, whatever was learnt before");
  add_list(command, "--columns", arguments->columns, "A,B,...", "columns of the table to carry along; default: all");
  add_json(command, arguments->json);
  return {&command, [=] { run(*arguments); }};
}

}  // namespace widthwise::cli
