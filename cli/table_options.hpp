#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <widthwise/io/table.hpp>

namespace widthwise::cli {

/// How the tables of a command are read.
struct TableOptions {
  std::string separator;             ///< as text; empty: guessed
  std::vector<std::string> missing;  ///< texts of the option, each of one or several markers

  /// Throws kInvalidArgument, beginning with the option's name.
  [[nodiscard]] ReadOptions read_options(ReadOptions options = {}) const;
};

/// Declare --separator and --missing; `group` is their heading in help, that of other options if empty.
void add_table_options(CLI::App& command, TableOptions& options, const std::string& group = "");

}  // namespace widthwise::cli
