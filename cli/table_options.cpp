#include "table_options.hpp"

#include <array>
#include <utility>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "options.hpp"

namespace widthwise::cli {
namespace {

constexpr std::array<std::pair<const char*, char>, 4> kSeparators = {
    {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}, {"pipe", '|'}}};

char parse_separator(const std::string& text) {
  for (const auto& [name, separator] : kSeparators) {
    if (text == name) return separator;
  }
  if (text == "\\t") return '\t';
  if (text.size() == 1) return text.front();
  throw internal::make_error(ErrorCode::kInvalidArgument,
                             "--separator: '{}' is not one character, nor comma, semicolon, tab or pipe", text);
}

}  // namespace

ReadOptions TableOptions::read_options(ReadOptions options) const {
  if (!separator.empty()) options.separator = parse_separator(separator);
  for (const std::string& text : missing) {
    for (std::string& marker : split(text, ',')) {
      if (!marker.empty()) options.missing.push_back(std::move(marker));
    }
  }
  return options;
}

void add_table_options(CLI::App& command, TableOptions& options, const std::string& group) {
  CLI::Option* separator =
      command
          .add_option("--separator", options.separator,
                      "character between the cells of CSV files; default: a comma, or else the semicolon, tab or pipe "
                      "that splits the first lines evenly")
          ->type_name("comma|semicolon|tab|pipe|C");
  CLI::Option* missing =
      add_list(command, "--missing", options.missing, "A,B,...",
               "cells that count as missing, such as ?,-999, in addition to empty cells, NA, NaN and null");
  if (group.empty()) return;
  separator->group(group);
  missing->group(group);
}

}  // namespace widthwise::cli
