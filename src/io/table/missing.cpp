#include "io/table/missing.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "io/table/cell.hpp"
#include "io/table/numbers.hpp"

namespace widthwise::internal {
namespace {

/// The column with further nulls; its values stay where they are.
Cells with_nulls(const Cells& column, const std::vector<bool>& nulls) {
  struct Memory {
    std::vector<std::uint8_t> validity;
    Cells values;
  };
  const auto memory = std::make_shared<Memory>();
  memory->values = column;
  memory->validity.resize(static_cast<std::size_t>((column.offset + column.rows) / 8 + 1));
  for (std::int64_t i = 0; i < column.rows; ++i) {
    if (nulls[static_cast<std::size_t>(i)] || column.is_null(i)) continue;
    const auto place = static_cast<std::size_t>(column.offset + i);
    memory->validity[place / 8] = static_cast<std::uint8_t>(memory->validity[place / 8] | (1U << (place % 8)));
  }
  Cells result = column;
  result.validity = memory->validity.data();
  result.owner = memory;
  return result;
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

std::vector<bool> MissingMarkers::found_in(const Cells& column) const {
  std::vector<bool> found(static_cast<std::size_t>(column.rows));
  if (column.dictionary) {
    const std::vector<bool> values = found_in(*column.dictionary);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      found[i] = !column.is_null(row) && values[static_cast<std::size_t>(column.index(row))];
    }
  } else if (is_text(column.kind)) {
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = contains(column.text_at(static_cast<std::int64_t>(i)));
  } else if (is_number_kind(column.kind) && !numbers_.empty()) {
    std::vector<double> numbers(found.size());
    (void)fill_numbers(column, 0, column.rows, numbers.data(), 1);
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = contains(numbers[i]);
  }
  return found;
}

Cells MissingMarkers::removed_from(const Cells& column) const {
  const std::vector<bool> found = found_in(column);
  return std::ranges::find(found, true) == found.end() ? column : with_nulls(column, found);
}

}  // namespace widthwise::internal
