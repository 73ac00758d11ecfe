#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>

#include "command.hpp"

namespace widthwise::cli {

/// Declare an option whose value is one of a few words. Help and completion list them; the error for another word
/// suggests the nearest.
CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value,
                        const std::vector<std::string>& choices, const std::string& description);

/// Accepts only the digits of a 64-bit number. The parser alone would read -1 and numbers of more than 64 bits as the
/// maximum.
[[nodiscard]] CLI::Validator whole_number();

/// Declare an option that can be repeated, once per value.
CLI::Option* add_list(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                      const std::string& type, const std::string& description);
/// --columns, for the commands that copy their input.
CLI::Option* add_copied_columns(CLI::App& command, std::vector<std::string>& columns);

/// Declare an option whose value is a whole number of at least 0.
template <class Count>
CLI::Option* add_count(CLI::App& command, const std::string& name, Count& value, const std::string& description) {
  return command.add_option(name, value, description)->type_name("N")->check(whole_number());
}

/// Declare --level and --json.
CLI::Option* add_levels(CLI::App& command, std::vector<std::string>& values, const std::string& by_default);
CLI::Option* add_json(CLI::App& command, bool& json);

/// Declare --guarantee, which is read by Guarantee::parse.
CLI::Option* add_guarantee(CLI::App& command, std::string& value, const std::string& by_default);

/// Declare --population, which is read by population_of.
CLI::Option* add_population(CLI::App& command, std::string& value);

/// Declare --false-alarm-rate of the alarm for exchangeability.
CLI::Option* add_false_alarm_rate(CLI::App& command, std::string& value, const std::string& more = "");

/// Declare a command with a one-line purpose and an example.
CLI::App& add_command(CLI::App& program, const std::string& name, const std::string& purpose,
                      const std::string& example);

/// Make a command: declare(command, arguments) declares its options, run(arguments) runs after parsing.
template <class Arguments>
[[nodiscard]] Command make_command(CLI::App& program, const std::string& name, const std::string& purpose,
                                   const std::string& example, void (*declare)(CLI::App&, Arguments&),
                                   void (*run)(const Arguments&)) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& command = add_command(program, name, purpose, example);
  declare(command, *arguments);
  return {&command, [=] { run(*arguments); }};
}

/// The words that an option accepts, from its type name: "even|narrow|0..1" gives even and narrow.
[[nodiscard]] std::vector<std::string> choices_of(const CLI::Option& option);

/// The parts of a text between separators: one more than there are separators.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

// Convert text to values. All throw kInvalidArgument with a message that begins with the name of the option.

/// Levels in the order given, each once; "0.9,0.95" is two. Of another option, probabilities.
[[nodiscard]] std::vector<Level> parse_levels(const std::vector<std::string>& texts, const char* option = "--level");
[[nodiscard]] Guarantee parse_guarantee(const std::string& text);
[[nodiscard]] double parse_number(std::string_view option, std::string_view text);

}  // namespace widthwise::cli
