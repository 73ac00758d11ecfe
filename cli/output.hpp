#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "layout.hpp"
#include "printable.hpp"
#include "text.hpp"

namespace widthwise::cli {

// ---- texts

using internal::count;
using internal::count_of;
using internal::list;
using internal::percent;
using internal::percent_range;
using internal::printable;
using internal::significant;
using internal::wrapped;

/// "; did you mean 'price'?", or nothing when no name is near.
[[nodiscard]] std::string suggestion(std::string_view name, const std::vector<std::string>& names);

// ---- stdout and stderr

/// Print a result to stdout. Names from files are part of it: what a terminal would obey is replaced, see
/// internal::printable. A newline is kept; a name needs printable() before it is put into a line.
void print(std::string_view text);

/// Print all further results to stderr: standard output gets a table.
void print_to_stderr();

/// Whether standard output gets a table and is a terminal, where a progress bar would be in the way.
[[nodiscard]] bool shows_rows();

/// Print a result that is printable already.
void print_raw(std::string_view text);

/// The number of the system's error when a result could not be printed; 0 if all were.
[[nodiscard]] int output_error();

/// Print "widthwise COMMAND: text" to stderr, on one line: see internal::printable.
void complain(std::string_view text);

/// What complain and warn begin with: "widthwise", or "widthwise fit" once the command is known.
void set_speaker(std::string name);

/// Print "widthwise COMMAND: warning: text" to stderr.
void warn(std::string_view text);

// ---- JSON

/// Keys stay in the order they were added.
using Json = nlohmann::ordered_json;

/// Print one JSON object to stdout, in full precision; what is not finite is null. Characters that print would replace
/// are escaped, so that every value is exact.
void print_json(const Json& json);

/// Print a report of the library: as JSON, which is printable already, or as text.
template <class... Report>
void print_report(bool json, const Report&... report) {
  if (json) {
    print_raw(to_json(report...));
  } else {
    print(to_text(report...));
  }
}

}  // namespace widthwise::cli
