#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/labels.hpp>
#include <widthwise/matrix_view.hpp>

struct ArrowArrayStream;

namespace widthwise::python {

/// What the values of a column are in memory.
enum class NumberKind {
  kDouble,
  kFloat,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kBool,  ///< a byte each
  kBits,
  kNull,
  kText,       ///< with offsets of 32 bits
  kLargeText,  ///< of 64 bits
  kTextView,   ///< views of 16 bytes
  kTime,       ///< dates, times and durations
  kOther
};

/// The labels that the integers of a column stand for; empty where the value is missing.
using Dictionary = std::vector<std::optional<std::string>>;

/// Borrowed values of one column: numbers, text, or integers that refer to a dictionary.
struct Column {
  NumberKind kind = NumberKind::kOther;
  const std::byte* data = nullptr;         ///< numbers, offsets or views
  std::ptrdiff_t stride = 0;               ///< bytes from one number to the next; of kBits none
  const std::uint8_t* validity = nullptr;  ///< a bit a number, 0 where it is missing; null when none is
  std::size_t offset = 0;                  ///< the first number's place among the bits
  const void* const* text = nullptr;       ///< of kText and kLargeText the bytes, of kTextView the buffers
  std::shared_ptr<const Dictionary> dictionary = nullptr;

  /// True when the column holds numbers.
  [[nodiscard]] bool numeric() const;
};

/// A table as Python has it: columns or a matrix of any kind of number, whole or in chunks. Nothing is copied until
/// rows are asked for, so a table takes no memory of its own.
class Table {
 public:
  struct Chunk {
    std::size_t rows = 0;
    std::vector<Column> columns;
  };

  /// `owners` keep the memory of the chunks.
  Table(std::vector<std::string> names, std::vector<Chunk> chunks, std::vector<std::shared_ptr<void>> owners);

  /// Take all chunks of a stream of records, and release it.
  [[nodiscard]] static Table from_stream(ArrowArrayStream& stream);

  [[nodiscard]] std::size_t rows() const { return starts_.back(); }
  [[nodiscard]] std::size_t columns() const { return names_.size(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  /// "number", "text" (also dictionaries), "time" or "other".
  [[nodiscard]] std::string_view kind(std::size_t column) const;
  [[nodiscard]] bool numeric(std::size_t column) const { return kind(column) == "number"; }

  /// The distinct labels of a column of text, booleans or integers, in the order of the rows: all, or max + 1 of them.
  /// Throws kInvalidArgument for other columns.
  [[nodiscard]] Labels labels(std::size_t column, std::size_t max) const;

  /// Some of the columns. Those with labels (one per column, or none) become the numbers of these labels, NaN where a
  /// value is missing or has another label; the others have to hold numbers. Throws kInvalidArgument.
  [[nodiscard]] Table select(std::span<const std::size_t> columns, std::span<const Labels> labels = {}) const;

  /// The table itself when it lies in memory as a row-major matrix of doubles.
  [[nodiscard]] std::optional<MatrixView> as_matrix() const;

  /// Write the rows from `first` on.
  void copy(std::size_t first, MutableMatrixView out) const;

  /// Call use(rows, number of the first) for all rows, part by part: little memory whatever the size.
  template <class Use>
  void for_each_part(const Use& use) const {
    if (const auto matrix = as_matrix()) {
      for (std::size_t first = 0; first < rows(); first += kPartRows) {
        use(matrix->slice(first, std::min(kPartRows, rows() - first)), first);
      }
      return;
    }
    std::vector<double> buffer(std::min(kPartRows, rows()) * columns());
    for (std::size_t first = 0; first < rows(); first += kPartRows) {
      const std::size_t count = std::min(kPartRows, rows() - first);
      copy(first, {buffer.data(), count, columns()});
      use(MatrixView(buffer.data(), count, columns()), first);
    }
  }

 private:
  static constexpr std::size_t kPartRows = 8192;

  /// Call use(chunk, row in the chunk, label or nothing) for the rows of a column.
  template <class Use>
  void for_each_label(std::size_t column, const Use& use) const;

  /// Append a column to the chunks: the numbers of the labels of one of ours.
  void add_codes(std::size_t column, const Labels& labels, std::vector<Chunk>& chunks,
                 std::vector<std::shared_ptr<void>>& owners) const;

  std::vector<std::string> names_;
  std::vector<Chunk> chunks_;
  std::vector<std::size_t> starts_;  // of the chunks, and the number of rows
  std::vector<std::shared_ptr<void>> owners_;
};

}  // namespace widthwise::python
