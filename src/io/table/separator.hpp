#pragma once

#include <optional>
#include <string_view>

namespace widthwise::internal {

/// The separator of a CSV file, from the beginning of its text: the header and the first rows. A comma if it splits all
/// of these lines into the same number of cells, at least two; otherwise the only one of semicolon, tab and vertical
/// bar that does. Empty if there is none, or more than one.
[[nodiscard]] std::optional<char> guess_separator(std::string_view text);

/// Whether a character can separate cells: not a quote, a line break or NUL, nor a part of numbers.
[[nodiscard]] bool is_separator(char letter);

}  // namespace widthwise::internal
