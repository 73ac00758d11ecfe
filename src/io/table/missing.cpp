#include "io/table/missing.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include "io/table/cell.hpp"
#include "io/table/numbers.hpp"
#include "io/table/visit.hpp"
#include "text.hpp"

namespace widthwise::internal {
namespace {

/// The column with further nulls; its values stay where they are.
std::shared_ptr<arrow::Array> with_nulls(const arrow::Array& column, const std::vector<bool>& nulls) {
  const std::int64_t offset = column.offset();
  arrow::Result<std::shared_ptr<arrow::Buffer>> valid = arrow::AllocateEmptyBitmap(offset + column.length());
  if (!valid.ok()) throw std::runtime_error(valid.status().message());
  for (std::int64_t i = 0; i < column.length(); ++i) {
    const bool is_null = nulls[static_cast<std::size_t>(i)] || column.IsNull(i);
    arrow::bit_util::SetBitTo((*valid)->mutable_data(), offset + i, !is_null);
  }
  const std::shared_ptr<arrow::ArrayData> data = column.data()->Copy();
  data->buffers[0] = std::move(valid).ValueUnsafe();
  data->null_count = arrow::kUnknownNullCount;
  return arrow::MakeArray(data);
}

}  // namespace

MissingMarkers::MissingMarkers(const std::vector<std::string>& markers) {
  for (const std::string& marker : markers) {
    texts_.emplace_back(trimmed(marker));
    const std::optional<double> number = number_in_cell(marker);
    if (number && !std::isnan(*number)) numbers_.push_back(*number);
  }
}

bool MissingMarkers::contains(double number) const { return std::ranges::find(numbers_, number) != numbers_.end(); }

bool MissingMarkers::contains(std::string_view cell) const {
  if (std::ranges::find(texts_, trimmed(cell)) != texts_.end()) return true;
  if (numbers_.empty()) return false;
  const std::optional<double> number = number_in_cell(cell);
  return number && contains(*number);
}

std::vector<bool> MissingMarkers::found_in(const arrow::Array& any_column) const {
  std::vector<bool> found(static_cast<std::size_t>(any_column.length()));
  (void)visit(any_column, [&]<class Array>(const Array& column) -> std::optional<std::int64_t> {
    using Type = typename Array::TypeClass;
    if constexpr (std::is_same_v<Array, arrow::DictionaryArray>) {
      const std::vector<bool> values = found_in(*column.dictionary());
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        found[i] = column.IsValid(row) && values[static_cast<std::size_t>(column.GetValueIndex(row))];
      }
    } else if constexpr (arrow::is_base_binary_type<Type>::value || arrow::is_binary_view_like_type<Type>::value) {
      for (std::size_t i = 0; i < found.size(); ++i) found[i] = contains(column.GetView(static_cast<std::int64_t>(i)));
    } else if (is_number_type(*column.type()) && !numbers_.empty()) {
      std::vector<double> numbers(found.size());
      (void)fill_numbers(column, 0, column.length(), numbers.data(), 1);
      for (std::size_t i = 0; i < found.size(); ++i) found[i] = contains(numbers[i]);
    }
    return std::nullopt;
  });
  return found;
}

std::shared_ptr<arrow::Array> MissingMarkers::removed_from(const std::shared_ptr<arrow::Array>& column) const {
  const std::vector<bool> found = found_in(*column);
  return std::ranges::find(found, true) == found.end() ? column : with_nulls(*column, found);
}

}  // namespace widthwise::internal
