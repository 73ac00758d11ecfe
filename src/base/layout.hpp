#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Layout of text for people: tables, wrapped lines, lists of names.
namespace widthwise::internal {

/// Rows of cells, indented by two blanks: the first column aligned left, the others right.
class TextTable {
 public:
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string to_string() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Sentences, wrapped.
struct Paragraph {
  std::string text;
  std::size_t indent = 0;
};

/// A title and lines "  name            value", the values wrapped.
struct NamedLines {
  std::string title;
  std::vector<std::pair<std::string, std::string>> lines = {};
};

/// A table and a line below it, if any.
struct TableBlock {
  TextTable table;
  std::string note = {};
};

/// A title and lines "  - text", wrapped.
struct Points {
  std::string title;
  std::vector<std::string> texts = {};
};

using Block = std::variant<Paragraph, NamedLines, TableBlock, Points>;

/// The blocks with empty lines between them.
[[nodiscard]] std::string laid_out(const std::vector<Block>& blocks);

/// Break the text between words into lines of at most text_width() characters; it begins in the column `indent`, and
/// lines after the first begin with as many blanks.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent = 0);

/// "a, b and c", each name printable.
[[nodiscard]] std::string list(const std::vector<std::string>& names);

/// The widest line that reports print: 80 characters, unless the program has set the width of its terminal.
[[nodiscard]] std::size_t text_width();

/// Set text_width for the whole process, within limits in which reports stay readable.
void set_text_width(std::size_t columns);

}  // namespace widthwise::internal
