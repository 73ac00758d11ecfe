#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Layout of text for people: tables, wrapped lines, lists of names.
namespace widthwise::internal {

/// Widest line that reports print.
inline constexpr std::size_t kTextWidth = 100;

/// Rows of cells, indented by two blanks: the first column aligned left, the others right.
class TextTable {
 public:
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string to_string() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Break the text between words into lines of at most `width` characters; lines after the first begin with `indent`
/// blanks.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width = kTextWidth, std::size_t indent = 0);

/// "a, b and c", each name printable.
[[nodiscard]] std::string list(const std::vector<std::string>& names);

}  // namespace widthwise::internal
