#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/error.hpp>
#include <widthwise/plan.hpp>

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

std::string words(const Level& level, const Guarantee& guarantee, const CoverageSpread& spread,
                  const PlanArguments& arguments, bool from_tolerance) {
  const std::uint64_t minimum = guarantee.min_rows(level);
  const std::string intervals = "intervals of level " + level.to_string() + with_guarantee(guarantee);
  const std::string range = "between " + percent(spread.low, 2) + " and " + percent(spread.high, 2);
  const std::string confidence = "with " + percent(arguments.confidence, 0) + " confidence";
  if (from_tolerance) {
    return "Calibrate with " + count_of(spread.rows, "row") + " or more to keep the coverage of " + intervals +
           " within " + significant(arguments.tolerance) + " of " + level.to_string() + ", " + confidence +
           ": it will be " + range + ".";
  }
  if (spread.rows < minimum) {
    return "Calibrated with " + count_of(spread.rows, "row") + ", " + intervals +
           " are infinite: no finite interval is valid with fewer than " + count_of(minimum, "row") + ".";
  }
  std::string text = "Calibrated with " + count_of(spread.rows, "row") + ", " + intervals + " cover " + range +
                     " of new outcomes, " + confidence + "; " + percent(spread.mean, 2) +
                     " on average over calibrations";
  if (const std::optional<Level>& min_share = guarantee.confidence()) {
    text += " and at least " + percent(level.value(), 0) + " of new outcomes in " + percent(min_share->value(), 0) +
            " of calibrations";
  }
  return text + ".";
}

void run(const PlanArguments& arguments, bool from_tolerance) {
  const Guarantee guarantee = parse_guarantee(arguments.guarantee);
  Json answers = Json::array();
  for (const Level& level : parse_levels(arguments.level)) {
    const std::uint64_t rows = from_tolerance
                                   ? rows_for_tolerance(level, arguments.tolerance, arguments.confidence, guarantee)
                                   : arguments.rows;
    const CoverageSpread spread = coverage_spread(level, rows, arguments.confidence, guarantee);
    if (arguments.json) {
      Json answer = {{"level", level.value()}, {"guarantee", to_json(guarantee)}, {"confidence", arguments.confidence}};
      if (from_tolerance) answer["tolerance"] = arguments.tolerance;
      answer["min_rows"] = guarantee.min_rows(level);
      answer.update(to_json(spread));
      answers.push_back(std::move(answer));
      continue;
    }
    print(wrapped(words(level, guarantee, spread, arguments, from_tolerance)) + "\n");
  }
  if (arguments.json) print_json(answers.size() == 1 ? answers.front() : answers);
}

}  // namespace

Command add_plan(CLI::App& program) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App& command =
      add_command(program, "plan", "Say how many calibration rows a promise needs, or what rows promise.",
                  "widthwise plan --level 0.9 --tolerance 0.01");
  add_levels(command, arguments->level, "0.9");
  CLI::Option* tolerance = command
                               .add_option("--tolerance", arguments->tolerance,
                                           "how far coverage may be from the level: how many rows does that need?")
                               ->type_name("T");
  CLI::Option* rows =
      add_count(command, "--rows", arguments->rows, "calibration rows there are: what coverage do they promise?");
  command
      .add_option("--confidence", arguments->confidence, "how sure to be, over the luck of drawing calibration rows")
      ->type_name("C")
      ->capture_default_str();
  add_guarantee(command, arguments->guarantee, "marginal");
  add_json(command, arguments->json);
  return {&command, [=] {
            if (tolerance->empty() == rows->empty()) {
              throw Error(ErrorCode::kInvalidArgument, "give either --tolerance or --rows");
            }
            run(*arguments, rows->empty());
          }};
}

}  // namespace widthwise::cli
