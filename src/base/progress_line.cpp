#include "base/progress_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/printable.hpp"

namespace widthwise::internal {
namespace {

/// Characters: bytes that begin one.
std::size_t letters_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80; }));
}

/// The text within this many characters.
std::string cut(std::string text, std::size_t letters) {
  constexpr std::string_view kCut = "...";
  if (letters_of(text) <= letters) return text;
  while (!text.empty() && (letters_of(text) + kCut.size() > letters || !is_utf8(text))) text.pop_back();
  return text.append(kCut.substr(0, letters));
}

}  // namespace

double seconds_left(double elapsed, double share) {
  constexpr double kTooEarly = 0.5;
  return elapsed < kTooEarly || !(share > 0) ? std::numeric_limits<double>::quiet_NaN() : elapsed * (1 - share) / share;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(std::clamp(seconds, 0.0, 1e9)));
  const auto two_digits = [](std::uint64_t n) { return std::to_string(n / 10) + std::to_string(n % 10); };
  if (whole < 3600) return std::to_string(whole / 60) + ":" + two_digits(whole % 60);
  return std::to_string(whole / 3600) + ":" + two_digits(whole / 60 % 60) + ":" + two_digits(whole % 60);
}

std::string to_string(const ProgressLine& line, std::size_t columns) {
  constexpr std::size_t kCells = 24;
  const double share = std::isnan(line.share) ? 0 : std::clamp(line.share, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kCells));
  const std::string bar = "  [" + std::string(filled, '#') + std::string(kCells - filled, '.') + "] " +
                          std::to_string(static_cast<int>(100 * share)) + "%";
  const std::string left = std::isnan(line.seconds_left) ? "" : "  " + clock_text(line.seconds_left) + " left";
  std::string rate = line.rate.empty() ? "" : "  " + std::string(line.rate);
  const std::string stage = printable(line.stage);
  if (letters_of(stage) + bar.size() + rate.size() + left.size() > columns) rate.clear();
  const std::size_t rest = bar.size() + rate.size() + left.size();
  return cut(cut(stage, columns > rest ? columns - rest : 0) + bar + rate + left, columns);
}

}  // namespace widthwise::internal
