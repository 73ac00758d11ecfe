#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace widthwise {

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
