#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>

#include "command.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct PredictArguments {
  std::string model;
  std::string table;
  std::string output;
  std::vector<std::string> levels;
  std::vector<std::string> columns;
  bool json = false;
};

constexpr const char* kPredictionColumn = "prediction";

/// The columns added to the table: f(x) when the model makes it, then the bounds of each level.
class AddedColumns {
 public:
  AddedColumns(const Model& model, const std::vector<Level>& levels)
      : model_(model), levels_(levels), infinite_(levels.size()) {
    if (!model.needs_predictions()) names_.emplace_back(kPredictionColumn);
    for (const Level& level : levels) {
      names_.push_back("lower_" + level.text());
      names_.push_back("upper_" + level.text());
    }
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  /// Rows of infinite intervals so far, for each level.
  [[nodiscard]] const std::vector<std::uint64_t>& infinite() const { return infinite_; }

  /// The columns of some rows; valid until the next call.
  [[nodiscard]] MatrixView of(const ModelRows& rows) {
    const std::size_t n = rows.x.rows();
    const std::size_t k = levels_.size();
    predictions_.resize(n);
    lower_.resize(n * k);
    upper_.resize(n * k);
    model_.intervals(rows, levels_, predictions_, {lower_.data(), n, k}, {upper_.data(), n, k});
    added_.clear();
    added_.reserve(n * names_.size());
    for (std::size_t i = 0; i < n; ++i) {
      if (!model_.needs_predictions()) added_.push_back(predictions_[i]);
      for (std::size_t j = 0; j < k; ++j) {
        const double lower = lower_[i * k + j];
        const double upper = upper_[i * k + j];
        added_.push_back(lower);
        added_.push_back(upper);
        if (!std::isfinite(upper - lower)) ++infinite_[j];
      }
    }
    return {added_.data(), n, names_.size()};
  }

 private:
  const Model& model_;
  const std::vector<Level>& levels_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> infinite_;
  std::vector<double> predictions_;
  std::vector<double> lower_;
  std::vector<double> upper_;
  std::vector<double> added_;
};

void warn_of_infinite(const Model& model, const std::vector<Level>& levels, const AddedColumns& added) {
  const std::uint64_t rows = model.parts().calibration.rows_kept();
  for (std::size_t j = 0; j < levels.size(); ++j) {
    if (added.infinite()[j] == 0) continue;
    if (rows < levels[j].least_rows()) {
      warn("intervals of level " + levels[j].text() + " are infinite: it needs " +
           count_of(levels[j].least_rows(), "calibration row") + ", the model has " + count(rows) +
           "; add some with 'widthwise calibrate'");
    } else {
      warn(count_of(added.infinite()[j], "interval") + " of level " + levels[j].text() +
           " infinite: no prediction there, or one the calibration cannot bound");
    }
  }
}

void run(const PredictArguments& arguments) {
  const Model model = load(arguments.model);
  const std::vector<Level> levels = arguments.levels.empty() ? model.parts().levels : parse_levels(arguments.levels);
  auto reader = TableReader::open(arguments.table);
  const std::vector<std::string> carried =
      arguments.columns.empty() ? column_names(*reader) : parse_columns(*reader, arguments.table, arguments.columns);
  AddedColumns added(model, levels);
  for (const auto& name : added.names()) {
    if (std::find(carried.begin(), carried.end(), name) == carried.end()) continue;
    throw Error(ErrorCode::kInvalidArgument, arguments.table + ": there is a column '" + name +
                                                 "' already; choose the columns to carry along with --columns");
  }
  ModelTable table(model, arguments.table, std::move(reader), {}, carried);
  const auto writer = TableWriter::open(arguments.output, table.reader(), added.names());
  {
    ProgressBar bar("rows");
    while (table.next(bar, "predicting")) writer->write(table.batch(), added.of(table.rows()));
  }
  writer->close();
  if (arguments.json) {
    Json infinite = Json::object();
    for (std::size_t j = 0; j < levels.size(); ++j) infinite[levels[j].text()] = added.infinite()[j];
    print_json(Json{
        {"output", arguments.output}, {"rows", table.rows_read()}, {"added", added.names()}, {"infinite", infinite}});
  } else {
    print(arguments.output + ": " + count_of(table.rows_read(), "row") + ", with " + list(added.names()) + ".\n");
  }
  warn_of_infinite(model, levels, added);
}

}  // namespace

Command add_predict(CLI::App& program) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App& command = add_command(program, "predict", "Write prediction intervals for the rows of a table.",
                                  "widthwise predict homes.safetensors new.csv --level 0.9,0.95 -o intervals.parquet");
  command.add_option("MODEL", arguments->model, "model file")->required()->type_name("FILE");
  command.add_option("TABLE", arguments->table, "CSV or Parquet file with the model's columns")
      ->required()
      ->type_name("FILE");
  command
      .add_option("-o,--output", arguments->output,
                  "CSV or Parquet file to write: the table's columns, 'prediction' when the model makes it, then "
                  "lower_L and upper_L for each level")
      ->required()
      ->type_name("FILE");
  add_levels(command, arguments->levels, "those the model was fitted for");
  add_list(command, "--columns", arguments->columns, "A,B,...", "columns of the table to carry along; default: all");
  add_json(command, arguments->json);
  return {&command, [=] { run(*arguments); }};
}

}  // namespace widthwise::cli
