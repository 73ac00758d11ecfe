#include "report/listed_rows.hpp"

#include <vector>

#include "base/layout.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise::internal {
namespace {

std::string table_of(const char* title, const std::vector<ListedRow>& rows) {
  if (rows.empty()) return {};
  TextTable table;
  table.add({title, "row", "lower", "upper", "outcome"});
  for (const ListedRow& row : rows) {
    table.add({row.id.empty() ? "-" : printable(row.id), count(row.row), significant(row.lower), significant(row.upper),
               significant(row.outcome)});
  }
  return "\n" + table.to_string();
}

Json array_of(const std::vector<ListedRow>& rows) {
  Json array = Json::array();
  for (const ListedRow& row : rows) {
    array.push_back({{"row", row.row},
                     {"id", or_null(row.id)},
                     {"lower", row.lower},
                     {"upper", row.upper},
                     {"outcome", row.outcome}});
  }
  return array;
}

}  // namespace

std::string text_of(const ListedRows& rows) {
  return table_of("widest intervals", rows.widest) + table_of("farthest missed", rows.missed);
}

Json json_of(const ListedRows& rows) { return {{"widest", array_of(rows.widest)}, {"missed", array_of(rows.missed)}}; }

}  // namespace widthwise::internal
