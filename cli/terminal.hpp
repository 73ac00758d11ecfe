#pragma once

#include <cstddef>
#include <optional>

namespace widthwise::cli {

/// The width of the terminal that a file descriptor writes to, or COLUMNS if that is set; empty if neither is known.
[[nodiscard]] std::optional<std::size_t> terminal_columns(int descriptor);

/// The part of one bar that the progress bars of this scope fill, in [0, 1], so that an operation of several stages has
/// one bar. Parts within parts are of these. The time left is shown in the last part only.
/// Thread safety: none.
class BarPart {
 public:
  BarPart(double from, double to);
  ~BarPart();
  BarPart(const BarPart&) = delete;
  BarPart& operator=(const BarPart&) = delete;

 private:
  double from_before_;
  double to_before_;
};

}  // namespace widthwise::cli
