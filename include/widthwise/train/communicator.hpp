#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/reducer.hpp>

namespace widthwise {

/// Connects processes that fit one model together, each with its own rows. All call the same methods in the same order,
/// and all get bit-identical results. If a process is lost, the others throw kLostWorker.
/// Thread safety: none; one thread of each process.
class Communicator : public Reducer {
 public:
  /// Copy the bytes of the worker `root` to all workers. Every worker calls it with the same length.
  virtual void broadcast(std::span<std::byte> bytes, std::size_t root) const = 0;

  /// Call an engine that communicates with the other workers itself and may wait for them.
  virtual void collectively(const std::function<void()>& call) const { call(); }

  /// Number of bytes that this worker has passed to sum and broadcast so far.
  [[nodiscard]] virtual std::uint64_t bytes_shared() const = 0;
};

/// How workers connect.
struct CommunicatorOptions {
  std::string host = "127.0.0.1";  ///< address of the first worker, which introduces the others to each other
  std::uint16_t port = 0;          ///< TCP port of the first worker; required, 1 to 65535
  std::size_t rank = 0;            ///< of this worker, from 0
  std::size_t workers = 1;         ///< total number of workers, the same for all
  /// How long to wait for workers to connect, and later for each other. Must exceed the time of any worker to read its
  /// rows or to train a round.
  std::chrono::seconds timeout{300};
  /// Called with a message, on another thread, if XGBoost does not notice that a worker was lost and still waits after
  /// the timeout. Only the end of the process ends that wait. If empty, the wait continues.
  std::function<void(const std::string&)> stuck;
};

/// The bytes of every worker, by rank.
[[nodiscard]] std::vector<std::vector<std::byte>> gather(const Communicator& communicator,
                                                         std::span<const std::byte> own);

/// The text of every worker, by rank.
[[nodiscard]] std::vector<std::string> gather_texts(const Communicator& communicator, std::string_view own);

/// Run an operation that may fail on some workers only, such as reading a file; it then fails on all. The worker where
/// it failed throws its own error. The others throw an error with the same code that names the worker and its error.
void all_or_none(const Communicator& communicator, const std::function<void()>& work);

}  // namespace widthwise
