#pragma once

#include <cstddef>
#include <string>

#include <CLI/CLI.hpp>

#include <widthwise/train/communicator.hpp>

namespace widthwise::cli {

/// Options of the processes that share a fit.
struct WorkerChoice {
  std::string tracker;  ///< HOST:PORT of the first worker; empty: no workers
  std::size_t rank = 0;
  std::size_t world = 0;
  bool own_tables = false;
  bool private_network = false;  ///< the user confirms that the network is private
  std::size_t timeout = 300;     ///< seconds

  [[nodiscard]] bool any() const { return !tracker.empty(); }
};

/// Declare --tracker, --rank, --world, --own-tables, --private-network, --timeout in this group.
void add_worker_options(CLI::App& command, WorkerChoice& choice, const std::string& group);

/// Throws kInvalidArgument for invalid options.
[[nodiscard]] CommunicatorOptions worker_options(const WorkerChoice& choice);

}  // namespace widthwise::cli
