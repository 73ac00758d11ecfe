#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/model_file.hpp>
#include <widthwise/report.hpp>

#include "base/message.hpp"
#include "command.hpp"
#include "interval_columns.hpp"
#include "options.hpp"
#include "output.hpp"
#include "quantile_columns.hpp"
#include "standard_streams.hpp"
#include "table_options.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct PredictArguments {
  std::string model;
  std::string table;
  TableOptions reading;
  std::string output;
  std::vector<std::string> levels;
  std::vector<std::string> quantiles;
  std::vector<std::string> columns;
  std::string cluster_size;
  std::string guarantee;
  bool json = false;
};

void warn_of_infinite(const Model& model, const std::vector<Level>& levels, const IntervalColumns& added) {
  if (warn_of_no_calibration(model)) return;
  for (std::size_t j = 0; j < levels.size(); ++j) {
    if (added.infinite()[j] == 0) continue;
    if (const std::string text = model.scheme().infinite_warning(model.parts().calibration, levels[j]); !text.empty()) {
      warn(text + (model.scheme().takes_rows() ? "; add rows with 'widthwise calibrate'" : "; fit with more rows"));
    } else if (!model.scheme().reads(Role::kGroup, Step::kPredict)) {
      warn(fmt::format(
          "{} of level {}{} infinite: the prediction is missing, or its score is outside the calibrated scores",
          count_of(added.infinite()[j], "interval"), levels[j].to_string(), added.infinite()[j] == 1 ? " is" : " are"));
    }
  }
}

void warn_of_infinite(const Model& model, const QuantileColumns& quantiles) {
  for (std::size_t j = 0; j < quantiles.names().size(); ++j) {
    if (quantiles.infinite()[j] == 0 || !model.uncalibrated().empty()) continue;
    const Level& probability = quantiles.probabilities()[j];
    const LevelNeeds needs = model.needs(std::max(probability, probability.complement()));
    warn(fmt::format("quantile {} is infinite in {}{}", probability.to_string(),
                     count_of(quantiles.infinite()[j], "row"),
                     !needs.met() ? fmt::format(": it needs {}, the model has {}; add rows with 'widthwise calibrate'",
                                                needs.to_string(), count(needs.have))
                                  : ": the prediction is missing, or its score is outside the calibrated scores"));
  }
}

/// The levels to write: those given, or else those of the model unless only quantiles are asked for.
std::vector<Level> levels_of(const PredictArguments& arguments, const Model& model) {
  if (!arguments.levels.empty()) return parse_levels(arguments.levels);
  return arguments.quantiles.empty() ? model.parts().levels : std::vector<Level>();
}

/// The columns to copy: all, or those asked for after that of the ids.
std::vector<std::string> carried_columns(const PredictArguments& arguments, const Model& model,
                                         const TableReader& reader) {
  if (arguments.columns.empty()) return column_names(reader);
  std::vector<std::string> columns = parse_columns(reader, arguments.table, arguments.columns);
  const std::string& id = model.parts().columns[Role::kId];
  const bool is_missing = std::ranges::find(columns, id) == columns.end();
  if (is_missing && reader.has_column(id)) columns.insert(columns.begin(), id);
  return columns;
}

void report(const PredictArguments& arguments, const ModelTable& table, const std::vector<std::string>& added,
            const std::vector<Level>& levels, const IntervalColumns& intervals, const QuantileColumns& quantiles) {
  const std::uint64_t rows = table.rows_read();
  if (!arguments.json) {
    print(fmt::format("{}: {}, with {}.\n", arguments.output, count_of(rows, "row"), list(added)));
    return;
  }
  Json infinite = Json::object();
  for (std::size_t j = 0; j < levels.size(); ++j) infinite[levels[j].to_string()] = intervals.infinite()[j];
  Json json = {{"output", arguments.output},
               {"rows", rows},
               {"added", added},
               {"infinite", infinite},
               {"unknown_categories", Json::parse(to_json(table.unknown_categories()))}};
  for (std::size_t j = 0; j < quantiles.names().size(); ++j) {
    json["infinite_quantiles"][quantiles.probabilities()[j].to_string()] = quantiles.infinite()[j];
  }
  print_json(json);
}

void run(const PredictArguments& arguments) {
  require_other_file("--output", arguments.output, {arguments.model, arguments.table});
  const Model model = load_with_guarantee(arguments.model, arguments.guarantee);
  const std::vector<Level> levels = levels_of(arguments, model);
  IntervalColumns intervals(model, levels);
  QuantileColumns quantiles(model, parse_levels(arguments.quantiles, "--quantile"));
  std::vector<std::string> added = intervals.names();
  added.insert(added.end(), quantiles.names().begin(), quantiles.names().end());
  auto reader = open_table(arguments.table, arguments.reading.read_options(batches_for(added.size() / 2 + 1)));
  const std::vector<std::string> carried = carried_columns(arguments, model, *reader);
  require_free(added, carried, arguments.table);
  std::vector<std::string> sizes;
  if (!arguments.cluster_size.empty()) sizes = parse_columns(*reader, arguments.table, {arguments.cluster_size});
  ModelTable table(model, arguments.table, std::move(reader), sizes, carried);
  const auto writer = create_table(arguments.output, table.reader(), added);
  {
    ProgressBar bar("rows");
    while (table.next(bar, "predicting")) {
      Rows rows = table.rows();
      if (!sizes.empty()) {
        rows.cluster_sizes = table.column(sizes.front());
        check_cells(Role::kClusterSize, rows.cluster_sizes, table.place_of(sizes.front()));
      }
      const MatrixView bounds = intervals.of(rows.x.rows(), [&](auto predictions, auto lower, auto upper) {
        if (levels.empty()) return model.predictions(rows, predictions);
        model.intervals(rows, levels, predictions, lower, upper);
      });
      writer->write(table.batch(), quantiles.beside(bounds, rows));
    }
  }
  writer->close();
  report(arguments, table, added, levels, intervals, quantiles);
  warn_of_infinite(model, levels, intervals);
  warn_of_infinite(model, quantiles);
  table.warn_of_labels();
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
  add_levels(command, arguments.levels, "the levels of the model; none with --quantile");
  add_list(command, "--quantile", arguments.quantiles, "P",
           "quantile of the outcome, or several: 0.05,0.95; column quantile_P is a one-sided bound: the outcome is at "
           "most quantile_0.95 with probability at least 95%, and at least quantile_0.05 likewise");
  command.add_option(entry_of(Role::kClusterSize).option(), arguments.cluster_size, entry_of(Role::kClusterSize).help)
      ->type_name("COL");
  add_guarantee(command, arguments.guarantee, "the guarantee of the model");
  add_copied_columns(command, arguments.columns);
  add_table_options(command, arguments.reading);
  add_json(command, arguments.json);
}

}  // namespace

Command add_predict(CLI::App& program) {
  return make_command<PredictArguments>(
      program, "predict", "Write prediction intervals for the rows of a table.",
      "widthwise predict homes.safetensors new.csv --level 0.9,0.95 -o intervals.parquet\n"
      "  zcat new.csv.gz | widthwise predict homes.safetensors - --quantile 0.95 -o -",
      declare, run);
}

}  // namespace widthwise::cli
