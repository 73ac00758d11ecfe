#include "options.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <widthwise/error.hpp>
#include <widthwise/exchangeability.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "output.hpp"

namespace widthwise::cli {
namespace {

[[noreturn]] void refuse(std::string_view option, const std::string& why) {
  throw internal::make_error(ErrorCode::kInvalidArgument, "{}: {}", option, why);
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value,
                        const std::vector<std::string>& choices, const std::string& description) {
  std::string type;
  for (const auto& choice : choices) type += (type.empty() ? "" : "|") + choice;
  const auto check = [choices](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return std::string();
    const std::string near = suggestion(text, choices);
    return fmt::format("'{}' is not one of {}{}", text, list(choices), near);
  };
  return command.add_option(name, value, description)->type_name(type)->check(CLI::Validator(check, ""));
}

CLI::Option* add_list(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                      const std::string& type, const std::string& description) {
  return command.add_option(name, values, description)->type_name(type)->allow_extra_args(false);
}

CLI::Option* add_copied_columns(CLI::App& command, std::vector<std::string>& columns) {
  return add_list(command, "--columns", columns, "A,B,...", "columns of the table to copy to the output; default: all");
}

CLI::Validator whole_number() {
  const auto check = [](const std::string& text) {
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) return fmt::format("'{}' is not a non-negative integer", text);
    if (internal::read_whole<std::uint64_t>(text)) return std::string();
    return fmt::format("{} is too large; expected at most {}", text, std::numeric_limits<std::uint64_t>::max());
  };
  return {check, ""};
}

CLI::Option* add_levels(CLI::App& command, std::vector<std::string>& values, const std::string& by_default) {
  return add_list(command, "--level", values, "L",
                  "confidence level, such as 0.9, or several: 0.9,0.95; default: " + by_default);
}

CLI::Option* add_guarantee(CLI::App& command, std::string& value, const std::string& by_default) {
  return command
      .add_option("--guarantee", value,
                  "marginal: coverage is at least the level on average over calibration sets; a confidence such as "
                  "0.95: for at least 95% of calibration sets; default: " +
                      by_default)
      ->type_name("marginal|0..1");
}

CLI::Option* add_population(CLI::App& command, std::string& value) {
  return add_choice(command, "--population", value, {"source", "target"},
                    "population of these rows, required if the model has weights. source: that of the fitting rows, "
                    "which count with their weights; target: that of the rows to predict, which calibrate without "
                    "weights and only with --replace");
}

CLI::Option* add_json(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "print one JSON object with numbers in full precision");
}

CLI::Option* add_false_alarm_rate(CLI::App& command, std::string& value, const std::string& more) {
  return command
      .add_option("--false-alarm-rate", value,
                  fmt::format("maximum probability that an alarm is ever raised if rows are exchangeable with the "
                              "calibration rows{}; default: {}",
                              more, ExchangeabilityOptions{}.false_alarm_rate))
      ->type_name("P");
}

CLI::App& add_command(CLI::App& program, const std::string& name, const std::string& purpose,
                      const std::string& example) {
  CLI::App& command = *program.add_subcommand(name, purpose);
  command.group("Commands");
  command.footer("Example:\n  " + example);
  return command;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  std::vector<std::string> words = split(option.get_type_name(), '|');
  if (words.size() < 2) return {};
  std::erase_if(words, [](const std::string& word) {
    return word.empty() || word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") != std::string::npos;
  });
  return words;
}

std::vector<Level> parse_levels(const std::vector<std::string>& texts, const char* option) {
  std::vector<Level> levels;
  for (const auto& text : texts) {
    for (const auto& part : split(text, ',')) {
      try {
        const Level level = Level::parse(part);
        if (std::find(levels.begin(), levels.end(), level) == levels.end()) levels.push_back(level);
      } catch (const Error&) {
        refuse(option,
               fmt::format("'{}' is not a number between 0 and 1, such as 0.9{}", part, Level::suggestion(part)));
      }
      if (levels.size() > kMaxLevels) refuse(option, fmt::format("expected at most {} values", kMaxLevels));
    }
  }
  return levels;
}

Guarantee parse_guarantee(const std::string& text) {
  try {
    return Guarantee::parse(text);
  } catch (const Error&) {
    refuse("--guarantee", fmt::format("'{}' is neither 'marginal' nor a confidence between 0 and 1, such as 0.95{}",
                                      text, Level::suggestion(text)));
  }
}

double parse_number(std::string_view option, std::string_view text) {
  const auto value = internal::read_whole<double>(text);
  if (!value) refuse(option, fmt::format("'{}' is not a number", text));
  return *value;
}

}  // namespace widthwise::cli
