#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <widthwise/train/progress.hpp>

namespace widthwise::cli {

/// One line on stderr that says what is being done, how far it is, how fast and how long it will take. Draws only on a
/// terminal, at most ten times a second, and leaves nothing behind. Also where long work notices Ctrl-C.
/// Thread safety: none; one bar at a time.
class ProgressBar {
 public:
  /// `unit` is what is counted, as in "rows" or "rounds".
  explicit ProgressBar(std::string_view unit);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` units are through, which is this share, in [0, 1], of the stage. Throws kCancelled after Ctrl-C.
  void show(std::string_view stage, std::uint64_t done, double share);

  /// The same for the training functions; borrows the bar.
  [[nodiscard]] ProgressCallback callback();

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::uint64_t done, double share);

  bool enabled_;
  bool drawn_ = false;
  std::string unit_;
  std::string stage_;
  Clock::time_point stage_start_;
  Clock::time_point last_drawn_;
};

}  // namespace widthwise::cli
