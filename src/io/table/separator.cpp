#include "io/table/separator.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text.hpp"
#include "io/table/quotes.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kMaxLines = 100;

/// The number of cells in each of the first lines that are not empty. A last line without a line break may be cut off,
/// so it counts only if it is the header.
std::vector<std::size_t> cells_per_line(std::string_view text, char separator) {
  std::vector<std::size_t> counts;
  std::size_t cells = 1;
  bool in_quotes = false;
  bool cell_start = true;
  bool empty_line = true;
  for (const char letter : text) {
    const bool line_break = !in_quotes && (letter == '\n' || letter == '\r');
    if (line_break) {
      if (!empty_line) counts.push_back(cells);
      if (counts.size() == kMaxLines) return counts;
      cells = 1;
    } else if (letter == '"' && (in_quotes || cell_start)) {
      in_quotes = !in_quotes;
    } else if (letter == separator && !in_quotes) {
      ++cells;
    }
    empty_line = line_break;
    // "" inside quotes closes and reopens the cell, which has the same result.
    cell_start = !in_quotes && (line_break || letter == separator || letter == '"');
  }
  if (counts.empty() && !empty_line) counts.push_back(cells);
  return counts;
}

bool splits(std::string_view text, char separator) {
  const std::vector<std::size_t> counts = cells_per_line(text, separator);
  return !counts.empty() && counts.front() > 1 &&
         std::ranges::all_of(counts, [&](std::size_t cells) { return cells == counts.front(); });
}

}  // namespace

std::optional<char> guess_separator(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (splits(text, ',')) return ',';
  std::optional<char> found;
  for (const char candidate : {';', '\t', '|'}) {
    if (!splits(text, candidate)) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

bool is_separator(char letter) {
  constexpr std::string_view kInNumbers = "+-.eE";
  return letter != '"' && letter != '\n' && letter != '\r' && letter != '\0' && !is_digit(letter) &&
         kInNumbers.find(letter) == std::string_view::npos;
}

}  // namespace widthwise::internal
