#pragma once

namespace widthwise::cli {

/// Let Ctrl-C (SIGINT) and SIGTERM raise a flag instead of ending the program at once, so that no temporary file is
/// left behind. A second one ends it at once. A write to a closed pipe fails with EPIPE instead of raising SIGPIPE.
void catch_interrupts();

/// The signal that came, or 0.
[[nodiscard]] int interrupt();

/// Throw kCancelled when a signal came.
void throw_if_interrupted();

}  // namespace widthwise::cli
