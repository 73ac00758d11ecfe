#include "evaluated_table.hpp"

#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/exchangeability.hpp>
#include <widthwise/train/registry.hpp>

#include "options.hpp"
#include "output.hpp"
#include "progress_bar.hpp"
#include "standard_streams.hpp"

namespace widthwise::cli {

void add_evaluation_arguments(CLI::App& command, EvaluationArguments& arguments) {
  command.add_option("MODEL", arguments.model, "model file")->required()->type_name("FILE");
  accept_standard_input(command.add_option("TABLE", arguments.table,
                                           "CSV or Parquet file of rows the model has not seen, with outcomes; -: "
                                           "standard input"))
      ->required()
      ->type_name("FILE");
  add_levels(command, arguments.levels, "those the model was fitted for");
  add_guarantee(command, arguments.guarantee, "that of the model");
  add_list(
      command, "--by", arguments.by, "COL",
      "also test coverage by the values of this column, which need not be a feature: one bin per label of text and "
      "booleans, one per value of a few integers, else ten ranges. Several columns, A,B, are tested by each "
      "combination of their labels");
  command.add_flag(
      "--conditional", arguments.conditional,
      "also estimate how far coverage given the features is from the level (ERT, with its standard error): "
      "a classifier predicts covered rows, which takes seconds and needs XGBoost. 0 if coverage is the "
      "level at every x; slightly negative by chance");
  add_table_options(command, arguments.reading);
}

namespace {

EvaluatorOptions options_of(const EvaluationArguments& arguments, const Model& model, EvaluatedLevels which) {
  EvaluatorOptions options{.levels = arguments.levels.empty() ? model.parts().levels : parse_levels(arguments.levels),
                           .by_column = !arguments.by.empty()};
  if (which == EvaluatedLevels::kAll) options.counted_levels = page_levels(options.levels);
  if (arguments.conditional) options.classifier = make_classifier_trainer();
  if (!arguments.in_order) return options;
  options.in_order.emplace();
  if (!arguments.false_alarm_rate.empty()) {
    options.in_order->false_alarm_rate = parse_number("--false-alarm-rate", arguments.false_alarm_rate);
  }
  return options;
}

}  // namespace

EvaluatedTable::EvaluatedTable(const EvaluationArguments& arguments, EvaluatedLevels which)
    : model_(load_with_guarantee(arguments.model, arguments.guarantee)),
      evaluator_(model_, options_of(arguments, model_, which)) {
  const std::string& target = target_of(model_);
  auto reader = open_table(arguments.table, arguments.reading.read_options(batches_for(evaluator_.levels().size())));
  require_model_columns(*reader, arguments.table, model_, {{target, ", the outcomes to compare with"}});
  by_ = std::make_unique<ByColumn>(arguments.by, model_, *reader, arguments.table);
  table_ = std::make_unique<ModelTable>(model_, arguments.table, std::move(reader), std::vector<std::string>{target},
                                        std::vector<std::string>{}, RowUse::kEvaluate, by_->select());
  read();
  if (evaluator_.rows() == 0) throw Error(ErrorCode::kBadData, arguments.table + ": no rows");
  ProgressBar bar("rounds");
  report_ = evaluator_.report(by_->column(), bar.callback());
  report_.table = arguments.table;
  report_.unknown_categories = table_->unknown_categories();
}

void EvaluatedTable::read() {
  const std::string& target = model_.parts().target;
  ProgressBar bar("rows");
  while (table_->next(bar, "evaluating")) {
    const auto outcomes = table_->column(target);
    require_finite(outcomes, table_->place_of(target), kRemoveRows);
    evaluator_.add(table_->rows(), outcomes);
    by_->append(table_->batch().numbers(), table_->more());
  }
}

void EvaluatedTable::warn() const {
  (void)warn_of_no_calibration(model_);
  table_->warn_of_labels();
}

}  // namespace widthwise::cli
