#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

// Scripts are generated from the declared options, so they are always up to date.

namespace widthwise::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_file(const CLI::Option& option) {
  return option.get_type_name() == "FILE" || option.get_type_name() == "MODEL";
}

std::vector<const CLI::Option*> named_options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

std::vector<const CLI::Option*> positionals(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

// ---- bash

// The names of all options of a command.
std::string bash_options(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::Option* option : named_options(app)) {
    for (const auto& name : names_of(*option)) all.push_back(name);
  }
  return joined(all);
}

// One case per option that takes a value, which completes the value.
std::string bash_case(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : named_options(app)) {
    if (option->get_type_size() == 0) continue;
    const std::vector<std::string> choices = choices_of(*option);
    std::string values = "COMPREPLY=()";
    if (takes_file(*option)) values = "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))";
    if (!choices.empty()) values = "COMPREPLY=($(compgen -W '" + joined(choices) + "' -- \"$word\"))";
    for (const auto& name : names_of(*option)) {
      text.append("    '").append(app.get_name()).append(" ").append(name).append("') ");
      text.append(values).append("; return ;;\n");
    }
  }
  return text;
}

std::string bash_words(const CLI::App& app) {
  std::vector<std::string> choices;
  bool files = false;
  for (const CLI::Option* option : positionals(app)) {
    for (auto& choice : choices_of(*option)) choices.push_back(std::move(choice));
    files = files || takes_file(*option);
  }
  std::string text = "    " + app.get_name() + ") options='" + bash_options(app) + "' words='" + joined(choices) + "'";
  return text + (files ? " files=1" : "") + " ;;\n";
}

std::string bash_script(const CLI::App& program) {
  std::string commands;
  std::string values;
  std::string words;
  for (const CLI::App* command : program.get_subcommands({})) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    values += bash_case(*command);
    words += bash_words(*command);
  }
  return "# Completion of widthwise for bash:  source <(widthwise completion bash)\n"
         "_widthwise() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
         "  local options='' words='' files=''\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '" +
         commands + " " + bash_options(program) +
         "' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"$command $before\" in\n" +
         values +
         "  esac\n"
         "  case $command in\n" +
         words +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  elif [[ $files ]]; then\n"
         "    compopt -o filenames\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _widthwise widthwise\n";
}

// ---- zsh

// Text within '...[text]...' of a zsh _arguments specification.
std::string zsh_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '\n') {
      out += ' ';
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

std::string zsh_values(const CLI::Option& option) {
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) return "(" + joined(choices) + ")";
  return takes_file(option) ? "_files" : " ";
}

std::string zsh_arguments(const CLI::App& app) {
  std::string text = "        _arguments";
  for (const CLI::Option* option : named_options(app)) {
    const bool repeats = option->get_expected_max() > 1;
    for (const auto& name : names_of(*option)) {
      text += " \\\n          '" + std::string(repeats ? "*" : "") + name + "[" +
              zsh_escaped(option->get_description()) + "]";
      if (option->get_type_size() != 0) {
        text += ":" + zsh_escaped(option->get_type_name()) + ":" + zsh_values(*option);
      }
      text += "'";
    }
  }
  for (const CLI::Option* option : positionals(app)) {
    const char* const begin = option->get_expected_max() > 1 ? "'*:" : "':";
    text += std::string(" \\\n          ") + begin + zsh_escaped(option->get_name(true, false)) + ":" +
            zsh_values(*option) + "'";
  }
  return text + " ;;\n";
}

std::string zsh_script(const CLI::App& program) {
  std::string commands;
  std::string cases;
  for (const CLI::App* command : program.get_subcommands({})) {
    commands += "    '" + command->get_name() + ":" + zsh_escaped(command->get_description()) + "'\n";
    cases += "      " + command->get_name() + ")\n" + zsh_arguments(*command);
  }
  return "#compdef widthwise\n"
         "# Completion of widthwise for zsh:  widthwise completion zsh > a folder of $fpath, as _widthwise\n"
         "_widthwise() {\n"
         "  local -a commands\n"
         "  commands=(\n" +
         commands +
         "  )\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe command commands\n"
         "    compadd -- " +
         bash_options(program) +
         "\n"
         "  else\n"
         "    local command=$words[2]\n"
         "    shift words\n"
         "    ((CURRENT--))\n"
         "    case $command in\n" +
         cases +
         "    esac\n"
         "  fi\n"
         "}\n"
         "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
         "  _widthwise \"$@\"\n"
         "else\n"
         "  compdef _widthwise widthwise\n"
         "fi\n";
}

}  // namespace

Command add_completion(CLI::App& program) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command =
      add_command(program, "completion", "Print a shell completion script.", "widthwise completion bash");
  add_choice(command, "SHELL", *shell, {"bash", "zsh"}, "bash or zsh")->required();
  return {&command, [&program, shell] { print(*shell == "bash" ? bash_script(program) : zsh_script(program)); }};
}

}  // namespace widthwise::cli
