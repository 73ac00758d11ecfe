#include "workers.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/train/threads.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "message.hpp"
#include "options.hpp"
#include "output.hpp"
#include "private_network.hpp"
#include "text.hpp"

namespace widthwise::cli {
namespace {

constexpr const char* kHere = "127.0.0.1";
constexpr std::uint16_t kAnyPort = 9091;  // free, because a new private network has no listeners

/// A free port of this machine.
std::uint16_t free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool found = listener >= 0 && bind(listener, any, length) == 0 && getsockname(listener, any, &length) == 0;
  if (listener >= 0) close(listener);
  if (!found) throw Error(ErrorCode::kLostWorker, "no free port for the workers");
  return ntohs(address.sin_port);
}

/// The arguments of this process, without --workers.
std::vector<std::string> own_arguments() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(in, argument, '\0');) {
    if (argument == "--workers") {
      std::getline(in, argument, '\0');
    } else if (!argument.starts_with("--workers=")) {
      arguments.push_back(argument);
    }
  }
  return arguments;
}

/// Several processes of this program. The destructor kills those that are still running.
class Workers {
 public:
  /// Start the workers in `network`, or in the network of this process if it is null.
  Workers(const std::vector<std::string>& arguments, std::size_t count, const PrivateNetwork* network) {
    for (std::size_t rank = 0; rank < count; ++rank) {
      auto with_rank = arguments;
      with_rank.insert(with_rank.end(), {"--rank", std::to_string(rank)});
      start(with_rank, rank == 0, network);
    }
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    signal_all(SIGKILL);
    for (const Worker& worker : workers_) {
      if (!worker.status) waitpid(worker.process, nullptr, 0);
      if (worker.messages >= 0) close(worker.messages);
    }
  }

  /// Record the workers that have ended. Returns the rank of the first that failed, if any.
  std::optional<std::size_t> look() {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      Worker& worker = workers_[rank];
      read_messages(worker);
      int status = 0;
      if (worker.status || waitpid(worker.process, &status, WNOHANG) != worker.process) continue;
      worker.status = status;
      read_messages(worker);
      if (status != 0) failed_.push_back(rank);
    }
    return failed_.empty() ? std::nullopt : std::optional(failed_.front());
  }

  [[nodiscard]] bool all_ended() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.status.has_value(); });
  }

  void signal_all(int signal) {
    for (Worker& worker : workers_) {
      if (worker.status) continue;
      kill(worker.process, signal);
      worker.signalled = true;
    }
  }

  /// Print the reason for the failure, unless the first worker has printed it, and return the exit code.
  [[nodiscard]] int conclude() const {
    for (const std::size_t rank : failed_) {
      const int status = workers_[rank].status.value_or(0);
      if (WIFSIGNALED(status) && !workers_[rank].signalled) {
        complain(
            fmt::format("worker {} of {} was killed (signal {}); no model was written; rerun the same command to "
                        "resume from the last checkpoint",
                        rank, workers_.size(), WTERMSIG(status)));
        return kLostWorkerExit;
      }
    }
    // The cause is a worker that failed for a reason other than a lost worker.
    const auto code_of = [&](std::size_t rank) {
      const int status = workers_[rank].status.value_or(0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : kLostWorkerExit;
    };
    const auto cause = std::find_if(failed_.begin(), failed_.end(),
                                    [&](std::size_t rank) { return code_of(rank) != kLostWorkerExit; });
    const std::size_t rank = cause == failed_.end() ? failed_.front() : *cause;
    if (workers_[0].status == 0 || code_of(0) == kLostWorkerExit) std::cerr << workers_[rank].text;
    return code_of(rank);
  }

 private:
  struct Worker {
    pid_t process = 0;
    int messages = -1;  ///< pipe from its stderr; -1 for the first worker, which inherits stderr
    std::string text;
    std::optional<int> status;
    bool signalled = false;  ///< by this process
  };

  void start(const std::vector<std::string>& arguments, bool first, const PrivateNetwork* network) {
    std::vector<char*> pointers;
    for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    std::array<int, 2> pipe_ends = {-1, -1};
    if (!first && pipe2(pipe_ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      throw Error(ErrorCode::kLostWorker, "cannot start the workers: too many open files");
    }
    Worker worker;
    worker.process = fork();
    if (worker.process == 0) become(pointers.data(), first ? -1 : pipe_ends[1], network);
    if (!first) close(pipe_ends[1]);
    worker.messages = pipe_ends[0];
    if (worker.process < 0) throw Error(ErrorCode::kLostWorker, "cannot start the workers");
    workers_.push_back(std::move(worker));
  }

  /// Runs in a child of a process that may have threads, so it makes only system calls.
  [[noreturn]] static void become(char* const* arguments, int messages, const PrivateNetwork* network) {
    if (messages >= 0) {
      dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
      dup2(messages, STDERR_FILENO);
    }
    if (network == nullptr || network->enter()) execve("/proc/self/exe", arguments, environ);
    constexpr std::string_view kFailure = "widthwise fit: cannot start a worker\n";
    (void)!write(STDERR_FILENO, kFailure.data(), kFailure.size());
    _exit(kLostWorkerExit);
  }

  static void read_messages(Worker& worker) {
    if (worker.messages < 0) return;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = read(worker.messages, buffer.data(), buffer.size())) > 0;) {
      worker.text.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }

  std::vector<Worker> workers_;
  std::vector<std::size_t> failed_;  // in the order in which they ended
};

}  // namespace

void add_worker_options(CLI::App& command, WorkerChoice& choice, const std::string& group) {
  CLI::Option* const workers =
      add_count(command, "--workers", choice.start,
                "number of worker processes to start on this machine; they share the row groups of Parquet files")
          ->group(group);
  CLI::Option* const tracker =
      command
          .add_option("--tracker", choice.tracker,
                      "run as one of several workers on any machines: address of worker 0 and a free port there")
          ->type_name("HOST:PORT")
          ->group(group)
          ->excludes(workers);
  CLI::Option* const rank =
      add_count(command, "--rank", choice.rank, "number of this worker, starting at 0")->group(group);
  CLI::Option* const world = add_count(command, "--world", choice.world, "total number of workers")->group(group);
  tracker->needs(rank)->needs(world);
  rank->needs(tracker);
  world->needs(tracker);
  command
      .add_flag("--own-tables", choice.own_tables,
                "read all rows of the tables, which hold only rows of this worker; default: workers share the row "
                "groups of the same tables")
      ->group(group)
      ->needs(tracker);
  command
      .add_flag(
          "--private-network", choice.private_network,
          "confirm that only trusted programs can reach the ports of the workers, because any connection can disturb "
          "or stop the fit. Required by --tracker; required by --workers only if it cannot create a private network")
      ->group(group);
  add_count(command, "--timeout", choice.timeout,
            "seconds to wait for a worker; must exceed the time to read its rows or to train one iteration")
      ->capture_default_str()
      ->group(group);
}

CommunicatorOptions worker_options(const WorkerChoice& choice) {
  if (!choice.private_network) {
    throw Error(ErrorCode::kInvalidArgument,
                "--tracker: workers listen on every network interface and accept any connection; add --private-network "
                "if only trusted programs can reach their ports");
  }
  CommunicatorOptions options;
  const auto colon = choice.tracker.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : internal::read_whole<std::uint16_t>(std::string_view(choice.tracker).substr(colon + 1));
  if (!port || *port == 0 || colon == 0) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "--tracker: '{}' does not have the form HOST:PORT, such as 10.0.0.1:9091",
                               choice.tracker);
  }
  options.host = choice.tracker.substr(0, colon);
  options.port = *port;
  options.rank = choice.rank;
  options.workers = choice.world;
  options.timeout = std::chrono::seconds(choice.timeout);
  options.stuck = [](const std::string& complaint) {
    complain(complaint);
    std::_Exit(kLostWorkerExit);
  };
  if (choice.world == 0 || choice.rank >= choice.world) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "--rank: {} is out of range for {} workers; expected 0 to one less than --world",
                               choice.rank, choice.world);
  }
  return options;
}

void run_workers(const WorkerChoice& choice, bool threads_given) {
  std::vector<std::string> arguments = own_arguments();
  std::optional<PrivateNetwork> network;
  if (!choice.private_network) {
    network.emplace();
    arguments.emplace_back("--private-network");
  }
  arguments.insert(arguments.end(), {"--tracker", kHere + (fmt::format(":{}", network ? kAnyPort : free_port())),
                                     "--world", std::to_string(choice.start)});
  if (!threads_given) {
    const std::size_t threads = available_processors() / choice.start;
    arguments.insert(arguments.end(), {"--threads", std::to_string(std::max<std::size_t>(1, threads))});
  }
  Workers workers(arguments, choice.start, network ? &*network : nullptr);
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> deadline;  // of the other workers after one has failed
  bool told = false;
  constexpr unsigned kLastWordsSeconds = 5;
  while (!workers.all_ended()) {
    if (workers.look() && !deadline) deadline = Clock::now() + std::chrono::seconds(kLastWordsSeconds);
    if (deadline && Clock::now() > *deadline) workers.signal_all(SIGKILL);
    // Ctrl-C reaches all processes of a terminal; other signals reach only this one.
    if (interrupt() != 0 && !told) {
      extend_grace(kLastWordsSeconds * 2);
      workers.signal_all(SIGTERM);
      deadline = Clock::now() + std::chrono::seconds(kLastWordsSeconds);
      told = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw_if_interrupted();
  if (workers.look()) throw ExitWith{workers.conclude()};
}

}  // namespace widthwise::cli
