#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/layout.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise::cli {

// ---- text

using internal::count;
using internal::count_of;
using internal::list;
using internal::percent;
using internal::percent_range;
using internal::printable;
using internal::significant;
using internal::wrapped;

/// "; did you mean 'price'?", or empty if no name is similar.
[[nodiscard]] std::string suggestion(std::string_view name, const std::vector<std::string>& names);

// ---- stdout and stderr

/// Print a result to stdout. The text may contain names from files, so terminal control characters are replaced
/// (internal::printable). Newlines are kept; apply printable() to a name before inserting it into a line.
void print(std::string_view text);

/// Print all further results to stderr, because a table is written to standard output.
void print_to_stderr();

/// Whether standard output gets a table and is a terminal, where a progress bar would be in the way.
[[nodiscard]] bool shows_rows();

/// Print a result that is already printable.
void print_raw(std::string_view text);

/// The errno of a result that could not be printed; 0 if all results were printed.
[[nodiscard]] int output_error();

/// Print "widthwise COMMAND: text" to stderr, on one line (internal::printable).
void complain(std::string_view text);

/// Set the prefix of complain and warn: "widthwise", or "widthwise fit" after the command has been parsed.
void set_speaker(std::string name);

/// Print "widthwise COMMAND: warning: text" to stderr.
void warn(std::string_view text);

// ---- JSON

/// Keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

/// Print one JSON object to stdout, in full precision; non-finite numbers are null. Characters that print would replace
/// are escaped, so every value is exact.
void print_json(const Json& json);

/// Print a report of the library, as JSON, which is already printable, or as text.
template <class... Report>
void print_report(bool json, const Report&... report) {
  if (json) {
    print_raw(to_json(report...));
  } else {
    print(to_text(report...));
  }
}

}  // namespace widthwise::cli
