#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <widthwise/error.hpp>

namespace widthwise::internal {

/// Text from a file or from another library, shortened to one line for a message.
[[nodiscard]] std::string one_line(std::string_view text);

/// The same in quotes, shorter: a cell or a name.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Throw "homes.csv: what".
[[noreturn]] void refuse(ErrorCode code, const std::filesystem::path& file, const std::string& what);

/// Throw kBadData "homes.csv: column 'price', row 1234: 'abc' is not a number"; `row` counts from 0, the message
/// from 1. In a numeric column, the message says what to do with the cell.
[[noreturn]] void refuse_cell(const std::filesystem::path& file, std::string_view column, std::uint64_t row,
                              std::string_view cell, bool numeric_column);

/// Run `action`; convert other exceptions to an Error, such as Parquet's own, or std::bad_alloc for the sizes claimed
/// by a damaged file.
template <class Action>
auto with_errors_of(const std::filesystem::path& file, ErrorCode code, const Action& action) {
  try {
    return action();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    refuse(code, file, one_line(error.what()));
  }
}

}  // namespace widthwise::internal
