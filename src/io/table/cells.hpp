#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "io/table/c_data.hpp"

namespace widthwise::internal {

/// The type of the cells of a column.
enum class CellKind {
  kNull,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kHalf,
  kFloat,
  kDouble,
  kDecimal,
  kText,       ///< text or bytes, with 32-bit offsets
  kLargeText,  ///< with 64-bit offsets
  kTextView,   ///< 16-byte views
  kTime,       ///< dates, times and durations
  kOther,
};

/// The kind of a type of the Arrow C data interface, such as "g"; of a dictionary, that of its indices.
[[nodiscard]] CellKind kind_of_format(std::string_view format);

[[nodiscard]] bool is_integer(CellKind kind);
[[nodiscard]] bool is_text(CellKind kind);

/// How the cells of kind kTime are stored.
struct TimeUnit {
  CellKind kind = CellKind::kInt64;
  std::int64_t seconds = 1;     ///< per unit
  std::int64_t per_second = 1;  ///< units per second, if they are shorter
};

/// The unit of a type of the Arrow C data interface of kind kTime, such as "tsu:".
[[nodiscard]] TimeUnit time_unit_of_format(std::string_view format);

/// An array of the Arrow C data interface with its type, owned.
struct ExportedColumn {
  ExportedColumn() = default;
  ExportedColumn(const ExportedColumn&) = delete;
  ExportedColumn& operator=(const ExportedColumn&) = delete;
  ~ExportedColumn();

  ArrowSchema schema = {};
  ArrowArray array = {};
};

/// The cells of a column, in the layout of the Arrow C data interface. Copies share the memory.
/// Thread safety: const methods may run concurrently.
struct Cells {
  CellKind kind = CellKind::kOther;
  TimeUnit time = {};  ///< of kTime
  std::int64_t rows = 0;
  std::int64_t offset = 0;                       ///< position of the first cell in the memory
  const std::uint8_t* validity = nullptr;        ///< one bit per cell, 0 if it is missing; null if none is
  const void* data = nullptr;                    ///< numbers, bits, offsets or views
  const void* const* text = nullptr;             ///< the bytes of text, or the buffers of views
  std::shared_ptr<const Cells> dictionary = {};  ///< the values, if the cells are indices of a dictionary
  std::shared_ptr<const void> owner = {};        ///< keeps the memory

  [[nodiscard]] bool is_null(std::int64_t row) const {
    return kind == CellKind::kNull || (validity != nullptr && !bit(validity, row));
  }
  [[nodiscard]] bool truth(std::int64_t row) const { return bit(static_cast<const std::uint8_t*>(data), row); }
  template <class Number>
  [[nodiscard]] Number number(std::int64_t row) const {
    return value<Number>(data, offset + row);
  }
  [[nodiscard]] std::string_view text_at(std::int64_t row) const;
  /// The place of a cell in the dictionary.
  [[nodiscard]] std::int64_t index(std::int64_t row) const;

  template <class Value>
  [[nodiscard]] static Value value(const void* from, std::int64_t place) {
    Value found;
    std::memcpy(&found, static_cast<const std::byte*>(from) + static_cast<std::size_t>(place) * sizeof found,
                sizeof found);
    return found;
  }

 private:
  [[nodiscard]] bool bit(const std::uint8_t* bits, std::int64_t row) const {
    const auto place = static_cast<std::size_t>(offset + row);
    return ((bits[place / 8] >> (place % 8)) & 1U) != 0;
  }
};

[[nodiscard]] Cells cells_of(std::shared_ptr<const ExportedColumn> column);

/// The number in half precision with these bits.
[[nodiscard]] double half_number(std::uint16_t bits);

/// Call use.operator()<Number>() with the C++ type of a kind of integers, single or double precision.
template <class Use>
auto with_number_type(CellKind kind, const Use& use) {
  switch (kind) {
    case CellKind::kInt8:
      return use.template operator()<std::int8_t>();
    case CellKind::kInt16:
      return use.template operator()<std::int16_t>();
    case CellKind::kInt32:
      return use.template operator()<std::int32_t>();
    case CellKind::kInt64:
      return use.template operator()<std::int64_t>();
    case CellKind::kUInt8:
      return use.template operator()<std::uint8_t>();
    case CellKind::kUInt16:
      return use.template operator()<std::uint16_t>();
    case CellKind::kUInt32:
      return use.template operator()<std::uint32_t>();
    case CellKind::kUInt64:
      return use.template operator()<std::uint64_t>();
    case CellKind::kFloat:
      return use.template operator()<float>();
    case CellKind::kDouble:
      return use.template operator()<double>();
    default:
      throw std::logic_error("with_number_type: the cells are not numbers");
  }
}

}  // namespace widthwise::internal
