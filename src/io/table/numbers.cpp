#include "io/table/numbers.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/text.hpp"
#include "io/table/cell.hpp"

namespace widthwise::internal {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class Read>
void fill(const Cells& column, std::int64_t begin, std::int64_t end, double* out, std::size_t stride,
          const Read& read) {
  if (column.validity == nullptr) {
    for (std::int64_t i = begin; i < end; ++i, out += stride) *out = read(i);
  } else {
    for (std::int64_t i = begin; i < end; ++i, out += stride) *out = column.is_null(i) ? kNaN : read(i);
  }
}

std::optional<std::int64_t> fill_from_text(const Cells& column, std::int64_t begin, std::int64_t end, double* out,
                                           std::size_t stride) {
  for (std::int64_t i = begin; i < end; ++i, out += stride) {
    const std::optional<double> number = column.is_null(i) ? kNaN : number_in_cell(column.text_at(i));
    if (!number) return i;
    *out = *number;
  }
  return std::nullopt;
}

/// The moment of a cell of kind kTime that is not missing.
Moment moment_of_time(const Cells& column, std::int64_t row) {
  constexpr std::int64_t kAtto = 1'000'000'000'000'000'000;
  const std::int64_t units = with_number_type(
      column.time.kind, [&]<class Number>() { return static_cast<std::int64_t>(column.number<Number>(row)); });
  const std::int64_t per_second = column.time.per_second;
  std::int64_t whole = units / per_second;
  std::int64_t after = units % per_second;
  if (after < 0) {
    --whole;
    after += per_second;
  }
  return Moment::of(whole * column.time.seconds, after * (kAtto / per_second));
}

/// The moment of a cell that is not missing, whose number is rounded.
Moment moment_of_cell(const Cells& column, std::int64_t row, double number) {
  if (column.kind == CellKind::kTime) return moment_of_time(column, row);
  if (column.kind == CellKind::kInt64) return Moment::of(column.number<std::int64_t>(row));
  if (column.kind == CellKind::kUInt64) return Moment::of(column.number<std::uint64_t>(row));
  if (is_text(column.kind)) {
    const std::string_view text = trimmed(column.text_at(row));
    if (const auto integer = key_in_cell(text)) {
      return text.starts_with('-') ? Moment::of(static_cast<std::int64_t>(*integer)) : Moment::of(*integer);
    }
  }
  return {.number = number};
}

std::optional<std::int64_t> keys_from_text(const Cells& column, std::span<std::uint64_t> out) {
  for (std::int64_t i = 0; i < column.rows; ++i) {
    const std::optional<std::uint64_t> key = key_in_cell(column.text_at(i));
    if (!key) return i;
    out[static_cast<std::size_t>(i)] = *key;
  }
  return std::nullopt;
}

}  // namespace

bool is_number_kind(CellKind kind) {
  return is_integer(kind) || kind == CellKind::kHalf || kind == CellKind::kFloat || kind == CellKind::kDouble ||
         kind == CellKind::kDecimal || kind == CellKind::kBool || kind == CellKind::kNull;
}

std::optional<std::int64_t> fill_numbers(const Cells& column, std::int64_t begin, std::int64_t end, double* out,
                                         std::size_t stride) {
  if (is_text(column.kind)) return fill_from_text(column, begin, end, out, stride);
  if (column.kind == CellKind::kNull) {
    for (std::int64_t i = begin; i < end; ++i, out += stride) *out = kNaN;
  } else if (column.kind == CellKind::kBool) {
    fill(column, begin, end, out, stride, [&](std::int64_t i) { return column.truth(i) ? 1.0 : 0.0; });
  } else if (column.kind == CellKind::kHalf) {
    fill(column, begin, end, out, stride, [&](std::int64_t i) { return half_number(column.number<std::uint16_t>(i)); });
  } else if (column.kind == CellKind::kTime) {
    fill(column, begin, end, out, stride, [&](std::int64_t i) { return moment_of_time(column, i).number; });
  } else {
    with_number_type(column.kind, [&]<class Number>() {
      fill(column, begin, end, out, stride,
           [&](std::int64_t i) { return static_cast<double>(column.number<Number>(i)); });
    });
  }
  return std::nullopt;
}

void append_moments(const Cells& column, std::int64_t begin, std::int64_t end, std::vector<Moment>& out) {
  for (std::int64_t i = begin; i < end; ++i) {
    double number = kNaN;
    (void)fill_numbers(column, i, i + 1, &number, 1);
    out.push_back(std::isnan(number) ? Moment{.number = number} : moment_of_cell(column, i, number));
  }
}

std::optional<std::int64_t> fill_keys(const Cells& column, std::span<std::uint64_t> out) {
  if (is_text(column.kind)) return keys_from_text(column, out);
  return with_number_type(column.kind, [&]<class Number>() -> std::optional<std::int64_t> {
    if constexpr (std::is_integral_v<Number>) {
      for (std::int64_t i = 0; i < column.rows; ++i) {
        if (column.is_null(i)) return i;
        // Negative keys stay negative for any width of the column.
        // NOLINTNEXTLINE(bugprone-signed-char-misuse)
        out[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(column.number<Number>(i));
      }
      return std::nullopt;
    } else {
      throw std::logic_error("fill_keys: the cells are not integers");
    }
  });
}

}  // namespace widthwise::internal
