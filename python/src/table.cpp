#include "table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include <widthwise/error.hpp>

#include "arrow.hpp"
#include "message.hpp"

namespace widthwise::python {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool bit(const std::uint8_t* bits, std::size_t i) { return ((bits[i / 8] >> (i % 8)) & 1U) != 0; }

template <class Number>
void copy_numbers(const Column& column, std::size_t first, std::size_t count, double* out, std::size_t step) {
  const std::byte* at = column.data + static_cast<std::ptrdiff_t>(first) * column.stride;
  for (std::size_t i = 0; i < count; ++i, at += column.stride, out += step) {
    Number number;
    std::memcpy(&number, at, sizeof number);
    *out = static_cast<double>(number);
  }
}

void copy_bits(const Column& column, std::size_t first, std::size_t count, double* out, std::size_t step) {
  const auto* bits = reinterpret_cast<const std::uint8_t*>(column.data);
  for (std::size_t i = 0; i < count; ++i) out[i * step] = bit(bits, column.offset + first + i) ? 1 : 0;
}

void copy_missing(const Column& /*column*/, std::size_t /*first*/, std::size_t count, double* out, std::size_t step) {
  for (std::size_t i = 0; i < count; ++i) out[i * step] = kMissing;
}

/// A kind of number that columns are made of.
struct NumberType {
  NumberKind kind;
  char letter;       // in Arrow's specification
  std::size_t size;  // bytes of a number
  void (*copy)(const Column&, std::size_t, std::size_t, double*, std::size_t);
};

constexpr auto kNumberTypes = std::to_array<NumberType>({
    {NumberKind::kDouble, 'g', 8, copy_numbers<double>},
    {NumberKind::kFloat, 'f', 4, copy_numbers<float>},
    {NumberKind::kInt8, 'c', 1, copy_numbers<std::int8_t>},
    {NumberKind::kInt16, 's', 2, copy_numbers<std::int16_t>},
    {NumberKind::kInt32, 'i', 4, copy_numbers<std::int32_t>},
    {NumberKind::kInt64, 'l', 8, copy_numbers<std::int64_t>},
    {NumberKind::kUInt8, 'C', 1, copy_numbers<std::uint8_t>},
    {NumberKind::kUInt16, 'S', 2, copy_numbers<std::uint16_t>},
    {NumberKind::kUInt32, 'I', 4, copy_numbers<std::uint32_t>},
    {NumberKind::kUInt64, 'L', 8, copy_numbers<std::uint64_t>},
    {NumberKind::kBits, 'b', 0, copy_bits},
    {NumberKind::kNull, 'n', 0, copy_missing},
    {NumberKind::kOther, '\0', 0, copy_missing},
});

void copy_column(const Column& column, std::size_t first, std::size_t count, double* out, std::size_t step) {
  std::ranges::find(kNumberTypes, column.kind, &NumberType::kind)->copy(column, first, count, out, step);
  if (column.validity == nullptr) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (!bit(column.validity, column.offset + first + i)) out[i * step] = kMissing;
  }
}

NumberType type_of(const ArrowSchema& schema) {
  const bool plain = schema.dictionary == nullptr && std::strlen(schema.format) == 1;
  const auto* found = std::ranges::find(kNumberTypes, plain ? schema.format[0] : '\0', &NumberType::letter);
  return found == kNumberTypes.end() ? kNumberTypes.back() : *found;
}

Column column_of(const ArrowArray& array, const NumberType& type, std::size_t parent_offset) {
  Column column;
  column.kind = type.kind;
  if (type.kind == NumberKind::kOther || type.kind == NumberKind::kNull) return column;
  column.offset = static_cast<std::size_t>(array.offset) + parent_offset;
  if (array.null_count != 0) column.validity = static_cast<const std::uint8_t*>(array.buffers[0]);
  column.data = static_cast<const std::byte*>(array.buffers[1]);
  column.stride = static_cast<std::ptrdiff_t>(type.size);
  if (type.kind != NumberKind::kBits) column.data += column.offset * type.size;
  return column;
}

/// Something of Arrow's that is released when the last user goes.
template <class Thing>
std::shared_ptr<Thing> owned() {
  return {new Thing{}, [](Thing* thing) {
            if (thing->release != nullptr) thing->release(thing);
            delete thing;
          }};
}

void check(ArrowArrayStream& stream, int status) {
  if (status == 0) return;
  const char* words = stream.get_last_error != nullptr ? stream.get_last_error(&stream) : nullptr;
  throw Error(ErrorCode::kBadData, std::string("Arrow stream: ") + (words != nullptr ? words : "unknown error"));
}

}  // namespace

Table::Table(std::vector<std::string> names, std::vector<Chunk> chunks, std::vector<std::shared_ptr<void>> owners)
    : names_(std::move(names)), chunks_(std::move(chunks)), starts_{0}, owners_(std::move(owners)) {
  for (const Chunk& chunk : chunks_) {
    if (chunk.columns.size() != names_.size()) {
      throw internal::make_error(ErrorCode::kShapeMismatch, "table: {} columns, {} names", chunk.columns.size(),
                                 names_.size());
    }
    starts_.push_back(starts_.back() + chunk.rows);
  }
}

Table Table::from_stream(ArrowArrayStream& stream) {
  const auto schema = owned<ArrowSchema>();
  check(stream, stream.get_schema(&stream, schema.get()));
  if (std::strcmp(schema->format, "+s") != 0) {
    throw Error(ErrorCode::kBadData, "Arrow stream: expected a table, found a single column");
  }
  const auto columns = static_cast<std::size_t>(schema->n_children);
  std::vector<std::string> names;
  std::vector<NumberType> types;
  for (std::size_t j = 0; j < columns; ++j) {
    names.emplace_back(schema->children[j]->name != nullptr ? schema->children[j]->name : "");
    types.push_back(type_of(*schema->children[j]));
  }
  std::vector<Chunk> chunks;
  std::vector<std::shared_ptr<void>> owners;
  for (;;) {
    const auto array = owned<ArrowArray>();
    check(stream, stream.get_next(&stream, array.get()));
    if (array->release == nullptr) break;
    Chunk chunk{static_cast<std::size_t>(array->length), {}};
    for (std::size_t j = 0; j < columns; ++j) {
      chunk.columns.push_back(column_of(*array->children[j], types[j], static_cast<std::size_t>(array->offset)));
    }
    chunks.push_back(std::move(chunk));
    owners.push_back(array);
  }
  // A table without rows still has columns of a kind.
  if (chunks.empty()) {
    Chunk chunk;
    for (const NumberType& type : types) chunk.columns.push_back({.kind = type.kind});
    chunks.push_back(std::move(chunk));
  }
  return {std::move(names), std::move(chunks), std::move(owners)};
}

bool Table::numeric(std::size_t column) const {
  return std::ranges::all_of(chunks_,
                             [&](const Chunk& chunk) { return chunk.columns[column].kind != NumberKind::kOther; });
}

Table Table::select(std::span<const std::size_t> columns) const {
  std::vector<std::string> names;
  for (const std::size_t column : columns) {
    if (!numeric(column)) {
      throw internal::make_error(ErrorCode::kInvalidArgument, "column '{}' is not numeric", names_[column]);
    }
    names.push_back(names_[column]);
  }
  std::vector<Chunk> chunks;
  for (const Chunk& chunk : chunks_) {
    Chunk selected{chunk.rows, {}};
    for (const std::size_t column : columns) selected.columns.push_back(chunk.columns[column]);
    chunks.push_back(std::move(selected));
  }
  return {std::move(names), std::move(chunks), owners_};
}

std::optional<MatrixView> Table::as_matrix() const {
  if (chunks_.size() != 1 || chunks_[0].columns.empty()) return std::nullopt;
  const auto& columns = chunks_[0].columns;
  const std::ptrdiff_t stride = columns[0].stride;
  if (stride <= 0 || stride % static_cast<std::ptrdiff_t>(sizeof(double)) != 0 ||
      reinterpret_cast<std::uintptr_t>(columns[0].data) % alignof(double) != 0) {
    return std::nullopt;
  }
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const Column& column = columns[j];
    if (column.kind != NumberKind::kDouble || column.validity != nullptr || column.stride != stride ||
        column.data != columns[0].data + j * sizeof(double)) {
      return std::nullopt;
    }
  }
  return MatrixView(reinterpret_cast<const double*>(columns[0].data), rows(), columns.size(),
                    static_cast<std::size_t>(stride) / sizeof(double));
}

void Table::copy(std::size_t first, MutableMatrixView out) const {
  std::size_t done = 0;
  auto chunk = static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), first) - starts_.begin()) - 1;
  while (done < out.rows()) {
    const std::size_t inside = first + done - starts_[chunk];
    const std::size_t count = std::min(out.rows() - done, chunks_[chunk].rows - inside);
    for (std::size_t j = 0; j < columns(); ++j) {
      copy_column(chunks_[chunk].columns[j], inside, count, out.data() + done * out.stride() + j, out.stride());
    }
    done += count;
    ++chunk;
  }
}

}  // namespace widthwise::python
