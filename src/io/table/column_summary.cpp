#include "io/table/column_summary.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "io/table/cell.hpp"

namespace widthwise::internal {

ColumnSummary summary_of(const Cells& cells, const MissingMarkers& markers) {
  ColumnSummary summary;
  for (std::int64_t i = 0; i < cells.rows; ++i) {
    const std::string_view cell = cells.text_at(i);
    if (!markers.empty() && markers.contains(cell)) continue;
    if (const std::optional<double> number = number_in_cell(cell)) {
      if (!std::isnan(*number)) ++summary.numbers;
      continue;
    }
    const bool decimal_comma = has_decimal_comma(cell);
    ++(decimal_comma ? summary.decimal_commas : summary.texts);
    if (summary.unreadable) continue;
    constexpr std::size_t kMaxShown = 60;
    summary.unreadable =
        UnreadableCell{static_cast<std::uint64_t>(i), std::string(cell.substr(0, kMaxShown)), decimal_comma};
  }
  return summary;
}

}  // namespace widthwise::internal
