#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/report.hpp>

#include "base/message.hpp"
#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace widthwise::cli {
namespace {

struct PlanArguments {
  std::vector<std::string> level = {"0.9"};
  double tolerance = 0;
  std::uint64_t rows = 0;
  double confidence = 0.95;
  std::string guarantee = Guarantee().to_string();
  bool json = false;
};

void run(const PlanArguments& arguments, bool from_tolerance) {
  const Guarantee guarantee = parse_guarantee(arguments.guarantee);
  std::vector<CalibrationPlan> plans;
  for (const Level& level : parse_levels(arguments.level)) {
    plans.push_back(from_tolerance
                        ? CalibrationPlan::for_tolerance(level, arguments.tolerance, arguments.confidence, guarantee)
                        : CalibrationPlan::for_rows(level, arguments.rows, arguments.confidence, guarantee));
  }
  if (arguments.json) {
    print_raw(to_json(plans));
    return;
  }
  for (const CalibrationPlan& plan : plans) print(to_text(plan));
}

}  // namespace

Command add_plan(CLI::App& program) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App& command =
      add_command(program, "plan", "Plan the calibration set: rows for a tolerance, or the coverage N rows give.",
                  "widthwise plan --level 0.9 --tolerance 0.01");
  add_levels(command, arguments->level, "0.9");
  CLI::Option* tolerance =
      command
          .add_option(
              "--tolerance", arguments->tolerance,
              "largest deviation of the coverage from the level; prints the number of calibration rows it needs")
          ->type_name("T");
  CLI::Option* rows =
      add_count(command, "--rows", arguments->rows, "number of calibration rows; prints the coverage they give");
  command
      .add_option("--confidence", arguments->confidence,
                  "probability, over random calibration sets, that the printed range of coverage holds")
      ->type_name("C")
      ->capture_default_str();
  add_guarantee(command, arguments->guarantee, "marginal");
  add_json(command, arguments->json);
  return {&command, [=] {
            if (tolerance->empty() == rows->empty()) {
              throw Error(ErrorCode::kInvalidArgument, "expected exactly one of --tolerance and --rows");
            }
            run(*arguments, rows->empty());
          }};
}

}  // namespace widthwise::cli
