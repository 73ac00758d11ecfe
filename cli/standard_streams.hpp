#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <widthwise/io/table.hpp>

namespace widthwise::cli {

// The arguments of a command have these names in place of "-", as messages show them. No table can have such a name
// because it has no file name ending.
inline constexpr const char* kStandardInput = "standard input";
inline constexpr const char* kStandardOutput = "standard output";

/// Let "-" be standard input as the value of an option that names a table to read.
CLI::Option* accept_standard_input(CLI::Option* option);

/// Let "-" be standard output as the value of an option that names a table to write.
CLI::Option* accept_standard_output(CLI::Option* option);

/// Keep the numbers of closed standard streams from files that the program opens, which would then be written to: reading
/// or writing such a stream is an error.
void reserve_standard_streams();

/// Open a table. Standard input is copied to a temporary file without a name, once per process, because commands read
/// their tables more than once; its first bytes determine the format.
[[nodiscard]] std::unique_ptr<TableReader> open_table(const std::string& table, ReadOptions options = {});

/// Open the table to write. Rows for standard output are written as CSV; results of the command then go to stderr.
[[nodiscard]] std::unique_ptr<TableWriter> create_table(const std::string& table, const TableReader& from,
                                                        std::vector<std::string> added);

}  // namespace widthwise::cli
