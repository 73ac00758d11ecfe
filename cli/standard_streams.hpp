#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <widthwise/io/table.hpp>

namespace widthwise::cli {

// In the arguments of a command, these names replace "-" and appear in messages. No table file has such a name, because
// the name has no extension.
inline constexpr const char* kStandardInput = "standard input";
inline constexpr const char* kStandardOutput = "standard output";

/// Accept "-" for standard input in an option that names a table to read.
CLI::Option* accept_standard_input(CLI::Option* option);

/// Accept "-" for standard output in an option that names a table to write.
CLI::Option* accept_standard_output(CLI::Option* option);

/// Keep the numbers of closed standard streams from files that the program opens, which would then be written to:
/// reading or writing such a stream is an error.
void reserve_standard_streams();

/// Open a table. Standard input is copied to an unnamed temporary file, once per process, because commands read tables
/// more than once. Its first bytes determine the format.
[[nodiscard]] std::unique_ptr<TableReader> open_table(const std::string& table, ReadOptions options = {});

/// Rows for standard output that wait in an unnamed temporary file, until what must be saved before them is saved.
class HeldRows {
 public:
  HeldRows();
  HeldRows(const HeldRows&) = delete;
  HeldRows& operator=(const HeldRows&) = delete;
  ~HeldRows();

  void write(std::span<const std::byte> bytes) const;  ///< append rows to the file
  /// Copy all rows to standard output.
  void release() const;

 private:
  int file_;
};

/// Open the table to write as CSV to `held`; results of the command go to stderr. `held` outlives the writer.
[[nodiscard]] std::unique_ptr<TableWriter> create_table(HeldRows& held, const TableReader& from,
                                                        std::vector<std::string> added);

/// Open the table to write. Rows for standard output are written as CSV; results of the command then go to stderr.
[[nodiscard]] std::unique_ptr<TableWriter> create_table(const std::string& table, const TableReader& from,
                                                        std::vector<std::string> added);

}  // namespace widthwise::cli
