#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <widthwise/diagnostics.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/online.hpp>
#include <widthwise/plan.hpp>

#include "printable.hpp"
#include "text.hpp"

namespace widthwise::cli {

// ---- texts

using internal::count;
using internal::count_of;
using internal::percent;
using internal::percent_range;
using internal::printable;
using internal::significant;

/// part / whole; NaN of nothing.
[[nodiscard]] double share(std::uint64_t part, std::uint64_t whole);

/// "; did you mean 'price'?", or nothing when no name is near.
[[nodiscard]] std::string suggestion(std::string_view name, const std::vector<std::string>& names);

/// "a, b and c".
[[nodiscard]] std::string list(const std::vector<std::string>& words);

/// Rows of cells under each other, indented by two: the first column to the left, the others to the right.
class TextTable {
 public:
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string to_string() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// The text in lines of at most `width` characters, broken between words; lines after the first begin with `indent`
/// blanks.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width = 100, std::size_t indent = 0);

/// " with guarantee 0.95", for the intervals of a sentence; nothing for the marginal guarantee.
[[nodiscard]] std::string with_guarantee(const Guarantee& guarantee);

/// Of the range that coverage lies in, as commands show it.
inline constexpr double kSpreadConfidence = 0.95;

// ---- JSON

/// Keys stay in the order they were added.
using Json = nlohmann::ordered_json;

[[nodiscard]] Json to_json(const Proportion& proportion);
[[nodiscard]] Json to_json(const CoverageSpread& spread);
[[nodiscard]] Json to_json(const OnlineCoverage& coverage);
/// "marginal", or the confidence as a number.
[[nodiscard]] Json to_json(const Guarantee& guarantee);

/// Print one JSON object to stdout, in full precision; what is not finite is null. Characters that print would replace
/// are escaped, so that every value is exact.
void print_json(const Json& json);

// ---- stdout and stderr

/// Print a result to stdout. Names from files are part of it: what a terminal would obey is replaced, see
/// internal::printable. A newline is kept; a name needs printable() before it is put into a line.
void print(std::string_view text);

/// Print "widthwise COMMAND: text" to stderr, on one line: see internal::printable.
void complain(std::string_view text);

/// What complain and warn begin with: "widthwise", or "widthwise fit" once the command is known.
void set_speaker(std::string name);

/// Print "widthwise COMMAND: warning: text" to stderr.
void warn(std::string_view text);

}  // namespace widthwise::cli
