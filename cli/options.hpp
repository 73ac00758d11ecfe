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

/// Declare an option whose value is one of a few words. Help and completion show them; a misspelt one is an error that
/// suggests the nearest.
CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value,
                        const std::vector<std::string>& choices, const std::string& description);

/// Accepts digits alone, of a number of 64 bits: the parser would take -1, and what is larger, for the greatest number
/// there is.
[[nodiscard]] CLI::Validator whole_number();

/// Declare an option that may come several times, once for each value.
CLI::Option* add_list(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                      const std::string& type, const std::string& description);
/// --columns, for the commands that copy their input.
CLI::Option* add_copied_columns(CLI::App& command, std::vector<std::string>& columns);

/// Declare an option whose value is a whole number, from 0 on.
template <class Count>
CLI::Option* add_count(CLI::App& command, const std::string& name, Count& value, const std::string& description) {
  return command.add_option(name, value, description)->type_name("N")->check(whole_number());
}

/// Declare --level, --json.
CLI::Option* add_levels(CLI::App& command, std::vector<std::string>& values, const std::string& by_default);
CLI::Option* add_json(CLI::App& command, bool& json);

/// Declare --guarantee, which Guarantee::parse reads.
CLI::Option* add_guarantee(CLI::App& command, std::string& value, const std::string& by_default);

/// Declare a command with one line on what it is for, and an example of its use.
CLI::App& add_command(CLI::App& program, const std::string& name, const std::string& purpose,
                      const std::string& example);

/// Make a command: declare(command, arguments) declares its options, run(arguments) runs once they are read.
template <class Arguments>
[[nodiscard]] Command make_command(CLI::App& program, const std::string& name, const std::string& purpose,
                                   const std::string& example, void (*declare)(CLI::App&, Arguments&),
                                   void (*run)(const Arguments&)) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& command = add_command(program, name, purpose, example);
  declare(command, *arguments);
  return {&command, [=] { run(*arguments); }};
}

/// The words an option's value may be, from its type name: "even|narrow|0..1" gives even and narrow.
[[nodiscard]] std::vector<std::string> choices_of(const CLI::Option& option);

/// The parts of a text between separators: one more than there are separators.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

// Texts to values. All throw kInvalidArgument, beginning with the option's name.

/// Levels in the order given, each once; "0.9,0.95" is two. Of another option, probabilities.
[[nodiscard]] std::vector<Level> parse_levels(const std::vector<std::string>& texts, const char* option = "--level");
[[nodiscard]] Guarantee parse_guarantee(const std::string& text);
[[nodiscard]] double parse_number(std::string_view option, std::string_view text);

}  // namespace widthwise::cli
