#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/matrix_view.hpp>

struct ArrowArrayStream;

namespace widthwise::python {

/// What the numbers of a column are in memory.
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
  kBits,
  kNull,
  kOther
};

/// Borrowed numbers of one column.
struct Column {
  NumberKind kind = NumberKind::kOther;
  const std::byte* data = nullptr;
  std::ptrdiff_t stride = 0;               ///< bytes from one number to the next; of kBits none
  const std::uint8_t* validity = nullptr;  ///< a bit a number, 0 where it is missing; null when none is
  std::size_t offset = 0;                  ///< the first number's place among the bits
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

  /// True when the column holds numbers.
  [[nodiscard]] bool numeric(std::size_t column) const;

  /// Some of the columns, of which all hold numbers. Throws kInvalidArgument.
  [[nodiscard]] Table select(std::span<const std::size_t> columns) const;

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

  std::vector<std::string> names_;
  std::vector<Chunk> chunks_;
  std::vector<std::size_t> starts_;  // of the chunks, and the number of rows
  std::vector<std::shared_ptr<void>> owners_;
};

}  // namespace widthwise::python
