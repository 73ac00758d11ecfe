#include <string>

#include <widthwise/report.hpp>

#include "base/file.hpp"
#include "base/layout.hpp"
#include "command.hpp"
#include "evaluated_table.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct ReportArguments {
  EvaluationArguments evaluation;
  std::string output;
  std::string title;
};

void run(const ReportArguments& arguments) {
  require_other_file("--output", arguments.output, {arguments.evaluation.model, arguments.evaluation.table});
  require_html_name(arguments.output);
  const EvaluatedTable table(arguments.evaluation, EvaluatedLevels::kAll);
  EvaluationPage page = table.page();
  page.title = arguments.title;
  const std::string html = to_html(page);
  internal::write_file_atomically(arguments.output, std::as_bytes(std::span(html)));
  print(internal::wrapped(headline(table.report())) + "\n");
  table.warn();
}

void declare(CLI::App& command, ReportArguments& arguments) {
  add_evaluation_arguments(command, arguments.evaluation);
  command.add_option("-o,--output", arguments.output, "HTML file to write, .html or .htm")
      ->required()
      ->type_name("FILE");
  command.add_option("--title", arguments.title, "title of the report (default: with the name of the outcome)")
      ->type_name("TITLE");
}

}  // namespace

Command add_report(CLI::App& program) {
  return make_command<ReportArguments>(
      program, "report",
      "Write an HTML report on coverage and width on new rows: verdict, advice, numbers and pictures.",
      "widthwise report homes.safetensors april.csv -o april.html", declare, run);
}

}  // namespace widthwise::cli
