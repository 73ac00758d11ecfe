#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace widthwise::internal {

/// The narrowest type that holds a cell of a CSV file without losing any of it.
enum class CellType { kMissing, kBoolean, kInteger, kReal, kText };

/// Integers with leading zeros, or with more digits than a number holds, are text: they are names of something, like
/// postal codes.
[[nodiscard]] CellType type_of_cell(std::string_view cell);

/// The narrowest type that holds cells of both types.
[[nodiscard]] CellType common_type(CellType a, CellType b);

/// The number in a cell, NaN if it is missing; nothing if the cell holds something else. Spaces around it are ignored;
/// true is 1 and false is 0.
[[nodiscard]] std::optional<double> number_in_cell(std::string_view cell);

/// The integer or truth value in a cell whose type is kInteger or kBoolean.
[[nodiscard]] std::optional<std::int64_t> integer_in_cell(std::string_view cell);

/// The whole number in a cell: from -2^63 to 2^64 - 1, negative ones as their two's complement.
[[nodiscard]] std::optional<std::uint64_t> key_in_cell(std::string_view cell);

}  // namespace widthwise::internal
