#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <widthwise/train/xgboost.hpp>

namespace widthwise::cli {

/// What the user said about the processes that share a fit.
struct TeamChoice {
  std::size_t start = 0;  ///< processes to start here; 0: none
  std::string tracker;    ///< HOST:PORT of the first worker; empty: no team
  std::size_t rank = 0;
  std::size_t world = 0;
  bool own_tables = false;
  bool private_network = false;  ///< the user vouches for the network of the workers
  std::size_t timeout = 300;     ///< seconds

  [[nodiscard]] bool any() const { return !tracker.empty(); }
};

/// Declare --workers, --tracker, --rank, --world, --own-tables, --private-network, --timeout in this group.
void add_team_options(CLI::App& command, TeamChoice& choice, const std::string& group);

/// Throws kInvalidArgument for options that do not go together.
[[nodiscard]] TeamOptions team_options(const TeamChoice& choice);

/// Run the command of this process in several processes on this machine that are a team; return when all have ended.
/// Unless the user vouches for the network, they are in one that only they share.
/// Ends the program with the code of the one that failed first, which has said why, or says which was killed.
void run_workers(const TeamChoice& choice, bool threads_given);

}  // namespace widthwise::cli
