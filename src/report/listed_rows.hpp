#pragma once

#include <string>

#include <widthwise/evaluation.hpp>

#include "report/json.hpp"

namespace widthwise::internal {

/// Tables of the widest and the missed rows, each after an empty line; empty without rows.
[[nodiscard]] std::string text_of(const ListedRows& rows);

/// {"widest": [{"row": 17, "id": "A-204", ...}], "missed": [...]}; an id is null if the row has none.
[[nodiscard]] Json json_of(const ListedRows& rows);

}  // namespace widthwise::internal
