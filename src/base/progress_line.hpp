#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace widthwise::internal {

/// The progress of an operation, for one line of a terminal.
struct ProgressLine {
  std::string_view stage;
  double share = 0;            ///< done, in [0, 1]
  std::string_view rate = {};  ///< "1,200 rows/s"; left out if the line is too long
  double seconds_left = 0;     ///< NaN if not known
};

/// "reading  [######......] 50%  1,200 rows/s  0:07 left", printable and of at most `columns` characters.
[[nodiscard]] std::string to_string(const ProgressLine& line, std::size_t columns);

/// The time left of an operation of which this share is done after so many seconds; NaN if that is too early to tell.
[[nodiscard]] double seconds_left(double elapsed, double share);

/// "1:05:09", "2:30", "0:07".
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace widthwise::internal
