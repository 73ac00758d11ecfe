#pragma once

#include <cstdint>
#include <optional>
#include <widthwise/io/table.hpp>

#include "io/table/cells.hpp"
#include "io/table/missing.hpp"

namespace widthwise::internal {

/// What the cells of a column of a CSV file are; missing ones do not count.
struct ColumnSummary {
  std::uint64_t numbers = 0;
  std::uint64_t texts = 0;
  std::uint64_t decimal_commas = 0;  ///< numbers but for the decimal comma; not among the other two
  std::optional<UnreadableCell> unreadable = std::nullopt;  ///< the first cell that is not a number

  /// Numbers with decimal commas make a column numeric, so that reading it is an error that names one of them.
  [[nodiscard]] ColumnKind kind() const {
    return texts > 0 && texts >= numbers + decimal_commas ? ColumnKind::kText : ColumnKind::kNumber;
  }
};

[[nodiscard]] ColumnSummary summary_of(const Cells& cells, const MissingMarkers& markers);

}  // namespace widthwise::internal
