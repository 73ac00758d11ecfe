#include "progress_bar.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "base/message.hpp"
#include "base/progress_line.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "terminal.hpp"

namespace widthwise::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenDrawings{100};
constexpr double kSecondsBeforeGuessing = 0.5;  // a rate measured over less time is unreliable
constexpr std::size_t kUsualColumns = 80;
constexpr std::string_view kClearLine = "\r\x1b[K";

struct Part {
  double from = 0;
  double to = 1;
};

/// The part of the bar that is filled.
Part& filled_part() {
  static Part part;
  return part;
}

bool stderr_is_terminal() {
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): no thread sets variables
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

std::optional<std::size_t> terminal_columns(int descriptor) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets variables
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    if (const auto number = internal::read_whole<std::uint16_t>(columns); number && *number > 0) return *number;
  }
  winsize size = {};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::optional<std::size_t>(size.ws_col) : std::nullopt;
}

BarPart::BarPart(double from, double to) : from_before_(filled_part().from), to_before_(filled_part().to) {
  const double length = to_before_ - from_before_;
  filled_part() = {.from = from_before_ + from * length, .to = from_before_ + to * length};
}

BarPart::~BarPart() { filled_part() = {.from = from_before_, .to = to_before_}; }

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
  const Part part = filled_part();
  const double left = internal::seconds_left(seconds, share);
  const bool has_rate = done > 0 && seconds >= kSecondsBeforeGuessing;
  const std::string rate =
      has_rate ? fmt::format("{} {}/s", significant(static_cast<double>(done) / seconds, 3), unit_) : "";
  const internal::ProgressLine line{.stage = stage_,
                                    .share = part.from + share * (part.to - part.from),
                                    .rate = rate,
                                    .seconds_left = part.to == 1 ? left : std::numeric_limits<double>::quiet_NaN()};
  std::cerr << kClearLine << to_string(line, terminal_columns(STDERR_FILENO).value_or(kUsualColumns) - 1) << std::flush;
  drawn_ = true;
}

ProgressCallback ProgressBar::callback() {
  return [this](const Progress& progress) {
    if (interrupt() != 0) return false;
    if (!enabled_) return true;
    const auto now = Clock::now();
    if (stage_.empty()) stage_start_ = now;  // the share is that of all stages
    stage_ = progress.stage;
    if (drawn_ && now - last_drawn_ < kBetweenDrawings) return true;
    last_drawn_ = now;
    draw(/*done=*/0,
         progress.total == 0 ? 0 : static_cast<double>(progress.done) / static_cast<double>(progress.total));
    return true;
  };
}

}  // namespace widthwise::cli
