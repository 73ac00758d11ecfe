#include "base/text_width.hpp"

#include <algorithm>
#include <atomic>

namespace widthwise::internal {
namespace {

constexpr std::size_t kUsualWidth = 80;
constexpr std::size_t kMinWidth = 40;
constexpr std::size_t kMaxWidth = 100;  // longer lines are hard to read

std::atomic<std::size_t>& width_of_text() {
  static std::atomic<std::size_t> width = kUsualWidth;
  return width;
}

}  // namespace

std::size_t text_width() { return width_of_text(); }

void set_text_width(std::size_t columns) { width_of_text() = std::clamp(columns, kMinWidth, kMaxWidth); }

}  // namespace widthwise::internal
