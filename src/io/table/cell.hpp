#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace widthwise::internal {

/// The narrowest type that represents a cell of a CSV file exactly.
enum class CellType { kMissing, kBoolean, kInteger, kReal, kText };

/// Integers with leading zeros, or with more digits than a number can hold, are text: they are identifiers such as
/// postal codes.
[[nodiscard]] CellType type_of_cell(std::string_view cell);

/// The narrowest type that holds cells of both types.
[[nodiscard]] CellType common_type(CellType a, CellType b);

/// The number in a cell, NaN if it is missing; empty if the cell is not a number. Surrounding spaces are ignored; true
/// is 1 and false is 0.
[[nodiscard]] std::optional<double> number_in_cell(std::string_view cell);

/// Whether a cell is a number but for a comma in place of the decimal point, as in 1,5.
[[nodiscard]] bool has_decimal_comma(std::string_view cell);

/// The integer or truth value in a cell whose type is kInteger or kBoolean.
[[nodiscard]] std::optional<std::int64_t> integer_in_cell(std::string_view cell);

/// The integer in a cell, from -2^63 to 2^64 - 1; negative ones as two's complement.
[[nodiscard]] std::optional<std::uint64_t> key_in_cell(std::string_view cell);

}  // namespace widthwise::internal
