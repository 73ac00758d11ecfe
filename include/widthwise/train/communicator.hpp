#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/objective.hpp>

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

class Communicator;

/// Stores the training state of a fit in a file, so that the same fit can resume after it was stopped. A fit consists
/// of several trainings in a fixed order, which are identified by their number.
///
/// With several workers, the first one has the file and sends its contents to the others. The file is replaced
/// atomically. It has a checksum and is validated like a model file. A checkpoint of another fit is ignored.
/// Thread safety: none.
class Checkpoint {
 public:
  /// `fit` identifies the fit: the data, the columns, the options. All workers (null: only this process) construct
  /// theirs together. Throws kBadData if the file is damaged or not a checkpoint, with the name of the file to delete.
  Checkpoint(std::filesystem::path file, std::uint64_t fit, const Communicator* communicator);

  /// Begin the next training; return its last stored state, or an empty one. Valid until keep.
  [[nodiscard]] std::span<const std::byte> begin();

  /// Whether to store the state again; storing takes at most a twentieth of the time.
  [[nodiscard]] bool due() const;

  /// Store the state of the current training. Throws kFile.
  void keep(std::vector<std::byte> state);

  /// Throw kBadData for an invalid state, with the name of the file to delete.
  [[noreturn]] void refuse(const std::string& why) const;

  /// Delete the file after the fit is done.
  void remove() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path file_;
  std::uint64_t fit_;
  bool writes_;
  std::size_t next_ = 0;
  std::map<std::size_t, std::vector<std::byte>> states_;
  Clock::time_point kept_;
  Clock::duration cost_{};
};

/// What a trainer needs to train with other workers and to resume from a checkpoint. Both are borrowed and may be null.
struct TrainingContext {
  const Communicator* communicator = nullptr;  ///< null: train alone
  Checkpoint* checkpoint = nullptr;            ///< null: a stopped training starts again
};

}  // namespace widthwise
