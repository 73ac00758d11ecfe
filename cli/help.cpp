#include "help.hpp"

#include <algorithm>
#include <vector>

#include "base/layout.hpp"
#include "base/message.hpp"
#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace widthwise::cli {
namespace {

constexpr std::size_t kNameColumn = 28;

// A name with its description on the same line, or below if the name is long.
std::string entry(const std::string& name, const std::string& description) {
  std::string text = "  " + name;
  if (text.size() + 2 > kNameColumn) text += "\n";
  const std::size_t line_start = text.find('\n') == std::string::npos ? 0 : text.size();
  text += std::string(kNameColumn - (text.size() - line_start), ' ');
  return fmt::format("{}{}\n", text, wrapped(description, kNameColumn));
}

/// A command line on several lines, broken before options.
std::string broken_command(const std::string& line, std::size_t width) {
  constexpr std::string_view kNextLine = " \\\n      ";
  std::string text;
  std::size_t column = 0;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(" -", begin + 1), line.size());
    if (column > 0 && column + (end - begin) + 2 > width) {
      text += kNextLine;
      column = kNextLine.size() - 3;
      ++begin;  // the blank
    }
    text += line.substr(begin, end - begin);
    column += end - begin;
    begin = end;
  }
  return text;
}

/// The help with long lines broken: in the section of examples between options, elsewhere between words.
std::string within_width(const std::string& help) {
  const std::size_t width = internal::text_width();
  std::string text;
  bool is_example = false;
  for (std::size_t begin = 0; begin < help.size();) {
    const std::size_t end = std::min(help.find('\n', begin), help.size());
    const std::string line = help.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with(' ')) is_example = line == "Example:";
    if (line.size() <= width) {
      text += line;
    } else if (is_example) {
      text += broken_command(line, width);
    } else {
      // Lines of a list, as that of exit codes, continue below its second column.
      std::size_t indent = line.find_first_not_of(' ');
      if (line.find("  ", indent) != std::string::npos) indent = line.find_first_not_of(' ', line.find("  ", indent));
      text += line.substr(0, indent) + wrapped(line.substr(indent), indent);
    }
    text += '\n';
  }
  return text;
}

class HelpFormatter final : public CLI::Formatter {
 public:
  // The base class leaves two empty lines between groups.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (auto at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
    return within_width(text);
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string text = "\nUsage: " + name;
    if (app->get_parent() == nullptr) return text + " COMMAND ...\n";
    const auto options = [app](auto&& wanted) { return app->get_options(wanted); };
    for (const CLI::Option* option : options([](const CLI::Option* o) { return o->get_positional(); })) {
      const std::string argument = option->get_name(true, false);
      text += option->get_required() ? " " + argument : fmt::format(" [{}]", argument);
    }
    const auto required = [](const CLI::Option* o) { return !o->get_positional() && o->get_required(); };
    for (const CLI::Option* option : options(required)) {
      const auto& short_names = option->get_snames();
      const std::string option_name = short_names.empty() ? option->get_name() : "-" + short_names.front();
      text += fmt::format(" {} {}", option_name, option->get_type_name());
    }
    return text + " [options]\n";
  }

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string text = fmt::format("\n{}:\n", group);
    for (const CLI::Option* option : options) text += make_option(option, is_positional);
    return text;
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = option->get_name(is_positional, !is_positional);
    if (const auto comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
    if (!is_positional && option->get_type_size() != 0) name += " " + option->get_type_name();
    std::string description = option->get_description();
    if (!option->get_default_str().empty()) description += "; default: " + option->get_default_str();
    return entry(name, description);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }
};

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("Positionals", "Arguments");
  return formatter;
}

Command add_help(CLI::App& program) {
  auto name = std::make_shared<std::string>();
  CLI::App& command = add_command(program, "help", "Print the help of a command.", "widthwise help fit");
  std::vector<std::string> names;
  for (const CLI::App* known : program.get_subcommands({})) names.push_back(known->get_name());
  add_choice(command, "COMMAND", *name, names, "command to explain; default: the program");
  return {&command, [&program, name] {
            // App::help of the program would print the help of the parsed command, which is `help`.
            print(name->empty()
                      ? program.get_formatter()->make_help(&program, program.get_name(), CLI::AppFormatMode::Normal)
                      : program.get_subcommand(*name)->help(program.get_name()));
          }};
}

std::string usage_error(const CLI::App& program, const CLI::App& command, const CLI::ParseError& error) {
  const bool at_top = &command == &program;
  const std::string see =
      fmt::format("; see '{}{} --help'", program.get_name(), at_top ? "" : " " + command.get_name());
  const std::vector<std::string> unknown = program.remaining(true);
  // Report an unknown option first: most other errors follow from it, such as a missing required option.
  for (const std::string& word : unknown) {
    if (!is_option(word)) continue;
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
      for (const auto& long_name : option->get_lnames()) names.push_back("--" + long_name);
    }
    const std::string near = suggestion(name, names);
    return fmt::format("unknown option '{}'{}", name, near.empty() ? see : near);
  }
  if (!unknown.empty() && at_top) {
    std::vector<std::string> names;
    for (const CLI::App* known : program.get_subcommands({})) names.push_back(known->get_name());
    const std::string near = suggestion(unknown.front(), names);
    return fmt::format("unknown command '{}'{}", unknown.front(), near.empty() ? see : near);
  }
  if (!unknown.empty()) return fmt::format("unexpected argument '{}'{}", unknown.front(), see);
  if (at_top) return "no command given" + see;
  const std::string message = error.what();
  return message.ends_with('?') ? message : message + see;
}

}  // namespace widthwise::cli
