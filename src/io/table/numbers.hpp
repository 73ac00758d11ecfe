#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <widthwise/moment.hpp>

#include "io/table/cells.hpp"

namespace widthwise::internal {

/// Whether columns of this kind are numeric. Text is not a number, even if it looks like one.
[[nodiscard]] bool is_number_kind(CellKind kind);

/// Write rows [begin, end) of a column to out[0], out[stride], ...; nulls and missing cells are NaN. The column has a
/// numeric kind other than decimals, or text (cells of a CSV file). Return the first row that is not a number, if any.
[[nodiscard]] std::optional<std::int64_t> fill_numbers(const Cells& column, std::int64_t begin, std::int64_t end,
                                                       double* out, std::size_t stride);

/// Append the moments of rows [begin, end) of a column that fill_numbers accepts.
void append_moments(const Cells& column, std::int64_t begin, std::int64_t end, std::vector<Moment>& out);

/// Write a column of 64-bit integers; negative ones as two's complement. The column has integers, or text as above.
/// Return the first row that is missing or not a 64-bit integer, if any.
[[nodiscard]] std::optional<std::int64_t> fill_keys(const Cells& column, std::span<std::uint64_t> out);

}  // namespace widthwise::internal
