#include "base/printable.hpp"

#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include <widthwise/random.hpp>

namespace widthwise {
namespace {

using internal::Newlines;
using internal::printable;
using internal::printable_json;

TEST(Printable, KeepsTextOfAnyLanguage) {
  for (const std::string text : {"price", "Größe in m²", "価格", "цена", "\U0001F3E0 home", "السعر"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ReplacesControlSequences) {
  EXPECT_EQ(printable("\x1B[31mred\x1B[0m"), "?[31mred?[0m");
  EXPECT_EQ(printable("\x1B]0;title\x07"), "?]0;title?");
  EXPECT_EQ(printable(std::string("a\0b\r\x7F", 5)), "a?b??");
  EXPECT_EQ(printable("\u009B31m"), "?31m") << "the one-byte form of ESC [";
  EXPECT_EQ(printable("\u202Eecirp\u202C \u2067x\u2069 \u200Fy"), "?ecirp? ?x? ?y");
  EXPECT_EQ(printable("two\nlines\tand a tab"), "two?lines?and a tab");
  EXPECT_EQ(printable("two\nlines\tand a tab", Newlines::kKept), "two\nlines\tand a tab");
}

TEST(Printable, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("caf\xE9"), "caf?");
  EXPECT_EQ(printable("\xC0\xAF"), "??") << "longer than needed";
  EXPECT_EQ(printable("\xED\xA0\x80"), "???") << "half of a pair";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "????") << "beyond the last character";
  EXPECT_EQ(printable("\xE2\x82"), "??") << "cut off";
}

TEST(Printable, JsonReadsBackAsTheSameValue) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      // Characters of one to four bytes, but no halves of pairs.
      const char32_t code = static_cast<char32_t>(random.below(i % 2 == 0 ? 0x3000 : 0x110000));
      if (code >= 0xD800 && code <= 0xDFFF) continue;
      std::string bytes;
      if (code < 0x80) {
        bytes += static_cast<char>(code);
      } else if (code < 0x800) {
        bytes += static_cast<char>(0xC0U | code >> 6U);
      } else if (code < 0x10000) {
        bytes += static_cast<char>(0xE0U | code >> 12U);
        bytes += static_cast<char>(0x80U | (code >> 6U & 0x3FU));
      } else {
        bytes += static_cast<char>(0xF0U | code >> 18U);
        bytes += static_cast<char>(0x80U | (code >> 12U & 0x3FU));
        bytes += static_cast<char>(0x80U | (code >> 6U & 0x3FU));
      }
      if (code >= 0x80) bytes += static_cast<char>(0x80U | (code & 0x3FU));
      text += bytes;
    }
    const nlohmann::json value = {{text, text}};
    const std::string shown = printable_json(value.dump(2));
    EXPECT_EQ(printable(shown, Newlines::kKept), shown);
    EXPECT_EQ(nlohmann::json::parse(shown), value);
  }
}

}  // namespace
}  // namespace widthwise
