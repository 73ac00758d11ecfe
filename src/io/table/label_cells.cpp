#include "io/table/label_cells.hpp"

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <vector>

#include "io/table/cell.hpp"
#include "io/table/visit.hpp"
#include "text.hpp"

namespace widthwise::internal {
namespace {

constexpr double kMissingLabel = std::numeric_limits<double>::quiet_NaN();

/// The number of a label, which is added if labels are collected.
double number_of(std::string_view label, const SelectedColumn& selected) {
  if (selected.known != nullptr) return selected.known->number_of(label);
  Labels& labels = *selected.collected;
  if (labels.size() > selected.max_labels) return labels.number_of(label);
  return static_cast<double>(labels.add(label));
}

/// Empty for a number that is not an integer, if labels are collected.
std::optional<double> number_of(double value, const SelectedColumn& selected) {
  if (std::isnan(value)) return kMissingLabel;
  if (const std::optional<std::string> label = label_of(value)) return number_of(*label, selected);
  if (selected.collected != nullptr) return std::nullopt;
  return number_of(text_of(value), selected);
}

std::optional<double> number_of_text(std::string_view text, const SelectedColumn& selected, bool of_numbers) {
  const std::optional<std::string_view> label = label_of_text(text);
  if (!label) return kMissingLabel;
  if (of_numbers && selected.collected != nullptr && type_of_cell(*label) == CellType::kReal) return std::nullopt;
  return number_of(*label, selected);
}

/// The number of the label in a row; empty as above.
template <class Array>
std::optional<double> number_at(const Array& column, std::int64_t row, const SelectedColumn& selected,
                                bool of_numbers) {
  using Type = typename Array::TypeClass;
  if constexpr (std::is_same_v<Type, arrow::BooleanType>) {
    return number_of(std::string_view(column.Value(row) ? "true" : "false"), selected);
  } else if constexpr (arrow::is_base_binary_type<Type>::value || arrow::is_binary_view_like_type<Type>::value) {
    return number_of_text(column.GetView(row), selected, of_numbers);
  } else if constexpr (arrow::is_integer_type<Type>::value) {
    return number_of(std::to_string(column.Value(row)), selected);
  } else if constexpr (std::is_same_v<Type, arrow::FloatType> || std::is_same_v<Type, arrow::DoubleType>) {
    return number_of(static_cast<double>(column.Value(row)), selected);
  } else {
    throw std::logic_error("fill_labels: the type has no labels");
  }
}

/// Number each value of a dictionary at its first use: unused values are no labels.
std::optional<std::int64_t> fill_from_dictionary(const arrow::DictionaryArray& column, std::int64_t begin,
                                                 std::int64_t end, const SelectedColumn& selected, double* out,
                                                 std::size_t stride) {
  const arrow::Array& values = *column.dictionary();
  std::vector<std::optional<double>> numbers(static_cast<std::size_t>(values.length()));
  for (std::int64_t i = begin; i < end; ++i, out += stride) {
    *out = kMissingLabel;
    if (column.IsNull(i)) continue;
    const std::int64_t value = column.GetValueIndex(i);
    std::optional<double>& number = numbers[static_cast<std::size_t>(value)];
    if (!number) {
      double found = kMissingLabel;
      if (fill_labels(values, value, value + 1, selected, false, &found, 1)) return i;
      number = found;
    }
    *out = *number;
  }
  return std::nullopt;
}

bool is_plain_label_type(arrow::Type::type type) {
  return arrow::is_integer(type) || arrow::is_base_binary_like(type) || arrow::is_binary_view_like(type) ||
         type == arrow::Type::BOOL || type == arrow::Type::FLOAT || type == arrow::Type::DOUBLE ||
         type == arrow::Type::NA;
}

}  // namespace

bool is_label_type(const arrow::DataType& type) {
  if (type.id() != arrow::Type::DICTIONARY) return is_plain_label_type(type.id());
  return is_plain_label_type(static_cast<const arrow::DictionaryType&>(type).value_type()->id());
}

std::optional<std::int64_t> fill_labels(const arrow::Array& any_column, std::int64_t begin, std::int64_t end,
                                        const SelectedColumn& selected, bool of_numbers, double* out,
                                        std::size_t stride) {
  return visit(any_column, [&]<class Array>(const Array& column) -> std::optional<std::int64_t> {
    if constexpr (std::is_same_v<Array, arrow::DictionaryArray>) {
      return fill_from_dictionary(column, begin, end, selected, out, stride);
    } else if constexpr (std::is_same_v<Array, arrow::NullArray>) {
      for (std::int64_t i = begin; i < end; ++i, out += stride) *out = kMissingLabel;
      return std::nullopt;
    } else {
      for (std::int64_t i = begin; i < end; ++i, out += stride) {
        const std::optional<double> number =
            column.IsNull(i) ? kMissingLabel : number_at(column, i, selected, of_numbers);
        if (!number) return i;
        *out = *number;
      }
      return std::nullopt;
    }
  });
}

}  // namespace widthwise::internal
