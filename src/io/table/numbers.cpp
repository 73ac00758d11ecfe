#include "io/table/numbers.hpp"

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include <limits>
#include <stdexcept>
#include <type_traits>

#include "io/table/cell.hpp"
#include "io/table/visit.hpp"

namespace widthwise::internal {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class Array>
double number_at(const Array& column, std::int64_t row) {
  using Type = typename Array::TypeClass;
  if constexpr (std::is_base_of_v<arrow::DecimalType, Type>) {
    using Value = typename arrow::TypeTraits<Type>::CType;
    return Value(column.GetValue(row)).ToDouble(static_cast<const arrow::DecimalType&>(*column.type()).scale());
  } else if constexpr (std::is_same_v<Type, arrow::HalfFloatType>) {
    return arrow::util::Float16::FromBits(column.Value(row)).ToDouble();
  } else {
    return static_cast<double>(column.Value(row));
  }
}

template <class Array>
void fill(const Array& column, std::int64_t begin, std::int64_t end, double* out, std::size_t stride) {
  if (column.null_count() == 0) {
    for (std::int64_t i = begin; i < end; ++i, out += stride) *out = number_at(column, i);
  } else {
    for (std::int64_t i = begin; i < end; ++i, out += stride) *out = column.IsNull(i) ? kNaN : number_at(column, i);
  }
}

std::optional<std::int64_t> fill_from_text(const arrow::BinaryArray& column, std::int64_t begin, std::int64_t end,
                                           double* out, std::size_t stride) {
  for (std::int64_t i = begin; i < end; ++i, out += stride) {
    const std::optional<double> number = column.IsNull(i) ? kNaN : number_in_cell(column.GetView(i));
    if (!number) return i;
    *out = *number;
  }
  return std::nullopt;
}

template <class Array>
std::optional<std::int64_t> copy_keys(const Array& column, std::span<std::uint64_t> out) {
  for (std::int64_t i = 0; i < column.length(); ++i) {
    if (column.IsNull(i)) return i;
    // Negative keys stay negative for any width of the column.
    // NOLINTNEXTLINE(bugprone-signed-char-misuse)
    out[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(column.Value(i));
  }
  return std::nullopt;
}

std::optional<std::int64_t> keys_from_text(const arrow::BinaryArray& column, std::span<std::uint64_t> out) {
  for (std::int64_t i = 0; i < column.length(); ++i) {
    const std::optional<std::uint64_t> key = key_in_cell(column.GetView(i));
    if (!key) return i;
    out[static_cast<std::size_t>(i)] = *key;
  }
  return std::nullopt;
}

}  // namespace

bool is_number_type(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id()) || arrow::is_decimal(type.id()) ||
         type.id() == arrow::Type::BOOL || type.id() == arrow::Type::NA;
}

std::optional<std::int64_t> fill_numbers(const arrow::Array& any_column, std::int64_t begin, std::int64_t end,
                                         double* out, std::size_t stride) {
  return visit(any_column, [&]<class Array>(const Array& column) -> std::optional<std::int64_t> {
    using Type = typename Array::TypeClass;
    if constexpr (std::is_same_v<Type, arrow::BinaryType>) {
      return fill_from_text(column, begin, end, out, stride);
    } else if constexpr (std::is_same_v<Type, arrow::NullType>) {
      for (std::int64_t i = begin; i < end; ++i, out += stride) *out = kNaN;
      return std::nullopt;
    } else if constexpr (arrow::is_number_type<Type>::value || arrow::is_boolean_type<Type>::value ||
                         arrow::is_decimal_type<Type>::value) {
      fill(column, begin, end, out, stride);
      return std::nullopt;
    } else {
      throw std::logic_error("fill_numbers: the type is not numeric");
    }
  });
}

std::optional<std::int64_t> fill_keys(const arrow::Array& any_column, std::span<std::uint64_t> out) {
  return visit(any_column, [&]<class Array>(const Array& column) -> std::optional<std::int64_t> {
    using Type = typename Array::TypeClass;
    if constexpr (std::is_same_v<Type, arrow::BinaryType>) {
      return keys_from_text(column, out);
    } else if constexpr (arrow::is_integer_type<Type>::value) {
      return copy_keys(column, out);
    } else {
      throw std::logic_error("fill_keys: the type is not an integer type");
    }
  });
}

}  // namespace widthwise::internal
