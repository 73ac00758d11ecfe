#pragma once

#include <cstddef>

namespace widthwise::internal {

/// The widest line that reports print: 80 characters, unless the program has set the width of its terminal.
[[nodiscard]] std::size_t text_width();

/// Set text_width for the whole process, within limits in which reports stay readable.
void set_text_width(std::size_t columns);

}  // namespace widthwise::internal
