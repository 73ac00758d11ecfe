#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>
#include <widthwise/io/table.hpp>

#include "io/table/cells.hpp"

/// What widthwise needs of an Arrow library to decode and encode tables. There are two: Arrow for C++
/// (src/io/table/libarrow), and the package pyarrow in the process of a Python program (python/src/command). Cells are
/// passed in the layout of the Arrow C data interface, which is the same for all versions of Arrow.
namespace widthwise::internal {

/// A column of a file.
struct FileColumn {
  std::string name;
  CellKind kind = CellKind::kOther;
  std::optional<CellKind> values = std::nullopt;  ///< of a dictionary, whose indices have `kind`
  std::string type = {};                          ///< the name of the type, for messages
};

/// Columns with their types.
/// Thread safety: const methods may run concurrently.
class TableSchema {
 public:
  virtual ~TableSchema() = default;
  [[nodiscard]] virtual const std::vector<FileColumn>& columns() const = 0;
  /// These columns, in this order.
  [[nodiscard]] virtual std::shared_ptr<const TableSchema> select(const std::vector<int>& places) const = 0;
  /// Whether DecodedRows::printable can convert a column.
  [[nodiscard]] virtual bool is_printable(std::size_t column) const = 0;
};

/// Rows in the memory of the library.
/// Thread safety: const methods may run concurrently.
class DecodedRows {
 public:
  virtual ~DecodedRows() = default;
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  [[nodiscard]] virtual std::shared_ptr<const DecodedRows> slice(std::int64_t begin, std::int64_t count) const = 0;
  /// These columns, in this order.
  [[nodiscard]] virtual std::shared_ptr<const DecodedRows> select(const std::vector<int>& places) const = 0;
  /// The cells of a column; decimals are converted to double precision.
  [[nodiscard]] virtual Cells cells(int column) const = 0;
  /// The cells of a column to print: dictionaries are replaced by their values, half precision by single precision, and
  /// everything except numbers, booleans and text is converted to text.
  [[nodiscard]] virtual Cells printable(int column) const = 0;
};

/// Blocks of rows, in the order of the file.
/// Thread safety: none.
class RowBlocks {
 public:
  virtual ~RowBlocks() = default;
  [[nodiscard]] virtual std::shared_ptr<const TableSchema> schema() const = 0;
  /// Null at the end.
  [[nodiscard]] virtual std::shared_ptr<const DecodedRows> next() = 0;
};

/// Fills the bytes from the start and returns their number, 0 at the end.
using ByteSource = std::function<std::size_t(std::span<std::byte>)>;

/// A row of a CSV file with too few or too many cells.
struct RaggedRow {
  std::int64_t number = 0;  ///< from 1; the header counts as a row
  std::int64_t expected = 0;
  std::int64_t cells = 0;
};

/// An error in a CSV file.
class CsvFailure : public std::runtime_error {
 public:
  CsvFailure(const std::string& message, std::optional<RaggedRow> row) : std::runtime_error(message), ragged(row) {}

  std::optional<RaggedRow> ragged;
};

struct CsvLayout {
  char separator = ',';
  std::int32_t block_bytes = 1 << 20;     ///< to parse at once, which is also the maximum length of a line
  bool ahead = false;                     ///< parse the next block while the caller processes the last one
  std::vector<std::string> columns = {};  ///< to read; empty for all
};

/// A Parquet file to read.
/// Thread safety: none.
class ParquetFile {
 public:
  virtual ~ParquetFile() = default;
  [[nodiscard]] virtual const std::vector<FileColumn>& columns() const = 0;
  /// The number of rows that the file claims to have, and that of each row group.
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  [[nodiscard]] virtual const std::vector<std::int64_t>& rows_of_groups() const = 0;
  /// The validated rows of some columns, by their indices, in a range of row groups.
  [[nodiscard]] virtual std::unique_ptr<RowBlocks> read(RowGroups groups, const std::vector<std::size_t>& columns) = 0;
};

/// A stream of bytes that are encoded on their way to a sink.
class ByteEncoder {
 public:
  virtual ~ByteEncoder() = default;
  virtual void write(std::string_view bytes) = 0;
  virtual void close() = 0;
};

/// The columns of a Parquet file to write: those of rows that were read, then new ones of double precision.
struct ParquetLayout {
  std::shared_ptr<const TableSchema> carried;
  std::vector<std::optional<CellKind>> replaced;  ///< per carried column: another type of its cells
  std::vector<std::string> added;
  bool threads = true;
  std::int64_t group_rows = 0;   ///< maximum number of rows per row group
  std::int64_t group_bytes = 0;  ///< a row group ends before the batch that would exceed these bytes in memory
};

/// A Parquet file to write.
/// Thread safety: none.
class ParquetOutput {
 public:
  virtual ~ParquetOutput() = default;
  /// `replaced` has an entry per replaced column, `added` one per new column.
  virtual void write(const DecodedRows& carried, std::vector<std::unique_ptr<ExportedColumn>> replaced,
                     std::vector<std::unique_ptr<ExportedColumn>> added) = 0;
  virtual void close() = 0;
};

/// Functions throw std::exception with the message of the library.
/// Thread safety: methods may run concurrently.
class ArrowLibrary {
 public:
  virtual ~ArrowLibrary() = default;
  /// Decompress. The result may be called as long as `compressed` can be.
  [[nodiscard]] virtual ByteSource gunzip(ByteSource compressed) = 0;
  [[nodiscard]] virtual std::unique_ptr<ByteEncoder> gzip(ByteSink sink) = 0;
  /// Read all cells as bytes. Throws CsvFailure, and so does RowBlocks::next. Another thread may call `text` until the
  /// blocks are destroyed; an error it throws becomes a CsvFailure that contains its message.
  [[nodiscard]] virtual std::unique_ptr<RowBlocks> read_csv(ByteSource text, const CsvLayout& layout) = 0;
  [[nodiscard]] virtual std::unique_ptr<ParquetFile> open_parquet(const std::filesystem::path& file,
                                                                  const ReadOptions& options) = 0;
  [[nodiscard]] virtual std::unique_ptr<ParquetOutput> create_parquet(ByteSink sink, const ParquetLayout& layout) = 0;
};

/// The library of this program: exactly one source of a program defines this function. Throws kMissingEngine if the
/// library cannot be loaded.
[[nodiscard]] ArrowLibrary& arrow_library();

}  // namespace widthwise::internal
