#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/report.hpp>
#include <widthwise/row_checks.hpp>

#include "base/message.hpp"
#include "command.hpp"
#include "conformal/outcomes.hpp"
#include "options.hpp"
#include "output.hpp"
#include "standard_streams.hpp"
#include "table_options.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct CalibrateArguments {
  std::string model;
  std::string table;
  TableOptions reading;
  std::string key;
  std::string output;
  std::string emit;
  std::string guarantee;
  std::string population;
  bool replace = false;
  bool json = false;
};

constexpr const char* kOneRowOneKey = "expected a unique integer per row";

std::string key_text(const DuplicateRowError& error, const CalibrateArguments& arguments) {
  return fmt::format("{} in '{}'", static_cast<std::int64_t>(error.row_number()), arguments.key);
}

/// Add the rows of the table to the calibration set of the model.
void add_rows(CalibrationUpdate& update, CalibrationShard rows, const CalibrateArguments& arguments) {
  with_file_in_errors(arguments.table, [&] {
    try {
      update.add(std::move(rows));
    } catch (const DuplicateRowError& error) {
      throw internal::make_error(
          ErrorCode::kDuplicateRows,
          "{} already in the calibration set, and duplicates make intervals too narrow. Use --replace to calibrate "
          "with this table only",
          arguments.key.empty() ? "these rows are" : fmt::format("the row with key {} is", key_text(error, arguments)));
    }
  });
}

/// The rows of the table, scored.
CalibrationShard read_rows(const Model& model, ModelTable& table, const std::string& target,
                           const CalibrateArguments& arguments) {
  CalibrationShard shard = CalibrationShard::of(model);
  const std::uint64_t first_row = first_row_number(table.reader());
  internal::OutcomesOutside outside(model.parts().outcome_space);
  ProgressBar bar("rows");
  while (table.next(bar, "calibrating")) {
    const auto outcomes = table.column(target);
    const std::uint64_t row = table.batch().first_row();
    require_finite(outcomes, table.place_of(target), kRemoveRows);
    const Rows rows = table.rows();
    require_finite(rows.predictions, table.place_of({}), model.prediction_columns(), kRemoveRows);
    outside.add(outcomes, row + 1, rows.ids);
    if (outside.any()) continue;  // only count further outcomes outside the range
    const auto keys = table.batch().keys();
    try {
      shard.add(model, rows, outcomes, keys.empty() ? RowNumbers(first_row + row) : RowNumbers(keys));
    } catch (const DuplicateRowError& error) {  // without keys, no two rows of a table have one number
      throw internal::make_error(ErrorCode::kDuplicateRows, "{}: two rows have key {}; {}", arguments.table,
                                 key_text(error, arguments), kOneRowOneKey);
    }
  }
  outside.require_none(fmt::format("{}: '{}'", table.file().string(), target));
  if (table.rows_read() == 0) throw Error(ErrorCode::kBadData, table.file().string() + ": no rows");
  return shard;
}

void emit(const CalibrateArguments& arguments, const CalibrationShard& shard) {
  save_shard(shard, arguments.emit);
  const std::uint64_t rows = shard.calibration.rows_seen();
  if (arguments.json) {
    print_json(Json{{"shard", arguments.emit}, {"rows_seen", rows}, {"rows_kept", shard.calibration.rows_kept()}});
  } else {
    print(fmt::format("{}: the scores of {}, for 'widthwise merge {}'.\n", arguments.emit, count_of(rows, "row"),
                      arguments.model));
  }
}

void run(const CalibrateArguments& arguments) {
  if (!arguments.output.empty()) require_other_file("--output", arguments.output, {arguments.table});
  if (!arguments.emit.empty()) require_other_file("--emit", arguments.emit, {arguments.model, arguments.table});
  const std::string& written = arguments.output.empty() ? arguments.model : arguments.output;
  const auto lock = lock_for_update(arguments.model, arguments.emit.empty() ? written : "");
  const bool alone = arguments.replace || !arguments.emit.empty();
  const Model before_rows = load(arguments.model);
  const Model model = with_guarantee(for_rows_of(before_rows, arguments.population, alone), arguments.guarantee);
  const std::string& target = target_of(model);
  auto reader = open_table(arguments.table, arguments.reading.read_options());
  require_model_columns(*reader, arguments.table, model, {{target, ", which holds the outcomes"}});
  if (!arguments.key.empty()) reader->select_key(arguments.key);
  ModelTable table(model, arguments.table, std::move(reader), {target}, {}, RowUse::kCalibrate);

  CalibrationUpdate update(model, alone, "--replace");
  add_rows(update, read_rows(model, table, target, arguments), arguments);
  const std::string warning = check_in_sample(model, update.rows().residuals).warning();

  if (!arguments.emit.empty()) {
    emit(arguments, update.rows());
  } else {
    const Model calibrated = std::move(update).finish();
    save(calibrated, written);
    print_report(arguments.json, CalibrationReport{.model = calibrated,
                                                   .file = written,
                                                   .rows_added = table.rows_read(),
                                                   .unknown_categories = table.unknown_categories(),
                                                   .weights_dropped = before_rows.scheme().weighs_new_rows() &&
                                                                      !calibrated.scheme().weighs_new_rows()});
  }
  table.warn_of_labels();
  if (!warning.empty()) warn(warning);
}

void declare(CLI::App& command, CalibrateArguments& arguments) {
  command.add_option("MODEL", arguments.model, "model file; replaced atomically")->required()->type_name("FILE");
  accept_standard_input(
      command.add_option("TABLE", arguments.table,
                         "CSV or Parquet file of rows with outcomes, or -: standard input; rows used to fit the model "
                         "or already in its calibration set are rejected, in any order and file format"))
      ->required()
      ->type_name("FILE");
  command
      .add_option("--key", arguments.key,
                  "integer column that identifies each calibration row; the model then does not depend on the order of "
                  "the rows or on their split into tables; default: file content and row number")
      ->type_name("COL");
  CLI::Option* replace =
      command.add_flag("--replace", arguments.replace, "discard the existing calibration set and use only these rows");
  add_population(command, arguments.population);
  CLI::Option* output =
      command.add_option("-o,--output", arguments.output, "model file to write instead of MODEL")->type_name("FILE");
  CLI::Option* guarantee = add_guarantee(command, arguments.guarantee, "the guarantee of the model");
  command
      .add_option("--emit", arguments.emit,
                  "write the scores of these rows to a shard for 'widthwise merge', without changing MODEL")
      ->type_name("FILE")
      ->excludes(replace)
      ->excludes(output)
      ->excludes(guarantee);
  add_table_options(command, arguments.reading);
  add_json(command, arguments.json);
}

}  // namespace

Command add_calibrate(CLI::App& program) {
  return make_command<CalibrateArguments>(program, "calibrate",
                                          "Add new rows to the calibration set of a model, or replace it.",
                                          "widthwise calibrate homes.safetensors march.csv", declare, run);
}

}  // namespace widthwise::cli
