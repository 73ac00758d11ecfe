#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace widthwise::internal {

/// The text with '?' in place of control characters (including newlines and tabs unless kept), direction marks, and
/// bytes that are not UTF-8.
enum class Newlines : std::uint8_t { kReplaced, kKept };
[[nodiscard]] std::string printable(std::string_view text, Newlines newlines = Newlines::kReplaced);

[[nodiscard]] bool is_utf8(std::string_view text);

/// The JSON text with such characters escaped as \uXXXX; it has the same value. `json` is UTF-8.
[[nodiscard]] std::string printable_json(std::string_view json);

}  // namespace widthwise::internal
