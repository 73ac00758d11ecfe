#include "base/layout.hpp"

#include <algorithm>
#include <atomic>

#include "base/printable.hpp"

namespace widthwise::internal {

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += printable(names[i]);
  }
  return text;
}

std::string TextTable::to_string() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], row[j].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = "  ";
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::string blanks(widths[j] - row[j].size(), ' ');
      line += j == 0 ? row[j] + blanks : "   " + blanks + row[j];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string wrapped(std::string_view text, std::size_t indent) {
  const std::size_t width = text_width();
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const bool line_ends = end < text.size() && text[end] == '\n';
    if (column > 0 && column + 1 + word.size() > width) {
      out.append(1, '\n').append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    } else if (column == 0) {
      column = indent;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line_ends) {
      out.append(1, '\n').append(indent, ' ');
      column = indent;
    }
  }
  return out;
}

namespace {

std::string text_of_block(const Paragraph& paragraph) {
  return std::string(paragraph.indent, ' ') + wrapped(paragraph.text, paragraph.indent) + "\n";
}

std::string text_of_block(const NamedLines& block) {
  constexpr std::size_t kNameWidth = 16;
  std::string text = block.title + "\n";
  for (const auto& [name, value] : block.lines) {
    std::string column = name;
    column.resize(kNameWidth, ' ');
    text += "  " + column + wrapped(value, 2 + kNameWidth) + "\n";
  }
  return text;
}

std::string text_of_block(const TableBlock& block) {
  return block.table.to_string() + (block.note.empty() ? "" : "  " + block.note + "\n");
}

std::string text_of_block(const Points& block) {
  std::string text = block.title + "\n";
  for (const std::string& point : block.texts) text += "  - " + wrapped(point, 4) + "\n";
  return text;
}

}  // namespace

std::string laid_out(const std::vector<Block>& blocks) {
  std::string text;
  for (const Block& block : blocks) {
    if (!text.empty()) text += "\n";
    text += std::visit([](const auto& one) { return text_of_block(one); }, block);
  }
  return text;
}

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
