#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <widthwise/train/communicator.hpp>

namespace widthwise::cli {

/// What the user said about the processes that share a fit.
struct WorkerChoice {
  std::size_t start = 0;  ///< processes to start here; 0: none
  std::string tracker;    ///< HOST:PORT of the first worker; empty: no workers
  std::size_t rank = 0;
  std::size_t world = 0;
  bool own_tables = false;
  bool private_network = false;  ///< the user vouches for the network of the workers
  std::size_t timeout = 300;     ///< seconds

  [[nodiscard]] bool any() const { return !tracker.empty(); }
};

/// Declare --workers, --tracker, --rank, --world, --own-tables, --private-network, --timeout in this group.
void add_worker_options(CLI::App& command, WorkerChoice& choice, const std::string& group);

/// Throws kInvalidArgument for options that do not go together.
[[nodiscard]] CommunicatorOptions worker_options(const WorkerChoice& choice);

/// Run the command of this process as several workers on this machine; return when all have ended.
/// Unless the user vouches for the network, they are in one that only they share.
/// Ends the program with the code of the one that failed first, which has said why, or says which was killed.
void run_workers(const WorkerChoice& choice, bool threads_given);

}  // namespace widthwise::cli
