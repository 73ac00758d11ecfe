#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/error.hpp>
#include <widthwise/plan.hpp>

#include "command.hpp"
#include "message.hpp"
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
  const std::string intervals = fmt::format("intervals of level {}{}", level.to_string(), with_guarantee(guarantee));
  const std::string range = fmt::format("between {} and {}", percent(spread.low, 2), percent(spread.high, 2));
  const std::string confidence = fmt::format("with {} confidence", percent(arguments.confidence, 0));
  if (from_tolerance) {
    return fmt::format("Calibrate with {} or more to keep the coverage of {} within {} of {}, {}: it will be {}.",
                       count_of(spread.rows, "row"), intervals, significant(arguments.tolerance), level.to_string(),
                       confidence, range);
  }
  if (spread.rows < minimum) {
    return fmt::format("Calibrated with {}, {} are infinite: no finite interval is valid with fewer than {}.",
                       count_of(spread.rows, "row"), intervals, count_of(minimum, "row"));
  }
  std::string text = fmt::format("Calibrated with {}, {} cover {} of new outcomes, {}; {} on average over calibrations",
                                 count_of(spread.rows, "row"), intervals, range, confidence, percent(spread.mean, 2));
  if (const std::optional<Level>& min_share = guarantee.confidence()) {
    text += fmt::format(" and at least {} of new outcomes in {} of calibrations", percent(level.value(), 0),
                        percent(min_share->value(), 0));
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
