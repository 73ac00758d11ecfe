#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <widthwise/train/trainer.hpp>

namespace widthwise::cli {

/// One line on stderr with the stage, the progress, the rate and the remaining time. It is drawn only on a terminal, at
/// most ten times per second, and erased at the end. It also checks for Ctrl-C during long operations.
/// Thread safety: none; one bar at a time.
class ProgressBar {
 public:
  /// `unit` is the unit of the count: "rows", "rounds".
  explicit ProgressBar(std::string_view unit);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Show that `done` units are finished, which is this share, in [0, 1], of the stage. Throws kCancelled after Ctrl-C.
  void show(std::string_view stage, std::uint64_t done, double share);

  /// A progress callback for training; borrows the bar.
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
