#include "interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

#include <widthwise/error.hpp>

#include "base/file.hpp"

namespace widthwise::cli {
namespace {

std::atomic<int> signal_seen = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not wait");

/// Time to end in order after a signal.
constexpr unsigned kGraceSeconds = 3;

extern "C" void note_signal(int signal) {
  signal_seen = signal;
  alarm(kGraceSeconds);
}

/// The program did not end in time: it waits inside a library.
extern "C" void end_now(int /*signal*/) {
  constexpr std::string_view kMessage = "widthwise: interrupted\n";
  (void)!write(STDERR_FILENO, kMessage.data(), kMessage.size());
  internal::delete_temporary_files();
  _exit(128 + signal_seen);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  // The handler is removed after one signal. System calls are restarted, so reads and writes need not handle EINTR.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = end_now;
  sigaction(SIGALRM, &action, nullptr);
  // Writing to a closed pipe is an error instead, so that the program ends normally.
  action.sa_handler = SIG_IGN;
  action.sa_flags = 0;
  sigaction(SIGPIPE, &action, nullptr);
}

int interrupt() { return signal_seen; }

void throw_if_interrupted() {
  if (interrupt() != 0) throw Error(ErrorCode::kCancelled, "interrupted");
}

}  // namespace widthwise::cli
