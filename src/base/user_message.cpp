#include "base/user_message.hpp"

#include <cstddef>

namespace widthwise::internal {

std::string without_functions(std::string_view message) {
  constexpr std::string_view kScope = "::";
  constexpr std::string_view kAfter = ": ";
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  std::string text(message);
  for (std::size_t part = 0; part < text.size();) {
    const std::size_t scope = text.find_first_not_of(kLetters, part);
    const bool is_scoped = scope != std::string::npos && scope > part && text.compare(scope, 2, kScope) == 0;
    const std::size_t end = is_scoped ? text.find_first_not_of(kLetters, scope + kScope.size()) : std::string::npos;
    if (end != std::string::npos && text.compare(end, 2, kAfter) == 0) {
      text.erase(part, end + kAfter.size() - part);
    } else {
      const std::size_t next = text.find(kAfter, part);
      part = next == std::string::npos ? text.size() : next + kAfter.size();
    }
  }
  return text;
}

}  // namespace widthwise::internal
