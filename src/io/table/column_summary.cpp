#include "io/table/column_summary.hpp"

#include <arrow/array.h>

#include <string_view>

#include "io/table/cell.hpp"

namespace widthwise::internal {

ColumnSummary summary_of(const arrow::BinaryArray& cells, const MissingMarkers& markers) {
  ColumnSummary summary;
  for (std::int64_t i = 0; i < cells.length(); ++i) {
    const std::string_view cell = cells.GetView(i);
    const CellType type = type_of_cell(cell);
    if (type == CellType::kMissing || (!markers.empty() && markers.contains(cell))) continue;
    if (type != CellType::kText) {
      ++summary.numbers;
      continue;
    }
    const bool decimal_comma = has_decimal_comma(cell);
    ++(decimal_comma ? summary.decimal_commas : summary.texts);
    if (summary.unreadable || number_in_cell(cell)) continue;
    constexpr std::size_t kMaxShown = 60;
    summary.unreadable =
        UnreadableCell{static_cast<std::uint64_t>(i), std::string(cell.substr(0, kMaxShown)), decimal_comma};
  }
  return summary;
}

}  // namespace widthwise::internal
