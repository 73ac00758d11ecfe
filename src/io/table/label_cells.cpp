#include "io/table/label_cells.hpp"

#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "io/table/cell.hpp"

namespace widthwise::internal {
namespace {

constexpr double kMissingLabel = std::numeric_limits<double>::quiet_NaN();

/// The number of a label, which is added if labels are collected.
double number_of(std::string_view label, const SelectedColumn& selected) {
  if (selected.known != nullptr) {
    const double number = selected.known->number_of(label);
    if (std::isnan(number) && selected.unknown != nullptr) selected.unknown->add(label, *selected.known);
    return number;
  }
  Labels& labels = *selected.collected;
  if (labels.size() > selected.max_labels) return labels.number_of(label);
  return static_cast<double>(labels.add(label));
}

/// Empty for a number that is not an integer, if labels are collected. That of text is also empty if it is not UTF-8:
/// the same label in another encoding would be another category.
std::optional<double> number_of(double value, const SelectedColumn& selected) {
  if (std::isnan(value)) return kMissingLabel;
  if (const std::optional<std::string> label = label_of(value)) return number_of(*label, selected);
  if (selected.collected != nullptr) return std::nullopt;
  return number_of(text_of(value), selected);
}

std::optional<double> number_of_text(std::string_view text, const SelectedColumn& selected, bool of_numbers) {
  const std::optional<std::string_view> label = label_of_text(text);
  if (!label) return kMissingLabel;
  if (!is_utf8(*label)) return std::nullopt;
  if (of_numbers && selected.collected != nullptr && type_of_cell(*label) == CellType::kReal) return std::nullopt;
  return number_of(*label, selected);
}

/// The number of the label in a row; empty as above.
std::optional<double> number_at(const Cells& column, std::int64_t row, const SelectedColumn& selected,
                                bool of_numbers) {
  if (column.kind == CellKind::kBool) {
    return number_of(std::string_view(column.truth(row) ? "true" : "false"), selected);
  }
  if (is_text(column.kind)) return number_of_text(column.text_at(row), selected, of_numbers);
  return with_number_type(column.kind, [&]<class Number>() -> std::optional<double> {
    const auto number = column.number<Number>(row);
    if constexpr (std::is_integral_v<Number>) {
      return number_of(std::to_string(number), selected);
    } else {
      return number_of(static_cast<double>(number), selected);
    }
  });
}

/// Number each value of a dictionary at its first use: unused values are no labels.
std::optional<std::int64_t> fill_from_dictionary(const Cells& column, std::int64_t begin, std::int64_t end,
                                                 const SelectedColumn& selected, double* out, std::size_t stride) {
  const Cells& values = *column.dictionary;
  std::vector<std::optional<double>> numbers(static_cast<std::size_t>(values.rows));
  for (std::int64_t i = begin; i < end; ++i, out += stride) {
    *out = kMissingLabel;
    if (column.is_null(i)) continue;
    const std::int64_t value = column.index(i);
    std::optional<double>& number = numbers[static_cast<std::size_t>(value)];
    // An unknown label is counted in every row.
    if (!number || (std::isnan(*number) && selected.unknown != nullptr)) {
      double found = kMissingLabel;
      if (fill_labels(values, value, value + 1, selected, false, &found, 1)) return i;
      number = found;
    }
    *out = *number;
  }
  return std::nullopt;
}

/// The text of a cell, as labels are written; empty if it is missing.
std::string text_at(const Cells& column, std::int64_t row) {
  if (column.is_null(row)) return {};
  if (column.dictionary) return text_at(*column.dictionary, column.index(row));
  if (column.kind == CellKind::kBool) return column.truth(row) ? "true" : "false";
  if (is_text(column.kind)) return std::string(label_of_text(column.text_at(row)).value_or(std::string_view()));
  return with_number_type(column.kind, [&]<class Number>() -> std::string {
    const auto number = column.number<Number>(row);
    if constexpr (std::is_integral_v<Number>) {
      return std::to_string(number);
    } else {
      const auto value = static_cast<double>(number);
      return std::isnan(value) ? std::string() : label_of(value).value_or(text_of(value));
    }
  });
}

/// Append the texts of cells. Return the first row whose text is not UTF-8, if any.
std::optional<std::int64_t> append_texts(const Cells& column, std::int64_t begin, std::int64_t end,
                                         std::vector<std::string>& texts, double* out, std::size_t stride) {
  for (std::int64_t i = begin; i < end; ++i, out += stride) {
    *out = kMissingLabel;
    texts.push_back(text_at(column, i));
    if (!is_utf8(texts.back())) return i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> label_not_utf8(const Cells& column, std::int64_t row) {
  if (column.dictionary) return label_not_utf8(*column.dictionary, column.index(row));
  if (!is_text(column.kind) || is_utf8(column.text_at(row))) return std::nullopt;
  return column.text_at(row);
}

bool is_label_kind(CellKind kind) {
  return is_integer(kind) || is_text(kind) || kind == CellKind::kBool || kind == CellKind::kFloat ||
         kind == CellKind::kDouble || kind == CellKind::kNull;
}

std::optional<std::int64_t> fill_labels(const Cells& column, std::int64_t begin, std::int64_t end,
                                        const SelectedColumn& selected, bool of_numbers, double* out,
                                        std::size_t stride) {
  if (selected.texts != nullptr) return append_texts(column, begin, end, *selected.texts, out, stride);
  if (column.dictionary) return fill_from_dictionary(column, begin, end, selected, out, stride);
  for (std::int64_t i = begin; i < end; ++i, out += stride) {
    const std::optional<double> number = column.is_null(i) ? kMissingLabel : number_at(column, i, selected, of_numbers);
    if (!number) return i;
    *out = *number;
  }
  return std::nullopt;
}

}  // namespace widthwise::internal
