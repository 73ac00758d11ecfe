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

  /// Read the arguments. Returns the exit code when help, the version or an error about the arguments has been printed
  /// and nothing is left to do.
  [[nodiscard]] std::optional<int> parse(int argc, const char* const* argv);

  /// The name of the command that was parsed.
  [[nodiscard]] std::string command() const;

  /// Run it; errors of the library are printed. Returns the exit code.
  [[nodiscard]] int run() const;

 private:
  [[nodiscard]] const CLI::App& chosen() const;

  CLI::App app_;
  std::vector<Command> commands_;
};

/// All of the program: parse the arguments, run the command, print errors. Returns the exit code.
[[nodiscard]] int run_program(int argc, const char* const* argv);

}  // namespace widthwise::cli
