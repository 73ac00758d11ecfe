#include "arrow_checks.hpp"

#include <bit>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"

namespace widthwise::python {
namespace {

using internal::CellKind;
using internal::Cells;

// Positions of values of up to 16 bytes then fit 64 bits.
constexpr std::int64_t kMaxLength = std::numeric_limits<std::int64_t>::max() / 32;

/// One array of a table: a column or the values of its dictionary.
struct Checked {
  std::string what;  ///< for messages
  const ArrowSchema& schema;
  const ArrowArray& array;

  template <class... Arguments>
  [[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    throw internal::make_error(ErrorCode::kBadData, "invalid Arrow data: {}: {}; create the table again", what,
                               fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  [[nodiscard]] const void* buffer(std::int64_t place) const { return array.buffers[place]; }
};

/// The length, the offset and the number of missing values that an array states.
void check_counts(const Checked& checked) {
  const ArrowArray& array = checked.array;
  if (array.length < 0 || array.offset < 0 || array.length > kMaxLength || array.offset > kMaxLength) {
    checked.refuse("invalid length {} or offset {}", array.length, array.offset);
  }
  if (array.null_count < -1 || array.null_count > array.length) {
    checked.refuse("{} missing values of {}", array.null_count, array.length);
  }
}

void check_buffer_count(const Checked& checked, CellKind kind) {
  constexpr std::int64_t kOfViews = 3;  // validity, views and the sizes of the buffers of text
  const std::int64_t found = checked.array.n_buffers;
  const bool views = kind == CellKind::kTextView;
  const std::int64_t expected = views ? kOfViews : internal::is_text(kind) ? 3 : 2;
  if (found < expected || (found > expected && !views)) checked.refuse("{} buffers; expected {}", found, expected);
  if (checked.array.buffers == nullptr) checked.refuse("no buffers");
}

/// Number of missing values among the cells of an array.
std::int64_t missing_in(const std::uint8_t* bits, std::int64_t offset, std::int64_t length) {
  constexpr std::int64_t kWordBits = 64;
  std::int64_t present = 0;
  std::int64_t i = 0;
  const auto bit = [&](std::int64_t row) {
    const auto place = static_cast<std::size_t>(offset + row);
    return (bits[place / 8] >> (place % 8)) & 1U;
  };
  for (; i < length && (offset + i) % 8 != 0; ++i) present += static_cast<std::int64_t>(bit(i));
  for (; i + kWordBits <= length; i += kWordBits) {
    present += std::popcount(Cells::value<std::uint64_t>(bits + (offset + i) / 8, 0));
  }
  for (; i < length; ++i) present += static_cast<std::int64_t>(bit(i));
  return length - present;
}

void check_validity(const Checked& checked) {
  const ArrowArray& array = checked.array;
  const auto* const bits = static_cast<const std::uint8_t*>(checked.buffer(0));
  if (bits == nullptr) {
    if (array.null_count > 0) checked.refuse("{} missing values, but nothing marks them", array.null_count);
    return;
  }
  if (array.null_count == -1) return;
  const std::int64_t missing = missing_in(bits, array.offset, array.length);
  if (missing != array.null_count) {
    checked.refuse("{} missing values are stated, {} are marked", array.null_count, missing);
  }
}

template <class Offset>
void check_offsets(const Checked& checked) {
  const void* const offsets = checked.buffer(1);
  const std::int64_t first = checked.array.offset;
  auto before = Cells::value<Offset>(offsets, first);
  if (before < 0) checked.refuse("the text of row 1 begins at byte {}", before);
  for (std::int64_t i = 0; i < checked.array.length; ++i) {
    const auto after = Cells::value<Offset>(offsets, first + i + 1);
    if (after < before)
      checked.refuse("the text of row {} ends at byte {}, before its start at {}", i + 1, after, before);
    before = after;
  }
  if (before > 0 && checked.buffer(2) == nullptr) checked.refuse("{} bytes of text, but no buffer", before);
}

/// Views have the sizes of their buffers, so that all of their text is checked.
void check_views(const Checked& checked) {
  constexpr std::int32_t kMaxInside = 12;
  constexpr std::int64_t kNumbers = 4;  // of 32 bits per view: length, prefix, buffer, offset
  const std::int64_t buffers = checked.array.n_buffers - 3;
  const void* const sizes = checked.buffer(checked.array.n_buffers - 1);
  if (buffers > 0 && sizes == nullptr) checked.refuse("the sizes of the text buffers are missing");
  const auto* const bits = static_cast<const std::uint8_t*>(checked.buffer(0));
  for (std::int64_t i = 0; i < checked.array.length; ++i) {
    const std::int64_t row = checked.array.offset + i;
    if (bits != nullptr && missing_in(bits, row, 1) == 1) continue;
    const auto number = [&](std::int64_t place) {
      return Cells::value<std::int32_t>(checked.buffer(1), kNumbers * row + place);
    };
    const std::int32_t length = number(0);
    if (length < 0) checked.refuse("the text of row {} has {} bytes", i + 1, length);
    if (length <= kMaxInside) continue;
    const std::int64_t buffer = number(2);
    const std::int64_t begin = number(3);
    if (buffer < 0 || buffer >= buffers)
      checked.refuse("row {} refers to text buffer {} of {}", i + 1, buffer, buffers);
    const auto size = Cells::value<std::int64_t>(sizes, buffer);
    if (begin < 0 || begin + length > size || checked.buffer(2 + buffer) == nullptr) {
      checked.refuse("the text of row {} ends at byte {} of {}", i + 1, begin + length, size);
    }
  }
}

/// Check the memory of the cells of a kind that is read.
void check_cells(const Checked& checked, CellKind kind) {
  if (kind == CellKind::kNull || kind == CellKind::kTime || kind == CellKind::kOther) return;
  check_buffer_count(checked, kind);
  check_validity(checked);
  if (checked.array.length == 0) return;
  if (checked.buffer(1) == nullptr) checked.refuse("{} rows, but no buffer of values", checked.array.length);
  if (kind == CellKind::kText) check_offsets<std::int32_t>(checked);
  if (kind == CellKind::kLargeText) check_offsets<std::int64_t>(checked);
  if (kind == CellKind::kTextView) check_views(checked);
}

std::string name_of(const ArrowSchema& schema) {
  return schema.name != nullptr ? internal::printable(schema.name) : std::string();
}

void check_dictionary(const Checked& column, CellKind kind) {
  const ArrowArray* const values = column.array.dictionary;
  if (values == nullptr) column.refuse("the dictionary is missing");
  if (!internal::is_integer(kind)) column.refuse("the indices into the dictionary are not integers");
  const Checked checked{column.what + ", dictionary", *column.schema.dictionary, *values};
  check_counts(checked);
  check_cells(checked, internal::kind_of_format(checked.schema.format));
  if (column.array.length == 0) return;
  check_indices("invalid Arrow data: " + column.what,
                {.kind = kind,
                 .rows = column.array.length,
                 .offset = column.array.offset,
                 .validity = static_cast<const std::uint8_t*>(column.buffer(0)),
                 .data = column.buffer(1)},
                static_cast<std::size_t>(values->length), false);
}

}  // namespace

void check_schema(const ArrowSchema& schema) {
  const auto refuse = [](std::string_view what) {
    throw internal::make_error(ErrorCode::kBadData, "invalid Arrow data: {}; create the table again", what);
  };
  if (schema.release == nullptr || schema.format == nullptr) refuse("the schema is missing");
  if (std::string_view(schema.format) != "+s") {
    throw Error(ErrorCode::kBadData, "Arrow stream: expected a table, found a single column");
  }
  if (schema.n_children < 0 || (schema.n_children > 0 && schema.children == nullptr)) {
    refuse("invalid number of columns");
  }
  for (const ArrowSchema* const column : std::span(schema.children, static_cast<std::size_t>(schema.n_children))) {
    if (column == nullptr || column->format == nullptr ||
        (column->dictionary != nullptr && column->dictionary->format == nullptr)) {
      refuse("a column has no type");
    }
  }
}

void check_batch(const ArrowSchema& schema, const ArrowArray& batch) {
  const Checked table{"table", schema, batch};
  check_counts(table);
  if (batch.n_children != schema.n_children || (batch.n_children > 0 && batch.children == nullptr)) {
    table.refuse("{} columns; expected {}", batch.n_children, schema.n_children);
  }
  if (batch.n_buffers > 0 && batch.buffers != nullptr && batch.buffers[0] != nullptr &&
      missing_in(static_cast<const std::uint8_t*>(batch.buffers[0]), batch.offset, batch.length) > 0) {
    table.refuse("a row itself is marked as missing; expected missing values in its columns");
  }
  for (std::size_t j = 0; j < static_cast<std::size_t>(schema.n_children); ++j) {
    const ArrowSchema& type = *schema.children[j];
    if (batch.children[j] == nullptr) table.refuse("column '{}' is missing", name_of(type));
    const Checked column{fmt::format("column '{}'", name_of(type)), type, *batch.children[j]};
    check_counts(column);
    if (column.array.length < batch.offset + batch.length) {
      column.refuse("{} rows; expected at least {}", column.array.length, batch.offset + batch.length);
    }
    const CellKind kind = internal::kind_of_format(type.format);
    check_cells(column, kind);
    if (type.dictionary != nullptr && type.dictionary->dictionary == nullptr) check_dictionary(column, kind);
  }
}

void check_indices(const std::string& column, const Cells& cells, std::size_t values, bool negative_is_missing) {
  const auto check = [&]<class Number>() {
    if constexpr (std::is_integral_v<Number>) {
      for (std::int64_t row = 0; row < cells.rows; ++row) {
        const auto index = cells.number<Number>(row);
        const bool inside = std::cmp_greater_equal(index, 0) && std::cmp_less(index, values);
        if (inside || (negative_is_missing && std::cmp_equal(index, -1)) || cells.is_null(row)) continue;
        throw internal::make_error(ErrorCode::kBadData,
                                   "{}: row {} has the index {}, but the dictionary has {} values; create the table "
                                   "again",
                                   column, row + 1, index, values);
      }
    }
  };
  internal::with_number_type(cells.kind, check);
}

}  // namespace widthwise::python
