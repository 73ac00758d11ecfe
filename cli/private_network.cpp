#include "private_network.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include <widthwise/error.hpp>

#include "message.hpp"

namespace widthwise::cli {
namespace {

[[noreturn]] void refuse(const std::string& step, int error) {
  throw internal::make_error(
      ErrorCode::kInvalidArgument,
      "--workers: cannot create a private network for the workers ({}: {}); without one, they listen on every network "
      "interface and accept any connection. Add --private-network if only trusted programs can reach their ports",
      step, std::generic_category().message(error));
}

/// Sent to the parent by the process that creates the namespaces.
struct Outcome {
  const char* failed = nullptr;  ///< the step that failed, a string literal of this program
  int error = 0;
  bool own_user = false;  ///< a user namespace was created as well
};

/// Lines that map the user and the group to themselves in a user namespace.
struct Identity {
  std::string user;
  std::string group;
};

std::string same(unsigned id) { return fmt::format("{} {} 1", id, id); }

bool write_file(const char* file, std::string_view text) {
  const int descriptor = open(file, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool written = write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(descriptor);
  return written;
}

/// Start the loopback interface, which is down in a new namespace.
bool start_loopback() {
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) return false;
  ifreq request = {};
  constexpr std::string_view kLoopback = "lo";
  std::memcpy(request.ifr_name, kLoopback.data(), kLoopback.size());
  request.ifr_flags = IFF_UP;
  const bool started = ioctl(any, SIOCSIFFLAGS, &request) == 0;
  close(any);
  return started;
}

/// Runs in a child with one thread; makes only system calls.
Outcome create_namespaces(const Identity& identity) {
  Outcome outcome;
  const auto fail = [&](const char* step) {
    outcome.failed = step;
    outcome.error = errno;
    return outcome;
  };
  outcome.own_user = unshare(CLONE_NEWNET) != 0;
  if (outcome.own_user) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return fail("unshare");
    if (!write_file("/proc/self/setgroups", "deny")) return fail("setgroups");
    if (!write_file("/proc/self/uid_map", identity.user)) return fail("uid_map");
    if (!write_file("/proc/self/gid_map", identity.group)) return fail("gid_map");
  }
  if (!start_loopback()) return fail("loopback");
  return outcome;
}

/// Report to the parent, and keep the namespaces alive until it closes its end.
[[noreturn]] void hold_namespaces(const Identity& identity, int end) {
  const Outcome outcome = create_namespaces(identity);
  char nothing = 0;
  const bool told = write(end, &outcome, sizeof(outcome)) > 0;
  _exit(told && read(end, &nothing, 1) == 0 ? 0 : 1);
}

Handle open_namespace(pid_t process, const char* kind) {
  const std::string file = fmt::format("/proc/{}/ns/{}", process, kind);
  return Handle(open(file.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

void Handle::close() {
  if (is_open()) ::close(std::exchange(number_, -1));
}

PrivateNetwork::PrivateNetwork() {
  // A process with several threads cannot create a user namespace, and Arrow starts a thread when it is loaded. A child
  // creates the namespaces and lives until they are opened here.
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) refuse("socketpair", errno);
  Handle ours(ends[0]);
  Handle theirs(ends[1]);
  const Identity identity = {same(geteuid()), same(getegid())};
  const pid_t child = fork();
  if (child < 0) refuse("fork", errno);
  if (child == 0) {
    ours.close();
    hold_namespaces(identity, theirs.number());
  }
  theirs.close();
  Outcome outcome;
  if (read(ours.number(), &outcome, sizeof(outcome)) != sizeof(outcome)) outcome = {"fork", ECHILD};
  if (outcome.failed == nullptr) {
    network_ = open_namespace(child, "net");
    if (network_.is_open() && outcome.own_user) user_ = open_namespace(child, "user");
    if (!network_.is_open() || user_.is_open() != outcome.own_user) outcome = {"/proc", errno};
  }
  ours.close();
  waitpid(child, nullptr, 0);
  if (outcome.failed != nullptr) refuse(outcome.failed, outcome.error);
}

bool PrivateNetwork::enter() const noexcept {
  return (!user_.is_open() || setns(user_.number(), CLONE_NEWUSER) == 0) && setns(network_.number(), CLONE_NEWNET) == 0;
}

}  // namespace widthwise::cli
