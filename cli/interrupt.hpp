#pragma once

namespace widthwise::cli {

/// Make Ctrl-C (SIGINT) and SIGTERM set a flag instead of ending the program, so that temporary files are removed. If
/// the program has not ended after 3 seconds, because it waits inside a library, it removes its temporary files and
/// ends. A second signal ends the program immediately. A write to a closed pipe fails with EPIPE instead of raising
/// SIGPIPE.
void catch_interrupts();

/// The signal received, or 0.
[[nodiscard]] int interrupt();

/// Throw kCancelled if a signal was received.
void throw_if_interrupted();

}  // namespace widthwise::cli
