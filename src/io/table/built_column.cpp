#include "io/table/built_column.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace widthwise::internal {
namespace {

void set_bit(std::vector<std::uint8_t>& bits, std::size_t place, bool value) {
  if (place / 8 >= bits.size()) bits.push_back(0);
  if (value) bits[place / 8] = static_cast<std::uint8_t>(bits[place / 8] | (1U << (place % 8)));
}

const char* format_of(CellKind kind) {
  switch (kind) {
    case CellKind::kBool:
      return "b";
    case CellKind::kInt64:
      return "l";
    case CellKind::kDouble:
      return "g";
    case CellKind::kText:
      return "u";
    default:
      throw std::logic_error("BuiltColumn: columns of this kind are not built");
  }
}

constexpr std::int64_t kNullable = 2;  // the flag ARROW_FLAG_NULLABLE

}  // namespace

/// Invariant: `buffers` points to the other members when the column is finished.
struct BuiltColumn::Memory {
  CellKind kind = CellKind::kOther;
  std::int64_t rows = 0;
  std::int64_t nulls = 0;
  std::vector<std::uint8_t> validity;
  std::vector<std::uint8_t> data;  // numbers, bits or offsets
  std::string text;
  std::array<const void*, 3> buffers = {};
};

BuiltColumn::BuiltColumn(CellKind kind, std::size_t rows) : memory_(std::make_unique<Memory>()) {
  memory_->kind = kind;
  memory_->validity.reserve(rows / 8 + 1);
  memory_->data.reserve(kind == CellKind::kBool ? rows / 8 + 1 : (rows + 1) * sizeof(double));
  if (kind == CellKind::kText) append(std::int32_t{0});
}

BuiltColumn::~BuiltColumn() = default;

template <class Number>
void BuiltColumn::append(Number number) {
  const std::size_t end = memory_->data.size();
  memory_->data.resize(end + sizeof number);
  std::memcpy(memory_->data.data() + end, &number, sizeof number);
}

void BuiltColumn::add_validity(bool valid) {
  set_bit(memory_->validity, static_cast<std::size_t>(memory_->rows), valid);
  memory_->nulls += valid ? 0 : 1;
  ++memory_->rows;
}

void BuiltColumn::add_null() {
  if (memory_->kind == CellKind::kBool) {
    set_bit(memory_->data, static_cast<std::size_t>(memory_->rows), false);
  } else if (memory_->kind == CellKind::kText) {
    append(static_cast<std::int32_t>(memory_->text.size()));
  } else {
    append(std::int64_t{0});
  }
  add_validity(false);
}

void BuiltColumn::add_truth(bool truth) {
  set_bit(memory_->data, static_cast<std::size_t>(memory_->rows), truth);
  add_validity(true);
}

void BuiltColumn::add(std::int64_t number) {
  append(number);
  add_validity(true);
}

void BuiltColumn::add(double number) {
  append(number);
  add_validity(true);
}

void BuiltColumn::add(std::string_view text) {
  constexpr std::size_t kMaxBytes = std::numeric_limits<std::int32_t>::max();
  if (text.size() > kMaxBytes - memory_->text.size()) throw std::length_error("a column of a batch exceeds 2 GB");
  memory_->text += text;
  append(static_cast<std::int32_t>(memory_->text.size()));
  add_validity(true);
}

std::unique_ptr<ExportedColumn> BuiltColumn::finish() && {
  auto column = std::make_unique<ExportedColumn>();
  column->schema.format = format_of(memory_->kind);
  column->schema.name = "";
  column->schema.flags = kNullable;
  column->schema.release = [](ArrowSchema* schema) { schema->release = nullptr; };
  Memory* const memory = memory_.release();  // freed by the function below
  memory->buffers = {memory->nulls > 0 ? memory->validity.data() : nullptr, memory->data.data(), memory->text.data()};
  column->array.length = memory->rows;
  column->array.null_count = memory->nulls;
  column->array.n_buffers = memory->kind == CellKind::kText ? 3 : 2;
  column->array.buffers = memory->buffers.data();
  column->array.private_data = memory;
  column->array.release = [](ArrowArray* array) {
    delete static_cast<Memory*>(array->private_data);
    array->release = nullptr;
  };
  return column;
}

}  // namespace widthwise::internal
