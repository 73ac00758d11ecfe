#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/matrix_view.hpp>

namespace widthwise {

/// What a column holds, as far as this library is concerned.
enum class ColumnKind {
  kNumber,  ///< integers, floating point, decimals, booleans
  kOther,   ///< text, dates, lists: carried along, never computed with
};

/// Of a CSV file the kind is found from its first megabyte; a column that is empty there counts as one of numbers.
struct ColumnInfo {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;
};

/// Some rows of a table. The numbers asked for, and the rows as they were, for a writer to carry along. Reading into
/// one again needs no new memory for the numbers unless there are more of them. Thread safety: none.
class TableBatch {
 public:
  TableBatch();
  ~TableBatch();
  TableBatch(TableBatch&&) noexcept;
  TableBatch& operator=(TableBatch&&) noexcept;

  /// The columns that TableReader::select named, in that order; a null is NaN. Valid until the next read into this.
  [[nodiscard]] MatrixView numbers() const;
  [[nodiscard]] std::size_t rows() const;

  /// The column that TableReader::select_key named, as 64 bits a row; empty when there is none. Valid until the next
  /// read into this.
  [[nodiscard]] std::span<const std::uint64_t> keys() const;

  /// The number of the batch's first row in its file.
  [[nodiscard]] std::uint64_t first_row() const;

  struct State;
  [[nodiscard]] State& state() { return *state_; }
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Some of the row groups that a Parquet file is made of.
struct RowGroups {
  std::size_t first = 0;
  std::size_t count = 0;
};

struct ReadOptions {
  std::size_t batch_rows = 65'536;  ///< rows a batch at most
  bool threads = true;              ///< decode in parallel, on Arrow's pool of threads, which the whole process shares
  std::optional<RowGroups> row_groups = std::nullopt;  ///< of a Parquet file; empty: all
};

/// Reads a table batch by batch in constant memory. The name's ending tells the format: .csv, .csv.gz (with a header
/// line, cells separated by commas, in quotes where needed), .parquet or .pq.
///
/// In CSV, an empty cell, NA, NaN and null (in any case) are missing; true is 1 and false is 0. Whatever a column
/// begins with, it may go on with integers, decimals or text; only text in a column selected for numbers is an error.
/// Messages count rows from 1, without the header.
/// Thread safety: none; one reader, one thread.
class TableReader {
 public:
  /// Throws kInvalidArgument for another ending, kFile when the file cannot be read, kBadData when it is not a table.
  [[nodiscard]] static std::unique_ptr<TableReader> open(const std::filesystem::path& file,
                                                         const ReadOptions& options = {});
  TableReader() = default;
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;
  virtual ~TableReader() = default;

  [[nodiscard]] virtual const std::vector<ColumnInfo>& columns() const = 0;
  [[nodiscard]] virtual bool has_column(const std::string& name) const = 0;

  /// Choose the columns that TableBatch::numbers gives. Once, before the first read. Throws kInvalidArgument for a
  /// column that is not there, suggesting the nearest name, and kBadData for one that is not of numbers.
  /// Columns in `carried` are kept for a writer as they are, also those that are read as numbers too. No others are
  /// read.
  virtual void select(std::vector<std::string> numbers, std::vector<std::string> carried) = 0;

  /// Choose the column that TableBatch::keys gives: whole numbers, as they are and never rounded to floating point.
  /// Negative ones are their two's complement. Once, before select. Throws kInvalidArgument for a column that is not
  /// there and kBadData for one that cannot hold whole numbers; `next` throws kBadData, naming the row, for a cell that
  /// is missing or not one.
  virtual void select_key(const std::string& column) = 0;

  /// Read the next rows; false at the end. Throws kBadData, naming the file, the row where known and the column, for
  /// what cannot be read as a number.
  virtual bool next(TableBatch& batch) = 0;

  /// Rows to read where the file tells (Parquet).
  [[nodiscard]] virtual std::optional<std::uint64_t> rows() const = 0;

  /// Row groups in the file; none where the format has no such parts (CSV).
  [[nodiscard]] virtual std::optional<std::size_t> row_groups() const { return std::nullopt; }

  /// The share of the file read so far, in [0, 1].
  [[nodiscard]] virtual double progress() const = 0;

  /// A number that tells files apart by content: the same for a copy under another name, different for other rows.
  /// From the size and 64 kB each at the beginning, middle and end: a change elsewhere that keeps the size is not seen.
  [[nodiscard]] virtual std::uint64_t fingerprint() const = 0;
};

/// Writes a table; the name's ending tells the format, as for TableReader. Rows go to a temporary file beside it,
/// .<name>.<random>.tmp, that close() renames: the file is the old one or the new one, whole. Without close() nothing
/// is left behind, unless the process is killed.
///
/// What a carried column becomes:
/// - CSV to CSV: the same text in every cell, in quotes only where needed.
/// - Parquet to Parquet: the same type and values.
/// - Parquet to CSV: numbers as the shortest text that reads back the same, nulls as empty cells.
/// - CSV to Parquet: booleans, 64-bit integers or floating point where all cells are such or missing; otherwise text,
///   with empty cells as nulls. Integers with leading zeros stay text. To be sure of the types, opening the writer
///   reads the CSV file once from beginning to end.
/// Thread safety: none.
class TableWriter {
 public:
  /// Carry the `carried` columns of the reader's batches along, before the columns of numbers named here. After
  /// TableReader::select. Throws kInvalidArgument when two columns have one name or a column cannot be held in the
  /// format, kFile when the file cannot be made.
  [[nodiscard]] static std::unique_ptr<TableWriter> open(const std::filesystem::path& file, const TableReader& from,
                                                         std::vector<std::string> added);
  TableWriter() = default;
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;
  virtual ~TableWriter() = default;

  /// `added`: the batch's rows x the columns named at opening; infinities are written as such, NaN too.
  virtual void write(const TableBatch& batch, MatrixView added) = 0;
  /// Once, after the last rows. Throws kFile when the file cannot be written; then it is as it was.
  virtual void close() = 0;
};

/// Whole columns: rows x columns, row-major.
struct NumberTable {
  std::vector<double> values;
  std::size_t rows = 0;
  std::size_t columns = 0;

  [[nodiscard]] MatrixView view() const { return {values.data(), rows, columns}; }
};

/// Read all rows of the columns selected. For tables that fit memory; throws kBadData for those that do not.
[[nodiscard]] NumberTable read_numbers(TableReader& reader);

}  // namespace widthwise
