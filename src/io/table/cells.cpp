#include "io/table/cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace widthwise::internal {
namespace {

struct NamedKind {
  std::string_view format;
  CellKind kind;
};

constexpr auto kNamedKinds = std::to_array<NamedKind>({
    {"n", CellKind::kNull},      {"b", CellKind::kBool},      {"c", CellKind::kInt8},      {"s", CellKind::kInt16},
    {"i", CellKind::kInt32},     {"l", CellKind::kInt64},     {"C", CellKind::kUInt8},     {"S", CellKind::kUInt16},
    {"I", CellKind::kUInt32},    {"L", CellKind::kUInt64},    {"e", CellKind::kHalf},      {"f", CellKind::kFloat},
    {"g", CellKind::kDouble},    {"z", CellKind::kText},      {"u", CellKind::kText},      {"Z", CellKind::kLargeText},
    {"U", CellKind::kLargeText}, {"vz", CellKind::kTextView}, {"vu", CellKind::kTextView},
});

template <class Offset>
std::string_view text_between(const Cells& cells, std::int64_t row) {
  const auto begin = cells.number<Offset>(row);
  const auto end = cells.number<Offset>(row + 1);
  return {static_cast<const char*>(cells.text[0]) + begin, static_cast<std::size_t>(end - begin)};
}

/// A view contains the length, then a short text itself or a prefix, a buffer index and an offset into this buffer.
std::string_view text_of_view(const Cells& cells, std::int64_t row) {
  constexpr std::int32_t kMaxInside = 12;
  constexpr std::size_t kViewBytes = 16;
  const char* const view =
      static_cast<const char*>(cells.data) + kViewBytes * static_cast<std::size_t>(cells.offset + row);
  const auto length = Cells::value<std::int32_t>(view, 0);
  const auto size = static_cast<std::size_t>(length);
  if (length <= kMaxInside) return {view + sizeof(std::int32_t), size};
  const auto buffer = static_cast<std::size_t>(Cells::value<std::int32_t>(view, 2));
  return {static_cast<const char*>(cells.text[buffer]) + Cells::value<std::int32_t>(view, 3), size};
}

Cells cells_of(const ArrowSchema& schema, const ArrowArray& array, const std::shared_ptr<const void>& owner) {
  Cells cells;
  cells.kind = kind_of_format(schema.format);
  if (cells.kind == CellKind::kTime) cells.time = time_unit_of_format(schema.format);
  cells.rows = array.length;
  cells.offset = array.offset;
  cells.owner = owner;
  if (cells.kind == CellKind::kNull || array.n_buffers < 2) return cells;
  if (array.null_count != 0) cells.validity = static_cast<const std::uint8_t*>(array.buffers[0]);
  cells.data = array.buffers[1];
  if (array.n_buffers > 2) cells.text = const_cast<const void* const*>(array.buffers + 2);
  if (schema.dictionary != nullptr && array.dictionary != nullptr) {
    cells.dictionary = std::make_shared<const Cells>(cells_of(*schema.dictionary, *array.dictionary, owner));
  }
  return cells;
}

}  // namespace

CellKind kind_of_format(std::string_view format) {
  const auto* const found = std::ranges::find(kNamedKinds, format, &NamedKind::format);
  if (found != kNamedKinds.end()) return found->kind;
  if (format.starts_with("d:")) return CellKind::kDecimal;
  const bool is_time = format.starts_with('t') && !format.starts_with("ti");  // intervals have no fixed length
  return is_time ? CellKind::kTime : CellKind::kOther;
}

TimeUnit time_unit_of_format(std::string_view format) {
  if (format == "tdD") return {.kind = CellKind::kInt32, .seconds = 86400};
  constexpr std::string_view kLetters = "smun";
  constexpr std::array<std::int64_t, 4> kPerSecond = {1, 1'000, 1'000'000, 1'000'000'000};
  const std::size_t unit = format.size() > 2 ? kLetters.find(format[2]) : 0;
  return {.kind = format == "tts" || format == "ttm" ? CellKind::kInt32 : CellKind::kInt64,
          .per_second = unit < kPerSecond.size() ? kPerSecond[unit] : 1};
}

bool is_integer(CellKind kind) { return kind >= CellKind::kInt8 && kind <= CellKind::kUInt64; }

bool is_text(CellKind kind) {
  return kind == CellKind::kText || kind == CellKind::kLargeText || kind == CellKind::kTextView;
}

ExportedColumn::~ExportedColumn() {
  if (schema.release != nullptr) schema.release(&schema);
  if (array.release != nullptr) array.release(&array);
}

std::string_view Cells::text_at(std::int64_t row) const {
  if (kind == CellKind::kTextView) return text_of_view(*this, row);
  return kind == CellKind::kText ? text_between<std::int32_t>(*this, row) : text_between<std::int64_t>(*this, row);
}

std::int64_t Cells::index(std::int64_t row) const {
  return with_number_type(kind, [&]<class Number>() { return static_cast<std::int64_t>(number<Number>(row)); });
}

Cells cells_of(std::shared_ptr<const ExportedColumn> column) {
  const ExportedColumn& exported = *column;
  return cells_of(exported.schema, exported.array, std::move(column));
}

double half_number(std::uint16_t bits) {
  constexpr int kExponentBias = 15;
  constexpr int kFractionBits = 10;
  const int exponent = (bits >> kFractionBits) & 0x1F;
  const int fraction = bits & 0x3FF;
  double size = std::ldexp(fraction, 1 - kExponentBias - kFractionBits);
  if (exponent == 0x1F) {
    size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent > 0) {
    size = std::ldexp(fraction + (1 << kFractionBits), exponent - kExponentBias - kFractionBits);
  }
  return (bits & 0x8000U) != 0 ? -size : size;
}

}  // namespace widthwise::internal
