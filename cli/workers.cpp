#include "workers.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace widthwise::cli {

void add_worker_options(CLI::App& command, WorkerChoice& choice, const std::string& group) {
  CLI::Option* const tracker =
      command
          .add_option("--tracker", choice.tracker,
                      "run as one of several workers, one per machine: address of worker 0, which connects the others, "
                      "and a free port there. Workers share the row groups of Parquet files")
          ->type_name("HOST:PORT")
          ->group(group);
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
          "or stop the fit. Required by --tracker")
      ->group(group)
      ->needs(tracker);
  add_count(command, "--timeout", choice.timeout,
            "seconds to wait for a worker; must exceed the time to read its rows or to train one iteration")
      ->capture_default_str()
      ->group(group)
      ->needs(tracker);
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

}  // namespace widthwise::cli
