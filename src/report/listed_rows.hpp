#pragma once

#include <vector>

#include <widthwise/evaluation.hpp>

#include "base/layout.hpp"
#include "report/json.hpp"

namespace widthwise::internal {

/// Tables of the widest and the missed rows; none without rows.
[[nodiscard]] std::vector<TableBlock> tables_of(const ListedRows& rows);

/// {"widest": [{"row": 17, "id": "A-204", ...}], "missed": [...]}; an id is null if the row has none.
[[nodiscard]] Json json_of(const ListedRows& rows);

}  // namespace widthwise::internal
