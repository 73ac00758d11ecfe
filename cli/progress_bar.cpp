#include "progress_bar.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iostream>

#include "interrupt.hpp"
#include "message.hpp"
#include "output.hpp"

namespace widthwise::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenDrawings{100};
constexpr double kSecondsBeforeGuessing = 0.5;  // a rate measured over less time is unreliable
constexpr std::size_t kBarCells = 24;
constexpr std::string_view kClearLine = "\r\x1b[K";

bool stderr_is_terminal() {
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): no thread sets variables
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::size_t terminal_columns() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

// "1:05:09", "2:30", "0:07".
std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  const auto two_digits = [](std::uint64_t n) { return std::to_string(n / 10) + std::to_string(n % 10); };
  std::string minutes_seconds = fmt::format("{}:{}", whole / 60 % 60, two_digits(whole % 60));
  if (whole < 3600) return minutes_seconds;
  return fmt::format("{}:{}:{}", whole / 3600, two_digits(whole / 60 % 60), two_digits(whole % 60));
}

}  // namespace

ProgressBar::ProgressBar(std::string_view unit) : enabled_(stderr_is_terminal() && !shows_rows()), unit_(unit) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::cerr << kClearLine << std::flush;
}

void ProgressBar::show(std::string_view stage, std::uint64_t done, double share) {
  throw_if_interrupted();
  if (!enabled_) return;
  const auto now = Clock::now();
  if (stage != stage_) {
    stage_ = stage;
    stage_start_ = now;
  }
  if (drawn_ && now - last_drawn_ < kBetweenDrawings) return;
  last_drawn_ = now;
  draw(done, std::clamp(share, 0.0, 1.0));
}

void ProgressBar::draw(std::uint64_t done, double share) {
  const double seconds = std::chrono::duration<double>(last_drawn_ - stage_start_).count();
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBarCells));
  std::string line = fmt::format("{}  [{}{}] {}%", stage_, std::string(filled, '#'),
                                 std::string(kBarCells - filled, '.'), static_cast<int>(100 * share));
  if (seconds >= kSecondsBeforeGuessing && done > 0) {
    line += fmt::format("  {} {}/s", significant(static_cast<double>(done) / seconds, 3), unit_);
    if (share > 0) line += fmt::format("  {} left", clock_text(seconds * (1 - share) / share));
  }
  line.resize(std::min(line.size(), terminal_columns() - 1));
  std::cerr << kClearLine << line << std::flush;
  drawn_ = true;
}

ProgressCallback ProgressBar::callback() {
  return [this](const Progress& progress) {
    const double share =
        progress.total == 0 ? 0 : static_cast<double>(progress.done) / static_cast<double>(progress.total);
    if (interrupt() != 0) return false;
    show(progress.stage, progress.done, share);
    return true;
  };
}

}  // namespace widthwise::cli
