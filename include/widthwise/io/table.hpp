#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/labels.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/moment.hpp>
#include <widthwise/row_checks.hpp>

namespace widthwise {

/// The kind of a column.
enum class ColumnKind {
  kNumber,  ///< integers, floating point, decimals, booleans
  kText,    ///< text, also dates in a CSV file, and dictionaries of text, integers or booleans: read as labels
  kTime,    ///< dates, times and durations, in a Parquet file
  kOther,   ///< lists and others: copied to the output, never computed with
};

/// A cell of a numeric column of a CSV file that is not a number.
struct UnreadableCell {
  std::uint64_t row = 0;           ///< from 0
  std::string text;                ///< at most 60 bytes of it
  bool has_decimal_comma = false;  ///< the cell is a number if its comma is read as a point, such as 1,5
};

/// In a CSV file, the kind is inferred from the first megabyte. A column is text if at least half of its cells that are
/// not missing are not numbers. Otherwise, and if all cells are missing, it is numeric, and reading a cell that is not
/// a number is an error.
struct ColumnInfo {
  std::string name;                                         ///< of the header or schema
  ColumnKind kind = ColumnKind::kNumber;                    ///< how the cells can be read
  std::optional<UnreadableCell> unreadable = std::nullopt;  ///< the first one of a numeric column, if there is one
};

/// A column of TableBatch::numbers. By default its cells are numbers. As labels (labels.hpp), text, booleans and
/// integers become the number of their label, NaN for a missing cell. As text, they have no number: NaN.
struct SelectedColumn {
  std::string name;  ///< of the column in the table

  /// Append the moments of the cells, also of dates, times and durations of a Parquet file, without rounding; that of a
  /// missing cell is NaN. Borrowed while the reader reads.
  std::vector<Moment>* times = nullptr;

  /// Append the cells as text, written as labels are; that of a missing cell is empty. Borrowed likewise.
  std::vector<std::string>* texts = nullptr;

  /// Read labels: those of other tables, such as the categories of a model. An unknown label is NaN. Borrowed while the
  /// reader reads.
  const Labels* known = nullptr;
  /// Counts of the labels of all rows read, if `known` ones exist and counts are requested. Borrowed likewise.
  UnknownLabels* unknown = nullptr;

  /// Read labels and add the new ones, up to one more than `max_labels`; further ones are NaN. Borrowed likewise.
  Labels* collected = nullptr;
  /// Limit of `collected`, so that a column of identifiers does not fill the memory.
  std::size_t max_labels = 1'000'000;
};

/// A batch of rows of a table: the selected numbers, and the original columns for a writer. Reading into a batch again
/// reuses its memory for the numbers unless there are more of them. Thread safety: none.
class TableBatch {
 public:
  TableBatch();
  ~TableBatch();
  TableBatch(TableBatch&&) noexcept;             ///< the source can then only be assigned to or destroyed
  TableBatch& operator=(TableBatch&&) noexcept;  ///< the same

  /// The columns of TableReader::select, in that order; a null is NaN. Valid until the next read into this batch.
  [[nodiscard]] MatrixView numbers() const;
  [[nodiscard]] std::size_t rows() const;  ///< rows of the last read; 0 before the first

  /// The column of TableReader::select_key, as 64 bits per row; empty if there is none. Valid until the next read into
  /// this batch.
  [[nodiscard]] std::span<const std::uint64_t> keys() const;

  /// The position of the first row of the batch in the file.
  [[nodiscard]] std::uint64_t first_row() const;

  /// Arrow's columns and buffers; defined in the sources of this library.
  struct State;
  [[nodiscard]] State& state() { return *state_; }              ///< for readers and writers of this library
  [[nodiscard]] const State& state() const { return *state_; }  ///< the same

 private:
  std::unique_ptr<State> state_;
};

/// A range of row groups of a Parquet file.
struct RowGroups {
  std::size_t first = 0;  ///< number of the first row group, from 0
  std::size_t count = 0;  ///< number of row groups to read
};

/// How a table is stored.
enum class TableFormat {
  kCsv,         ///< .csv: text with a header line
  kGzippedCsv,  ///< .csv.gz
  kParquet,     ///< .parquet, .pq
};

/// Options of TableReader::open.
struct ReadOptions {
  std::size_t batch_rows = 65'536;  ///< maximum number of rows per batch
  bool threads = true;              ///< decode in parallel: Parquet on Arrow's thread pool, CSV ahead on one thread
  std::optional<RowGroups> row_groups = std::nullopt;  ///< of a Parquet file; empty for all
  std::optional<TableFormat> format = std::nullopt;    ///< by default that of the file extension
  std::string name = {};                               ///< of the table in messages; by default that of the file
  std::optional<char> separator = std::nullopt;        ///< of the cells of a CSV file; by default guessed, see below

  /// Cells that count as missing in selected columns, in addition to those of CSV files (see below): with this text, or
  /// if it is a number with this value, in any format. Carried columns keep them.
  std::vector<std::string> missing = {};

  /// Called after the last row with warnings about the content of the table.
  std::function<void(const std::string&)> warn = {};
};

/// Takes the bytes of a written table, in order.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// Reads a table batch by batch in constant memory. The file extension determines the format: .csv, .csv.gz (with a
/// header line, cells in quotes where needed), .parquet or .pq.
///
/// The separator of a CSV file is a comma, or the one of semicolon, tab and vertical bar that splits the header and the
/// first rows into the same number of cells. Decimal commas are not supported.
///
/// In CSV, an empty cell, NA, NaN and null (in upper or lower case) are missing; true is 1 and false is 0. A column may
/// mix integers, decimals and text; only text in a column selected for numbers is an error.
/// Messages count rows from 1, without the header.
/// Thread safety: none.
class TableReader {
 public:
  /// Throws kInvalidArgument for another extension, kFile if the file cannot be read, kBadData if it is not a table.
  [[nodiscard]] static std::unique_ptr<TableReader> open(const std::filesystem::path& file,
                                                         const ReadOptions& options = {});
  TableReader() = default;
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;
  virtual ~TableReader() = default;

  [[nodiscard]] virtual const std::vector<ColumnInfo>& columns() const = 0;  ///< all columns of the file, in its order
  [[nodiscard]] virtual bool has_column(const std::string& name) const = 0;  ///< case-sensitive

  /// Select the columns of TableBatch::numbers. Call once, before the first read. Throws kInvalidArgument for a missing
  /// column, with the most similar name, and kBadData for a column that is not numeric. Columns in `carried` are also
  /// kept unchanged for a writer, including those that are read as numbers. No other columns are read.
  void select(std::vector<std::string> numbers, std::vector<std::string> carried);

  /// The same with labels. Throws kBadData for a column whose values are not labels; when labels are collected, `next`
  /// throws kBadData, with the row, for a number that is not an integer.
  virtual void select_columns(std::vector<SelectedColumn> columns, std::vector<std::string> carried) = 0;

  /// Select the column of TableBatch::keys: integers, never rounded to floating point. Negative ones are stored as
  /// two's complement. Call once, before select. Throws kInvalidArgument for a missing column and kBadData for a column
  /// that cannot hold integers; `next` throws kBadData, with the row, for a cell that is missing or not an integer.
  virtual void select_key(const std::string& column) = 0;

  /// Read the next rows; false at the end. Throws kBadData, with the file, the column and if known the row, for a cell
  /// that is not a number.
  virtual bool next(TableBatch& batch) = 0;

  /// Number of rows to read, if the file contains it (Parquet).
  [[nodiscard]] virtual std::optional<std::uint64_t> rows() const = 0;

  /// Number of row groups in the file; empty if the format has none (CSV).
  [[nodiscard]] virtual std::optional<std::size_t> row_groups() const { return std::nullopt; }

  /// The share of the file read so far, in [0, 1].
  [[nodiscard]] virtual double progress() const = 0;

  /// A fingerprint of the contents: equal for a copy with another name, different for other rows. It is computed from
  /// the size and 64 kB each at the beginning, middle and end; changes elsewhere that keep the size are not detected.
  [[nodiscard]] virtual std::uint64_t fingerprint() const = 0;
};

/// Writes a table; the file extension determines the format, as for TableReader. Writing a file is atomic: rows go to a
/// temporary file next to it, .NAME.RANDOM.tmp, which close() renames. Without close() no file is left, unless the
/// process is killed.
///
/// Conversion of carried columns:
/// - CSV to CSV: the same separator, and the same text in every cell, in quotes only where needed.
/// - Parquet to Parquet: the same type and values.
/// - Parquet to CSV: numbers as the shortest text that reads back the same, nulls as empty cells.
/// - CSV to Parquet: booleans, 64-bit integers or floating point if all cells are of that type or missing; otherwise
///   text, with empty cells as nulls. Integers with leading zeros stay text. To determine the types, opening the writer
///   reads the whole CSV file once.
/// Thread safety: none.
class TableWriter {
 public:
  /// Write the `carried` columns of the reader's batches, followed by the numeric columns named here. Call after
  /// TableReader::select. Throws kInvalidArgument if two columns have the same name or the format cannot hold a column,
  /// and kFile if the file cannot be created.
  [[nodiscard]] static std::unique_ptr<TableWriter> open(const std::filesystem::path& file, const TableReader& from,
                                                         std::vector<std::string> added);

  /// The same as CSV to `sink`, for example standard output, which gets the rows as they are written. `name` is that of
  /// the table in messages. Exceptions of the sink are passed on.
  [[nodiscard]] static std::unique_ptr<TableWriter> open(ByteSink sink, const std::string& name,
                                                         const TableReader& from, std::vector<std::string> added);
  TableWriter() = default;
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;
  virtual ~TableWriter() = default;

  /// Write a batch with `added`: rows of the batch x columns named at opening, including infinities and NaN.
  virtual void write(const TableBatch& batch, MatrixView added) = 0;
  /// Call once, after the last rows. Throws kFile if the file cannot be written; an existing file is then unchanged.
  void close() {
    close_after([] {});
  }
  /// Run `action` when all bytes are on disk, then give the file its name. If the action throws, the file is not
  /// written.
  virtual void close_after(const std::function<void()>& action) = 0;
};

/// Whole columns: rows x columns, row-major.
struct NumberTable {
  std::vector<double> values;  ///< owned; rows x columns
  std::size_t rows = 0;        ///< number of rows read
  std::size_t columns = 0;     ///< number of selected columns, in the order of the selection

  [[nodiscard]] MatrixView view() const { return {values.data(), rows, columns}; }  ///< valid until `values` changes
};

/// Read all rows of the selected columns. Throws kBadData for tables that do not fit in memory.
[[nodiscard]] NumberTable read_numbers(TableReader& reader);

}  // namespace widthwise
