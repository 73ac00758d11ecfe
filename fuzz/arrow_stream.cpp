// Tables of the Arrow C data interface, as the Python package borrows them: any lengths, counts, offsets, views and
// indices, in buffers of the size that the interface requires of a producer, so that sanitizers see each access outside
// them.
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "io/table/cells.hpp"
#include "python/src/table.hpp"
#include "target.hpp"

namespace {

using widthwise::Error;
using widthwise::ErrorCode;
using widthwise::fuzz::accepted;
using widthwise::fuzz::require;
using widthwise::internal::CellKind;
using widthwise::internal::Cells;

constexpr std::size_t kMaxColumns = 3;
constexpr std::int64_t kMaxRows = 1 << 12;
constexpr std::int64_t kMaxText = 1 << 16;

/// The bytes of the input, one number after the other; zeros at the end.
class Numbers {
 public:
  explicit Numbers(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }

  /// Mostly small; now and then one that no array has.
  std::int64_t count(std::int64_t usual) {
    constexpr std::array kOdd = {std::int64_t{-1}, std::int64_t{-2}, std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::min()};
    const std::uint8_t which = byte();
    if (which < 200) return usual;
    return which < 240 ? static_cast<std::int64_t>(byte()) : kOdd[which % kOdd.size()];
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// Arrays and schemas with their memory, which ends exactly behind the last value.
class Producer {
 public:
  explicit Producer(std::span<const std::uint8_t> bytes) : numbers_(bytes) {}

  void fill(ArrowSchema& schema, ArrowArray& batch) {
    constexpr std::array kFormats = {"g", "b",  "c",   "S", "l", "L", "f",  "u",    "U",
                                     "z", "vu", "tdD", "n", "e", "i", "+l", "d:9,2"};
    const std::size_t columns = numbers_.byte() % (kMaxColumns + 1);
    rows_ = numbers_.byte() % 64;
    for (std::size_t j = 0; j < columns; ++j) {
      const char* const format = kFormats[numbers_.byte() % kFormats.size()];
      const bool has_dictionary = numbers_.byte() % 4 == 0;
      ArrowSchema& column = new_schema(format);
      if (has_dictionary) column.dictionary = &new_schema(kFormats[numbers_.byte() % kFormats.size()]);
      if (has_dictionary && numbers_.byte() % 16 == 0) column.dictionary->dictionary = &new_schema("u");
      column_schemas_.push_back(&column);
      column_arrays_.push_back(numbers_.byte() == 255 ? nullptr : &new_array(column, rows_));
    }
    schema = new_schema("+s");
    schema.n_children = static_cast<std::int64_t>(columns);
    schema.children = column_schemas_.data();
    batch = ArrowArray{};
    batch.release = [](ArrowArray* array) { array->release = nullptr; };
    batch.length = numbers_.count(rows_);
    batch.offset = numbers_.count(0);
    batch.n_children = numbers_.count(static_cast<std::int64_t>(columns));
    batch.children = column_arrays_.data();
  }

 private:
  ArrowSchema& new_schema(const char* format) {
    ArrowSchema& schema = schemas_.emplace_back();
    schema.format = format;
    schema.name = "x";
    schema.release = [](ArrowSchema* released) { released->release = nullptr; };
    return schema;
  }

  /// Memory of exactly this many bytes of the input; null now and then.
  void* new_buffer(std::int64_t size) {
    if (size < 0 || size > kMaxText || numbers_.byte() == 255) return nullptr;
    auto memory = std::make_unique<std::uint8_t[]>(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) memory[static_cast<std::size_t>(i)] = numbers_.byte();
    return memories_.emplace_back(std::move(memory)).get();
  }

  ArrowArray& new_array(const ArrowSchema& schema, std::int64_t rows) {
    ArrowArray& array = arrays_.emplace_back();
    array.length = numbers_.count(rows);
    array.offset = numbers_.count(numbers_.byte() % 3);
    array.null_count = numbers_.count(0);
    if (schema.dictionary != nullptr && numbers_.byte() != 255) {
      array.dictionary = &new_array(*schema.dictionary, numbers_.byte() % 8);
    }
    const bool possible =
        array.length >= 0 && array.length <= kMaxRows && array.offset >= 0 && array.offset <= kMaxRows;
    buffers_of(array, widthwise::internal::kind_of_format(schema.format), possible ? array.length + array.offset : 0);
    return array;
  }

  void buffers_of(ArrowArray& array, CellKind kind, std::int64_t cells) {
    std::vector<const void*>& buffers = buffers_.emplace_back();
    buffers.push_back(numbers_.byte() % 2 == 0 ? nullptr : new_buffer((cells + 7) / 8));
    if (kind == CellKind::kText || kind == CellKind::kLargeText) {
      const std::int64_t width = kind == CellKind::kText ? 4 : 8;
      void* const offsets = new_offsets(width, cells);
      buffers.push_back(offsets);
      const std::int64_t last = offsets == nullptr ? 0
                                : width == 4       ? Cells::value<std::int32_t>(offsets, cells)
                                                   : Cells::value<std::int64_t>(offsets, cells);
      // A producer whose offsets are in order has as many bytes of text as the last one states.
      buffers.push_back(last > kMaxText ? nullptr : new_buffer(std::max<std::int64_t>(last, 0)));
      if (last > kMaxText) array.length = -1;
    } else if (kind == CellKind::kTextView) {
      buffers.push_back(new_buffer(16 * cells));
      const std::int64_t size = numbers_.byte();
      buffers.push_back(new_buffer(size));
      void* const sizes = new_buffer(8);
      if (sizes != nullptr) std::memcpy(sizes, &size, sizeof size);
      buffers.push_back(sizes);
    } else if (kind != CellKind::kNull) {
      buffers.push_back(kind == CellKind::kBool ? new_buffer((cells + 7) / 8) : new_buffer(16 * cells));
    }
    array.n_buffers = static_cast<std::int64_t>(buffers.size());
    if (const std::int64_t fewer = numbers_.count(array.n_buffers); fewer < array.n_buffers) array.n_buffers = fewer;
    array.buffers = buffers.data();
  }

  /// Offsets that mostly increase by the next byte; else any.
  void* new_offsets(std::int64_t width, std::int64_t cells) {
    void* const offsets = new_buffer(width * (cells + 1));
    if (offsets == nullptr || numbers_.byte() % 4 == 0) return offsets;
    std::int64_t next = 0;
    for (std::int64_t i = 0; i <= cells; ++i, next += numbers_.byte() % 8) {
      std::memcpy(static_cast<std::uint8_t*>(offsets) + width * i, &next, static_cast<std::size_t>(width));
    }
    return offsets;
  }

  Numbers numbers_;
  std::int64_t rows_ = 0;
  std::deque<ArrowSchema> schemas_;
  std::deque<ArrowArray> arrays_;
  std::deque<std::vector<const void*>> buffers_;
  std::deque<std::unique_ptr<std::uint8_t[]>> memories_;
  std::vector<ArrowSchema*> column_schemas_;
  std::vector<ArrowArray*> column_arrays_;
};

/// A stream of one batch.
struct Source {
  ArrowSchema schema = {};
  ArrowArray batch = {};
  bool sent = false;
};

ArrowArrayStream stream_of(Source& source) {
  ArrowArrayStream stream{};
  stream.private_data = &source;
  stream.get_schema = [](ArrowArrayStream* from, ArrowSchema* out) {
    *out = static_cast<Source*>(from->private_data)->schema;
    return 0;
  };
  stream.get_next = [](ArrowArrayStream* from, ArrowArray* out) {
    auto& made = *static_cast<Source*>(from->private_data);
    *out = made.sent ? ArrowArray{} : made.batch;
    made.sent = true;
    return 0;
  };
  stream.release = [](ArrowArrayStream* released) { released->release = nullptr; };
  return stream;
}

/// Read every cell in every way that its column allows.
void read_all(const widthwise::python::Table& table) {
  const auto rows = table.rows();
  for (std::size_t j = 0; j < table.columns(); ++j) {
    (void)table.kind(j);
    (void)accepted(
        [&] {
          const widthwise::Labels labels = table.labels(j, rows);
          if (labels.size() == 0) return;
          const widthwise::python::Table codes = table.select(std::array{j}, std::array{labels});
          std::vector<double> numbers(rows);
          codes.copy(0, {numbers.data(), rows, 1});
        },
        {ErrorCode::kInvalidArgument});
    if (!table.numeric(j)) continue;
    std::vector<double> numbers(rows);
    table.select(std::array{j}).copy(0, {numbers.data(), rows, 1});
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Producer producer({data, size});
  Source source;
  producer.fill(source.schema, source.batch);
  ArrowArrayStream stream = stream_of(source);
  (void)accepted([&] {
    const auto table = widthwise::python::Table::from_stream(stream);
    require(table.columns() == static_cast<std::size_t>(source.schema.n_children), "a table has its columns");
    read_all(table);
  });
  return 0;
}
