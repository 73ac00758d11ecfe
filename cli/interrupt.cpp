#include "interrupt.hpp"

#include <atomic>
#include <csignal>

#include <widthwise/error.hpp>

namespace widthwise::cli {
namespace {

std::atomic<int> signal_seen = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not wait");

extern "C" void note_signal(int signal) { signal_seen = signal; }

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  // The handler is removed after one signal. System calls are restarted, so reads and writes need not handle EINTR.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
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
