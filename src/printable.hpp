#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace widthwise::internal {

/// The text with '?' for everything that could do more than be read: control characters (newlines and tabs among them,
/// unless kept), marks that turn the direction of writing, bytes that are not UTF-8.
enum class Newlines : std::uint8_t { kReplaced, kKept };
[[nodiscard]] std::string printable(std::string_view text, Newlines newlines = Newlines::kReplaced);

[[nodiscard]] bool is_utf8(std::string_view text);

/// The same JSON text with such characters written as \uXXXX; it reads back as the same value. `json` is UTF-8.
[[nodiscard]] std::string printable_json(std::string_view json);

}  // namespace widthwise::internal
