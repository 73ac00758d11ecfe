#include "text.hpp"

#include <array>
#include <charconv>

namespace widthwise::internal {

std::string text_of(double x) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x);
  return {buffer.data(), result.ptr};
}

}  // namespace widthwise::internal
