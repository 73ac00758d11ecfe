#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/model_file.hpp>
#include <widthwise/report.hpp>

#include "command.hpp"
#include "interval_columns.hpp"
#include "message.hpp"
#include "options.hpp"
#include "output.hpp"
#include "standard_streams.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct PredictArguments {
  std::string model;
  std::string table;
  std::string output;
  std::vector<std::string> levels;
  std::vector<std::string> columns;
  std::string guarantee;
  bool json = false;
};

void warn_of_infinite(const Model& model, const std::vector<Level>& levels, const IntervalColumns& added) {
  if (warn_of_no_calibration(model)) return;
  for (std::size_t j = 0; j < levels.size(); ++j) {
    if (added.infinite()[j] == 0) continue;
    if (const std::string text = infinite_warning(model, levels[j]); !text.empty()) {
      warn(text + "; add rows with 'widthwise calibrate'");
    } else {
      warn(fmt::format(
          "{} of level {}{} infinite: the prediction is missing, or its score is outside the calibrated scores",
          count_of(added.infinite()[j], "interval"), levels[j].to_string(), added.infinite()[j] == 1 ? " is" : " are"));
    }
  }
}

void run(const PredictArguments& arguments) {
  require_other_file("--output", arguments.output, {arguments.model, arguments.table});
  const Model model = load_with_guarantee(arguments.model, arguments.guarantee);
  const std::vector<Level> levels = arguments.levels.empty() ? model.parts().levels : parse_levels(arguments.levels);
  auto reader = open_table(arguments.table, batches_for(levels.size()));
  const std::vector<std::string> carried =
      arguments.columns.empty() ? column_names(*reader) : parse_columns(*reader, arguments.table, arguments.columns);
  IntervalColumns added(model, levels);
  added.require_free(carried, arguments.table);
  ModelTable table(model, arguments.table, std::move(reader), {}, carried);
  const auto writer = create_table(arguments.output, table.reader(), added.names());
  {
    ProgressBar bar("rows");
    while (table.next(bar, "predicting")) {
      const ModelRows rows = table.rows();
      writer->write(table.batch(), added.of(rows.x.rows(), [&](auto predictions, auto lower, auto upper) {
        model.intervals(rows, levels, predictions, lower, upper);
      }));
    }
  }
  writer->close();
  if (arguments.json) {
    Json infinite = Json::object();
    for (std::size_t j = 0; j < levels.size(); ++j) infinite[levels[j].to_string()] = added.infinite()[j];
    print_json(Json{
        {"output", arguments.output}, {"rows", table.rows_read()}, {"added", added.names()}, {"infinite", infinite}});
  } else {
    print(fmt::format("{}: {}, with {}.\n", arguments.output, count_of(table.rows_read(), "row"), list(added.names())));
  }
  warn_of_infinite(model, levels, added);
}

void declare(CLI::App& command, PredictArguments& arguments) {
  command.add_option("MODEL", arguments.model, "model file")->required()->type_name("FILE");
  accept_standard_input(
      command.add_option("TABLE", arguments.table, "CSV or Parquet file with the model's columns; -: standard input"))
      ->required()
      ->type_name("FILE");
  accept_standard_output(
      command.add_option("-o,--output", arguments.output,
                         "CSV or Parquet file to write: the columns of TABLE, 'prediction' if the model has a base "
                         "model, and lower_L and upper_L per level; -: CSV to standard output"))
      ->required()
      ->type_name("FILE");
  add_levels(command, arguments.levels, "the levels of the model");
  add_guarantee(command, arguments.guarantee, "the guarantee of the model");
  add_copied_columns(command, arguments.columns);
  add_json(command, arguments.json);
}

}  // namespace

Command add_predict(CLI::App& program) {
  return make_command<PredictArguments>(
      program, "predict", "Write prediction intervals for the rows of a table.",
      "widthwise predict homes.safetensors new.csv --level 0.9,0.95 -o intervals.parquet", declare, run);
}

}  // namespace widthwise::cli
