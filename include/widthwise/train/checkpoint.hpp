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

/// What a fit has trained so far, in a file, so that the same fit goes on from there after it was stopped. A fit trains
/// several things one after the other, always in the same order: each is known by its number.
///
/// The first of several workers has the file; the others are told what was in it. The file is replaced whole. It has a
/// checksum and is checked like a model file before it is used; what another fit has left is not used.
/// Thread safety: none.
class Checkpoint {
 public:
  /// `fit` tells fits apart: the data, the columns, the options. All workers (null: there is only this
  /// process) construct theirs together. Throws kBadData when the file is damaged or no checkpoint, naming the file to
  /// delete.
  Checkpoint(std::filesystem::path file, std::uint64_t fit, const Communicator* communicator);

  /// Begin the next training; return the state that was last kept of it, empty when there is none. Valid until keep.
  [[nodiscard]] std::span<const std::byte> begin();

  /// Whether it is time to keep the state again: keeping takes a twentieth of the time at most.
  [[nodiscard]] bool due() const;

  /// Keep the state of the training that was begun last. Throws kFile.
  void keep(std::vector<std::byte> state);

  /// Throw kBadData for a state that cannot be used, naming the file to delete.
  [[noreturn]] void refuse(const std::string& why) const;

  /// The fit is done: delete the file.
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

/// What trainers need to train as one of several, or to go on with what was begun. Borrowed.
struct TrainingContext {
  const Communicator* communicator = nullptr;
  Checkpoint* checkpoint = nullptr;
};

}  // namespace widthwise
