#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>
#include <widthwise/io/table.hpp>

#include "io/table/arrow_library.hpp"
#include "io/table/missing.hpp"

namespace widthwise {

/// Invariant: numbers holds at least rows x columns.
struct TableBatch::State {
  std::vector<double> numbers;
  std::vector<std::uint64_t> keys;  // one per row, or empty
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::uint64_t first_row = 0;
  std::shared_ptr<const internal::DecodedRows> carried;
  std::shared_ptr<const internal::TableSchema> schema;  // of the carried columns
};

namespace internal {

/// Base of the readers of all formats: looks up names, splits blocks of rows into batches, and transposes columns to
/// rows. A format provides the list of columns and the next block of the selected ones.
/// Thread safety: none.
class FileTableReader : public TableReader {
 public:
  FileTableReader(std::filesystem::path file, const ReadOptions& options);

  [[nodiscard]] const std::vector<ColumnInfo>& columns() const final { return columns_; }
  [[nodiscard]] bool has_column(const std::string& name) const final { return places_.contains(name); }
  void select_columns(std::vector<SelectedColumn> columns, std::vector<std::string> carried) final;
  void select_key(const std::string& column) final;
  bool next(TableBatch& batch) final;
  [[nodiscard]] std::uint64_t fingerprint() const final { return fingerprint_; }

  /// The name of the table in messages.
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  /// The file to open.
  [[nodiscard]] const std::filesystem::path& content() const { return content_; }
  [[nodiscard]] const ReadOptions& options() const { return options_; }
  [[nodiscard]] const MissingMarkers& markers() const { return markers_; }
  /// The separator of the cells of a CSV file; a comma for other formats.
  [[nodiscard]] virtual char separator() const { return ','; }
  /// The carried columns of the batches, with the types as read.
  [[nodiscard]] const std::shared_ptr<const TableSchema>& carried() const;
  /// For each carried column, another type for storage in a typed format.
  [[nodiscard]] virtual std::vector<std::optional<CellKind>> carried_types() const = 0;

 protected:
  /// Call once, when the format knows the columns. Throws kBadData for duplicate names.
  void set_columns(std::vector<ColumnInfo> columns);
  /// The number of the first row to read.
  void set_first_row(std::uint64_t row) { first_row_ = row; }
  /// Prepare to read the columns with these indices, at least one; return the schema of the blocks.
  virtual std::shared_ptr<const TableSchema> start(const std::vector<std::size_t>& columns) = 0;
  /// The next rows, null at the end.
  virtual std::shared_ptr<const DecodedRows> read_block() = 0;
  /// Throw kBadData unless the column can be read as numbers.
  virtual void check_as_numbers(std::size_t column) const = 0;
  /// Throw kBadData unless the column can hold labels.
  virtual void check_as_labels(std::size_t column) const = 0;
  /// Throw kBadData unless the column can hold integers, which are read exactly.
  virtual void check_as_key(std::size_t column) const = 0;

  [[nodiscard]] std::uintmax_t file_size() const { return file_size_; }
  [[nodiscard]] std::uint64_t rows_read() const { return rows_read_; }

 private:
  [[nodiscard]] std::size_t index_of(const std::string& name) const;
  void fill(TableBatch::State& batch, const DecodedRows& rows) const;
  void fill_column(TableBatch::State& batch, std::size_t j, const Cells& column, std::int64_t begin,
                   std::int64_t end) const;
  void fill_keys(TableBatch::State& batch, const DecodedRows& rows) const;

  std::filesystem::path content_;
  std::filesystem::path file_;
  ReadOptions options_;
  std::uintmax_t file_size_ = 0;
  std::uint64_t fingerprint_ = 0;
  MissingMarkers markers_;
  std::vector<ColumnInfo> columns_;
  std::unordered_map<std::string, std::size_t> places_;  // column indices by name
  std::vector<SelectedColumn> selected_;
  std::vector<int> number_columns_;   // indices in a block
  std::vector<int> carried_columns_;  // likewise
  std::optional<std::size_t> key_;    // its index in the table
  int key_column_ = 0;                // and in a block
  std::shared_ptr<const TableSchema> carried_;
  std::shared_ptr<const DecodedRows> block_;
  std::int64_t rows_of_block_used_ = 0;
  std::uint64_t first_row_ = 0;
  std::uint64_t rows_read_ = 0;
};

/// Open a reader by file extension; throws kInvalidArgument for an unknown one.
[[nodiscard]] TableFormat format_of(const std::filesystem::path& file);

[[nodiscard]] std::unique_ptr<FileTableReader> open_csv(const std::filesystem::path& file, const ReadOptions& options,
                                                        bool gzipped);
[[nodiscard]] std::unique_ptr<FileTableReader> open_parquet(const std::filesystem::path& file,
                                                            const ReadOptions& options);

}  // namespace internal
}  // namespace widthwise
