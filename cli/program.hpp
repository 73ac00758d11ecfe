#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "command.hpp"

namespace widthwise::cli {

/// All commands of the program. Construct, parse, run: each once.
class Program {
 public:
  Program();

  /// Parse the arguments. Returns the exit code if help, the version or an error was printed and there is nothing to
  /// run.
  [[nodiscard]] std::optional<int> parse(int argc, const char* const* argv);

  /// The name of the parsed command.
  [[nodiscard]] std::string command() const;

  /// Run the command and print errors of the library. Returns the exit code.
  [[nodiscard]] int run() const;

 private:
  [[nodiscard]] const CLI::App& chosen() const;

  CLI::App app_;
  std::vector<Command> commands_;
};

/// Run the program: parse the arguments, run the command, print errors. Returns the exit code.
[[nodiscard]] int run_program(int argc, const char* const* argv);

}  // namespace widthwise::cli
