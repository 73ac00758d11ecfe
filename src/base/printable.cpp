#include "base/printable.hpp"

#include <array>
#include <cstddef>

namespace widthwise::internal {
namespace {

/// A character of a text, or an invalid byte.
struct Character {
  std::size_t bytes = 1;
  char32_t code = kNoCharacter;

  static constexpr char32_t kNoCharacter = 0xFFFFFFFF;
};

/// The first character of a nonempty text.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kMin = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kMin.at(bytes) || is_surrogate || code > 0x10FFFF ? Character{} : Character{bytes, code};
}

/// Whether a character can affect a terminal or mislead a reader.
bool is_unsafe(char32_t code) {
  const auto between = [&](char32_t low, char32_t high) { return code >= low && code <= high; };
  return code < 0x20 || between(0x7F, 0x9F) || code == 0x61C || code == 0x200B || between(0x200E, 0x200F) ||
         between(0x2028, 0x202E) || between(0x2060, 0x206F) || code == 0xFEFF || between(0xFFF9, 0xFFFB) ||
         between(0xE0000, 0xE007F) || code == Character::kNoCharacter;
}

/// The text with each unsafe character replaced by `replace`.
template <class Replace>
std::string with_unsafe_replaced(std::string_view text, const Replace& replace) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    if (is_unsafe(character.code)) {
      replace(character.code, result);
    } else {
      result += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text, Newlines newlines) {
  return with_unsafe_replaced(text, [&](char32_t code, std::string& result) {
    const bool is_kept = newlines == Newlines::kKept && (code == U'\n' || code == U'\t');
    result += is_kept ? static_cast<char>(code) : '?';
  });
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.code == Character::kNoCharacter) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

std::string printable_json(std::string_view json) {
  return with_unsafe_replaced(json, [](char32_t code, std::string& result) {
    if (code == U'\n') {  // between values
      result += '\n';
      return;
    }
    const auto add = [&](char32_t unit) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      result += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) result += kDigits[(unit >> shift) & 0xFU];
    };
    if (code > 0xFFFF) add(0xD800 + ((code - 0x10000) >> 10U));
    add(code > 0xFFFF ? 0xDC00 + ((code - 0x10000) & 0x3FFU) : code);
  });
}

}  // namespace widthwise::internal
