#include "report/listed_rows.hpp"

#include <utility>

#include "base/values.hpp"

namespace widthwise::internal {
namespace {

void add_table(std::vector<TableBlock>& tables, const char* title, const std::vector<ListedRow>& rows) {
  if (rows.empty()) return;
  TableBlock block;
  block.table.add({title, "row", "lower", "upper", "outcome"});
  for (const ListedRow& row : rows) {
    block.table.add({row.id.empty() ? "-" : written(Printable{row.id}), written(Count{row.row}),
                     written(Significant{row.lower}), written(Significant{row.upper}),
                     written(Significant{row.outcome})});
  }
  tables.push_back(std::move(block));
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

std::vector<TableBlock> tables_of(const ListedRows& rows) {
  std::vector<TableBlock> tables;
  add_table(tables, "widest intervals", rows.widest);
  add_table(tables, "farthest missed", rows.missed);
  return tables;
}

Json json_of(const ListedRows& rows) { return {{"widest", array_of(rows.widest)}, {"missed", array_of(rows.missed)}}; }

}  // namespace widthwise::internal
