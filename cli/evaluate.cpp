#include <memory>

#include <widthwise/report.hpp>

#include "command.hpp"
#include "evaluated_table.hpp"
#include "options.hpp"
#include "output.hpp"

namespace widthwise::cli {
namespace {

struct EvaluateArguments {
  EvaluationArguments evaluation;
  bool json = false;
};

void run(const EvaluateArguments& arguments) {
  const EvaluatedTable table(arguments.evaluation, EvaluatedLevels::kAsked);
  print_report(arguments.json, table.report());
  table.warn();
}

void declare(CLI::App& command, EvaluateArguments& arguments) {
  add_evaluation_arguments(command, arguments.evaluation);
  CLI::Option* const in_order = command.add_flag(
      "--in-order", arguments.evaluation.in_order,
      "the rows are in time order: report at which row they stopped being exchangeable with the calibration rows");
  add_false_alarm_rate(command, arguments.evaluation.false_alarm_rate)->needs(in_order);
  add_json(command, arguments.json);
}

}  // namespace

Command add_evaluate(CLI::App& program) {
  return make_command<EvaluateArguments>(program, "evaluate",
                                         "Measure coverage and width on new rows, and test where coverage is low.",
                                         "widthwise evaluate homes.safetensors april.csv --by rooms", declare, run);
}

}  // namespace widthwise::cli
