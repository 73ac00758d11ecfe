#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace widthwise::internal {

/// Whether fill_numbers supports columns of this type. Text is not a number, even if it looks like one.
[[nodiscard]] bool is_number_type(const arrow::DataType& type);

/// Write rows [begin, end) of a column to out[0], out[stride], ...; nulls and missing cells are NaN. The column has a
/// numeric type, or bytes (cells of a CSV file). Return the first row that is not a number, if any.
[[nodiscard]] std::optional<std::int64_t> fill_numbers(const arrow::Array& column, std::int64_t begin, std::int64_t end,
                                                       double* out, std::size_t stride);

/// Write a column of 64-bit integers; negative ones as two's complement. The column has integers, or bytes as above.
/// Return the first row that is missing or not a 64-bit integer, if any.
[[nodiscard]] std::optional<std::int64_t> fill_keys(const arrow::Array& column, std::span<std::uint64_t> out);

}  // namespace widthwise::internal
