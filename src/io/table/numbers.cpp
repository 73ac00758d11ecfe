#include "io/table/numbers.hpp"

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include <limits>
#include <stdexcept>
#include <type_traits>

#include "io/table/cell.hpp"

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
void fill(const arrow::Array& any_column, std::int64_t begin, std::int64_t end, double* out, std::size_t stride) {
  const auto& column = static_cast<const Array&>(any_column);
  if (column.null_count() == 0) {
    for (std::int64_t i = begin; i < end; ++i, out += stride) *out = number_at(column, i);
  } else {
    for (std::int64_t i = begin; i < end; ++i, out += stride) *out = column.IsNull(i) ? kNaN : number_at(column, i);
  }
}

std::optional<std::int64_t> fill_from_text(const arrow::BinaryArray& column, std::int64_t begin, std::int64_t end,
                                           double* out, std::size_t stride) {
  for (std::int64_t i = begin; i < end; ++i, out += stride) {
    const std::optional<double> number = number_in_cell(column.GetView(i));
    if (!number) return i;
    *out = *number;
  }
  return std::nullopt;
}

template <class Array>
std::optional<std::int64_t> copy_keys(const arrow::Array& any_column, std::span<std::uint64_t> out) {
  const auto& column = static_cast<const Array&>(any_column);
  for (std::int64_t i = 0; i < column.length(); ++i) {
    if (column.IsNull(i)) return i;
    // Negative keys stay negative, however wide their column is.
    // NOLINTNEXTLINE(bugprone-signed-char-misuse)
    out[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(column.Value(i));
  }
  return std::nullopt;
}

}  // namespace

bool is_number_type(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id()) || arrow::is_decimal(type.id()) ||
         type.id() == arrow::Type::BOOL || type.id() == arrow::Type::NA;
}

std::optional<std::int64_t> fill_numbers(const arrow::Array& column, std::int64_t begin, std::int64_t end, double* out,
                                         std::size_t stride) {
  switch (column.type_id()) {
    case arrow::Type::BINARY:
      return fill_from_text(static_cast<const arrow::BinaryArray&>(column), begin, end, out, stride);
    case arrow::Type::NA:
      for (std::int64_t i = begin; i < end; ++i, out += stride) *out = kNaN;
      return std::nullopt;
    case arrow::Type::BOOL:
      fill<arrow::BooleanArray>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::INT8:
      fill<arrow::Int8Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::INT16:
      fill<arrow::Int16Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::INT32:
      fill<arrow::Int32Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::INT64:
      fill<arrow::Int64Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::UINT8:
      fill<arrow::UInt8Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::UINT16:
      fill<arrow::UInt16Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::UINT32:
      fill<arrow::UInt32Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::UINT64:
      fill<arrow::UInt64Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::HALF_FLOAT:
      fill<arrow::HalfFloatArray>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::FLOAT:
      fill<arrow::FloatArray>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::DOUBLE:
      fill<arrow::DoubleArray>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::DECIMAL32:
      fill<arrow::Decimal32Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::DECIMAL64:
      fill<arrow::Decimal64Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::DECIMAL128:
      fill<arrow::Decimal128Array>(column, begin, end, out, stride);
      return std::nullopt;
    case arrow::Type::DECIMAL256:
      fill<arrow::Decimal256Array>(column, begin, end, out, stride);
      return std::nullopt;
    default:
      throw std::logic_error("fill_numbers: the type is not numeric");
  }
}

std::optional<std::int64_t> fill_keys(const arrow::Array& column, std::span<std::uint64_t> out) {
  switch (column.type_id()) {
    case arrow::Type::BINARY: {
      const auto& cells = static_cast<const arrow::BinaryArray&>(column);
      for (std::int64_t i = 0; i < cells.length(); ++i) {
        const std::optional<std::uint64_t> key = key_in_cell(cells.GetView(i));
        if (!key) return i;
        out[static_cast<std::size_t>(i)] = *key;
      }
      return std::nullopt;
    }
    case arrow::Type::INT8:
      return copy_keys<arrow::Int8Array>(column, out);
    case arrow::Type::INT16:
      return copy_keys<arrow::Int16Array>(column, out);
    case arrow::Type::INT32:
      return copy_keys<arrow::Int32Array>(column, out);
    case arrow::Type::INT64:
      return copy_keys<arrow::Int64Array>(column, out);
    case arrow::Type::UINT8:
      return copy_keys<arrow::UInt8Array>(column, out);
    case arrow::Type::UINT16:
      return copy_keys<arrow::UInt16Array>(column, out);
    case arrow::Type::UINT32:
      return copy_keys<arrow::UInt32Array>(column, out);
    case arrow::Type::UINT64:
      return copy_keys<arrow::UInt64Array>(column, out);
    default:
      throw std::logic_error("fill_keys: the type is not an integer type");
  }
}

}  // namespace widthwise::internal
