#include "io/table/errors.hpp"

#include <cstddef>

#include "base/message.hpp"
#include "io/table/cell.hpp"

namespace widthwise::internal {
namespace {

std::string clipped(std::string_view text, std::size_t maximum) {
  std::string result;
  bool space = false;
  for (const char letter : text) {
    if (static_cast<unsigned char>(letter) <= ' ') {
      space = !result.empty();
      continue;
    }
    if (result.size() >= maximum) return result + "...";
    if (space) result += ' ';
    space = false;
    result += letter;
  }
  return result;
}

}  // namespace

std::string one_line(std::string_view text) { return clipped(text, 300); }

std::string in_quotes(std::string_view text) { return std::string("'").append(clipped(text, 60)).append("'"); }

void refuse(ErrorCode code, const std::filesystem::path& file, const std::string& what) {
  throw make_error(code, "{}: {}", file.string(), what);
}

void refuse_cell(const std::filesystem::path& file, std::string_view column, std::uint64_t row, std::string_view cell,
                 bool numeric_column) {
  std::string advice;
  if (has_decimal_comma(cell)) {
    advice = "; decimal commas are not supported, write numbers with a decimal point";
  } else if (numeric_column) {
    advice =
        fmt::format("; correct it, or count it as missing with the option missing (--missing {})", in_quotes(cell));
  }
  refuse(ErrorCode::kBadData, file,
         fmt::format("column {}, row {}: {} is not a number{}", in_quotes(column), row + 1, in_quotes(cell), advice));
}

}  // namespace widthwise::internal
