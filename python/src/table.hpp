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
#include <widthwise/row_checks.hpp>

#include "io/table/cells.hpp"

struct ArrowArrayStream;

namespace widthwise::python {

using internal::CellKind;

/// The labels of the integers of a column; empty for a missing value.
using Dictionary = std::vector<std::optional<std::string>>;

/// Borrowed values of one column: numbers, text, or integers that refer to a dictionary.
struct Column {
  CellKind kind = CellKind::kOther;
  const std::byte* data = nullptr;         ///< numbers, bits, offsets or views
  std::ptrdiff_t stride = 0;               ///< bytes from one number to the next; unused for bits and text
  bool bits = false;                       ///< whether kBool is in bits, as in Arrow, or in bytes, as in numpy
  const std::uint8_t* validity = nullptr;  ///< one bit per value, 0 if it is missing; null if none is
  std::size_t offset = 0;                  ///< position of the first value among bits and texts
  const void* const* text = nullptr;       ///< the bytes of text, or the buffers of views
  std::shared_ptr<const Dictionary> dictionary = nullptr;

  /// Whether the column holds numbers.
  [[nodiscard]] bool numeric() const;
};

/// A table borrowed from Python: columns or a matrix of any number type, contiguous or in chunks. Rows are copied only
/// on access.
class Table {
 public:
  struct Chunk {
    std::size_t rows = 0;
    std::vector<Column> columns;
  };

  /// `owners` keep the memory of the chunks alive.
  Table(std::vector<std::string> names, std::vector<Chunk> chunks, std::vector<std::shared_ptr<void>> owners);

  /// Keep the memory of an owner alive.
  void keep(std::shared_ptr<void> owner) { owners_.push_back(std::move(owner)); }

  /// Read all chunks of a stream of record batches.
  [[nodiscard]] static Table from_stream(ArrowArrayStream& stream);

  [[nodiscard]] std::size_t rows() const { return starts_.back(); }
  [[nodiscard]] std::size_t columns() const { return names_.size(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  /// Counts of the labels of each column that was selected with labels, of those that were not among them.
  [[nodiscard]] const std::vector<UnknownLabels>& unknown_labels() const { return unknown_; }

  /// "number", "text" (also dictionaries), "time" or "other".
  [[nodiscard]] std::string_view kind(std::size_t column) const;
  [[nodiscard]] bool numeric(std::size_t column) const { return kind(column) == "number"; }

  /// The distinct labels of a column of text, booleans or integers, in order of appearance; at most max + 1. Throws
  /// kInvalidArgument for other columns.
  [[nodiscard]] Labels labels(std::size_t column, std::size_t max) const;

  /// Select columns. `labels` is empty or has an entry per column. A column with labels is encoded as their indices,
  /// NaN for missing values and other labels. A column without labels must be numeric. Throws kInvalidArgument.
  [[nodiscard]] Table select(std::span<const std::size_t> columns, std::span<const Labels> labels = {}) const;

  /// The table as a matrix, if it is a row-major matrix of doubles in memory.
  [[nodiscard]] std::optional<MatrixView> as_matrix() const;

  /// Copy rows to `out`, starting at `first`.
  void copy(std::size_t first, MutableMatrixView out) const;

  /// Call use(rows, index of the first) for consecutive parts of all rows, in constant memory.
  template <class Use>
  void for_each_part(const Use& use) const {
    if (const auto matrix = as_matrix()) {
      for (std::size_t first = 0; first < rows(); first += kBorrowedRows) {
        use(matrix->slice(first, std::min(kBorrowedRows, rows() - first)), first);
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
  // Parts that need no copy are larger: the quantiles of groups are computed once for each part.
  static constexpr std::size_t kBorrowedRows = std::size_t{1} << 18;

  /// Call use(chunk, row in the chunk, optional label) for each row of a column.
  template <class Use>
  void for_each_label(std::size_t column, const Use& use) const;

  /// Append a column to the chunks: the indices of the labels of a column of this table. Other labels are counted.
  [[nodiscard]] UnknownLabels add_codes(std::size_t column, const Labels& labels, std::vector<Chunk>& chunks,
                                        std::vector<std::shared_ptr<void>>& owners) const;

  std::vector<std::string> names_;
  std::vector<Chunk> chunks_;
  std::vector<std::size_t> starts_;  // first row of each chunk, then the number of rows
  std::vector<std::shared_ptr<void>> owners_;
  std::vector<UnknownLabels> unknown_;
};

}  // namespace widthwise::python
