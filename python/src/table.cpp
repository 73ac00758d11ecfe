#include "table.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <widthwise/error.hpp>

#include "arrow_checks.hpp"
#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise::python {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool is_number(CellKind kind) {
  return internal::is_integer(kind) || kind == CellKind::kFloat || kind == CellKind::kDouble;
}

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

void copy_values(const Column& column, std::size_t first, std::size_t count, double* out, std::size_t step) {
  if (column.kind == CellKind::kBool) {
    const auto copy = column.bits ? copy_bits : copy_numbers<std::uint8_t>;
    copy(column, first, count, out, step);
  } else if (is_number(column.kind)) {
    internal::with_number_type(column.kind,
                               [&]<class Number>() { copy_numbers<Number>(column, first, count, out, step); });
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i * step] = kMissing;
  }
}

void copy_column(const Column& column, std::size_t first, std::size_t count, double* out, std::size_t step) {
  copy_values(column, first, count, out, step);
  if (column.validity == nullptr) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (!bit(column.validity, column.offset + first + i)) out[i * step] = kMissing;
  }
}

bool is_missing(const Column& column, std::size_t row) {
  return column.kind == CellKind::kNull || (column.validity != nullptr && !bit(column.validity, column.offset + row));
}

std::string_view text_at(const Column& column, std::size_t row) {
  const internal::Cells cells{.kind = column.kind,
                              .offset = static_cast<std::int64_t>(column.offset),
                              .data = column.data,
                              .text = column.text};
  return cells.text_at(static_cast<std::int64_t>(row));
}

/// The label of a value in a numeric column; for a number that is not an integer, its text.
std::string label_of_number(const Column& column, std::size_t row) {
  if (column.kind == CellKind::kInt64 || column.kind == CellKind::kUInt64) {
    const std::byte* const at = column.data + static_cast<std::ptrdiff_t>(row) * column.stride;
    return column.kind == CellKind::kInt64 ? label_of(internal::Cells::value<std::int64_t>(at, 0))
                                           : std::to_string(internal::Cells::value<std::uint64_t>(at, 0));
  }
  double number = kMissing;
  copy_column(column, row, 1, &number, 1);
  if (column.kind == CellKind::kBool) return number != 0 ? "true" : "false";
  const std::optional<std::string> label = label_of(number);
  return label ? *label : internal::text_of(number);
}

/// The index into the dictionary for a row, which was checked; empty if the value is missing.
std::optional<std::size_t> place_in_dictionary(const Column& column, std::size_t row) {
  double place = kMissing;
  copy_column(column, row, 1, &place, 1);
  if (!(place >= 0 && place < static_cast<double>(column.dictionary->size()))) return std::nullopt;
  return static_cast<std::size_t>(place);
}

/// The label of a row, which may be stored in `buffer`; empty if the value is missing.
std::optional<std::string_view> label_at(const Column& column, std::size_t row, std::string& buffer) {
  if (column.dictionary != nullptr) {
    const std::optional<std::size_t> place = place_in_dictionary(column, row);
    if (!place) return std::nullopt;
    const std::optional<std::string>& label = (*column.dictionary)[*place];
    if (!label) return std::nullopt;
    return *label;
  }
  if (is_missing(column, row)) return std::nullopt;
  if (internal::is_text(column.kind)) return label_of_text(text_at(column, row));
  buffer = label_of_number(column, row);
  if (buffer == "nan") return std::nullopt;
  return buffer;
}

bool has_labels(CellKind kind) { return kind != CellKind::kTime && kind != CellKind::kOther; }

/// The kind of an Arrow type, kOther if it is not read: half precision, decimals and bytes.
CellKind kind_named(std::string_view format) {
  const CellKind kind = internal::kind_of_format(format);
  const bool bytes = format == "z" || format == "Z" || format == "vz";
  return bytes || kind == CellKind::kHalf || kind == CellKind::kDecimal ? CellKind::kOther : kind;
}

/// An Arrow type: of the values, or of the indices into a dictionary.
struct ArrowType {
  CellKind kind = CellKind::kOther;
  std::optional<CellKind> values = std::nullopt;  // of the dictionary
};

ArrowType type_of(const ArrowSchema& schema) {
  if (schema.dictionary == nullptr) return {.kind = kind_named(schema.format)};
  const CellKind values = kind_named(schema.dictionary->format);
  const bool nested = schema.dictionary->dictionary != nullptr;
  if (nested || !has_labels(values)) return {};
  return {.kind = kind_named(schema.format), .values = values};
}

Column column_of(const ArrowArray& array, CellKind kind, std::size_t parent_offset) {
  Column column;
  column.kind = kind;
  column.bits = kind == CellKind::kBool;
  if (!has_labels(kind) || kind == CellKind::kNull) return column;
  column.offset = static_cast<std::size_t>(array.offset) + parent_offset;
  if (array.null_count != 0) column.validity = static_cast<const std::uint8_t*>(array.buffers[0]);
  column.data = static_cast<const std::byte*>(array.buffers[1]);
  if (is_number(kind)) {
    const std::size_t size = internal::with_number_type(kind, []<class Number>() { return sizeof(Number); });
    column.stride = static_cast<std::ptrdiff_t>(size);
    column.data += column.offset * size;
  }
  if (internal::is_text(kind)) column.text = const_cast<const void* const*>(array.buffers + 2);
  return column;
}

Column column_of(const ArrowArray& array, const ArrowType& type, std::size_t parent_offset) {
  Column column = column_of(array, type.kind, parent_offset);
  if (!type.values) return column;
  const Column values = column_of(*array.dictionary, *type.values, 0);
  auto dictionary = std::make_shared<Dictionary>(static_cast<std::size_t>(array.dictionary->length));
  std::string buffer;
  for (std::size_t i = 0; i < dictionary->size(); ++i) {
    if (const auto label = label_at(values, i, buffer)) (*dictionary)[i] = std::string(*label);
  }
  column.dictionary = std::move(dictionary);
  return column;
}

/// An Arrow structure with shared ownership; the last owner releases it.
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
  if (stream.release == nullptr) throw Error(ErrorCode::kBadData, "Arrow stream: it has been read already");
  const auto schema = owned<ArrowSchema>();
  check(stream, stream.get_schema(&stream, schema.get()));
  check_schema(*schema);
  const auto columns = static_cast<std::size_t>(schema->n_children);
  std::vector<std::string> names;
  std::vector<ArrowType> types;
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
    check_batch(*schema, *array);
    Chunk chunk{static_cast<std::size_t>(array->length), {}};
    for (std::size_t j = 0; j < columns; ++j) {
      chunk.columns.push_back(column_of(*array->children[j], types[j], static_cast<std::size_t>(array->offset)));
    }
    chunks.push_back(std::move(chunk));
    owners.push_back(array);
  }
  // Keep the column types of a table without rows.
  if (chunks.empty()) {
    Chunk chunk;
    for (const ArrowType& type : types) {
      Column column{.kind = type.kind};
      if (type.values) column.dictionary = std::make_shared<const Dictionary>();
      chunk.columns.push_back(std::move(column));
    }
    chunks.push_back(std::move(chunk));
  }
  return {std::move(names), std::move(chunks), std::move(owners)};
}

bool Column::numeric() const {
  return dictionary == nullptr && !internal::is_text(kind) && kind != CellKind::kTime && kind != CellKind::kOther;
}

std::string_view Table::kind(std::size_t column) const {
  const auto all = [&](const auto& is) {
    return std::ranges::all_of(chunks_, [&](const Chunk& chunk) { return is(chunk.columns[column]); });
  };
  if (all([](const Column& part) { return part.numeric(); })) return "number";
  if (all([](const Column& part) { return part.dictionary != nullptr || internal::is_text(part.kind); })) return "text";
  return all([](const Column& part) { return part.kind == CellKind::kTime; }) ? "time" : "other";
}

template <class Use>
void Table::for_each_label(std::size_t column, const Use& use) const {
  const std::string_view of = kind(column);
  if (of != "number" && of != "text") {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "column '{}' holds no labels; expected text, booleans or integers{}{}", names_[column],
                               of == "time" ? "; " : "", of == "time" ? kDeriveFromDates : "");
  }
  std::string buffer;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const Column& part = chunks_[i].columns[column];
    for (std::size_t row = 0; row < chunks_[i].rows; ++row) use(i, row, label_at(part, row, buffer));
  }
}

Labels Table::labels(std::size_t column, std::size_t max) const {
  Labels labels;
  const bool of_numbers = numeric(column);
  for_each_label(column, [&](std::size_t, std::size_t, std::optional<std::string_view> label) {
    if (!label || labels.size() > max) return;
    const bool is_real = of_numbers && *label != "true" && *label != "false" &&
                         label->find_first_not_of("-0123456789") != std::string_view::npos;
    if (is_real) {
      throw internal::make_error(ErrorCode::kInvalidArgument,
                                 "column '{}' holds {}, which is not an integer; expected text, booleans or integers",
                                 names_[column], *label);
    }
    labels.add(*label);
  });
  return labels;
}

Table Table::select(std::span<const std::size_t> columns, std::span<const Labels> labels) const {
  std::vector<std::string> names;
  std::vector<Chunk> chunks;
  for (const Chunk& chunk : chunks_) chunks.push_back({chunk.rows, {}});
  std::vector<std::shared_ptr<void>> owners = owners_;
  std::vector<UnknownLabels> unknown;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const std::size_t column = columns[j];
    names.push_back(names_[column]);
    if (!labels.empty() && labels[j].size() > 0) {
      unknown.push_back(add_codes(column, labels[j], chunks, owners));
    } else if (numeric(column)) {
      for (std::size_t i = 0; i < chunks.size(); ++i) chunks[i].columns.push_back(chunks_[i].columns[column]);
    } else {
      throw internal::make_error(ErrorCode::kInvalidArgument, "column '{}' is not numeric", names_[column]);
    }
  }
  Table selected(std::move(names), std::move(chunks), std::move(owners));
  selected.unknown_ = std::move(unknown);
  return selected;
}

UnknownLabels Table::add_codes(std::size_t column, const Labels& labels, std::vector<Chunk>& chunks,
                               std::vector<std::shared_ptr<void>>& owners) const {
  std::vector<float*> codes;  // per chunk; exact up to 2^24 labels
  for (Chunk& chunk : chunks) {
    auto memory = std::make_shared<std::vector<float>>(chunk.rows);
    codes.push_back(memory->data());
    chunk.columns.push_back({.kind = CellKind::kFloat,
                             .data = reinterpret_cast<const std::byte*>(memory->data()),
                             .stride = sizeof(float)});
    owners.push_back(std::move(memory));
  }
  UnknownLabels unknown{.feature = names_[column]};
  for_each_label(column, [&](std::size_t chunk, std::size_t row, std::optional<std::string_view> label) {
    const double number = label ? labels.number_of(*label) : kMissing;
    codes[chunk][row] = static_cast<float>(number);
    if (!label) return;
    if (std::isnan(number)) {
      unknown.add(*label, labels);
    } else {
      ++unknown.values;
    }
  });
  return unknown;
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
    if (column.kind != CellKind::kDouble || column.validity != nullptr || column.stride != stride ||
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
