#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <widthwise/error.hpp>

#include "io/table/errors.hpp"
#include "io/table/label_cells.hpp"
#include "io/table/numbers.hpp"
#include "io/table/reader.hpp"
#include "message.hpp"

namespace widthwise::internal {
namespace {

/// Bytes of each column to read ahead, independent of the size of a row group.
constexpr std::int64_t kColumnBytes = 1 << 18;

/// The columns of the file that form a column of the table: several for a struct.
void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) add_leaves(child, leaves);
}

ColumnKind kind_of(const arrow::DataType& type) {
  if (is_number_type(type)) return ColumnKind::kNumber;
  if (arrow::is_temporal(type.id())) return ColumnKind::kTime;
  return is_label_type(type) ? ColumnKind::kText : ColumnKind::kOther;
}

/// Thread safety: none.
class ParquetReader final : public FileTableReader {
 public:
  ParquetReader(const std::filesystem::path& name, const ReadOptions& options) : FileTableReader(name, options) {
    const std::shared_ptr<arrow::io::ReadableFile> input =
        value_of(arrow::io::ReadableFile::Open(content().string()), ErrorCode::kFile, file());
    parquet::ReaderProperties reading;
    reading.enable_buffered_stream();
    reading.set_buffer_size(kColumnBytes);
    reading.set_page_checksum_verification(true);
    parquet::ArrowReaderProperties decoding(options.threads);
    decoding.set_pre_buffer(false);
    decoding.set_batch_size(static_cast<std::int64_t>(
        std::min<std::uint64_t>(options.batch_rows, std::numeric_limits<std::int32_t>::max())));
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(input, reading), ErrorCode::kBadData, file());
    builder.properties(decoding);
    reader_ = value_of(builder.Build(), ErrorCode::kBadData, file());
    const parquet::FileMetaData& metadata = *reader_->parquet_reader()->metadata();
    const RowGroups all{0, static_cast<std::size_t>(metadata.num_row_groups())};
    row_groups_ = options.row_groups.value_or(all);
    if (row_groups_.first > all.count || row_groups_.count > all.count - row_groups_.first) {
      refuse(
          ErrorCode::kInvalidArgument, file(),
          fmt::format("row group {} out of range; the file has {}", std::max(row_groups_.first, all.count), all.count));
    }
    std::uint64_t before = 0;
    for (std::size_t group = 0; group < row_groups_.first + row_groups_.count; ++group) {
      const std::int64_t rows = metadata.RowGroup(static_cast<int>(group))->num_rows();
      if (rows < 0) refuse(ErrorCode::kBadData, file(), "the number of rows is negative");
      (group < row_groups_.first ? before : rows_) += static_cast<std::uint64_t>(rows);
    }
    if (!options.row_groups && rows_ != static_cast<std::uint64_t>(metadata.num_rows())) {
      refuse(ErrorCode::kBadData, file(), fmt::format("expected {} rows, found {}", metadata.num_rows(), rows_));
    }
    set_first_row(before);

    std::vector<ColumnInfo> columns;
    for (const parquet::arrow::SchemaField& field : reader_->manifest().schema_fields) {
      columns.push_back({field.field->name(), kind_of(*field.field->type())});
    }
    if (columns.empty()) refuse(ErrorCode::kBadData, file(), "there are no columns");
    set_columns(std::move(columns));
  }

  [[nodiscard]] std::optional<std::uint64_t> rows() const override { return rows_; }

  [[nodiscard]] std::optional<std::size_t> row_groups() const override {
    return static_cast<std::size_t>(reader_->num_row_groups());
  }

  [[nodiscard]] double progress() const override {
    return rows_ == 0 ? 1 : static_cast<double>(rows_read()) / static_cast<double>(rows_);
  }

  [[nodiscard]] std::shared_ptr<arrow::Schema> typed_carried() const override { return carried(); }

 protected:
  std::shared_ptr<arrow::Schema> start(const std::vector<std::size_t>& wanted) override {
    return with_errors_of(file(), ErrorCode::kBadData, [&] {
      std::vector<int> leaves;
      for (const std::size_t column : wanted) add_leaves(reader_->manifest().schema_fields[column], leaves);
      std::vector<int> row_groups(row_groups_.count);
      std::iota(row_groups.begin(), row_groups.end(), static_cast<int>(row_groups_.first));
      batches_ = value_of(reader_->GetRecordBatchReader(row_groups, leaves), ErrorCode::kBadData, file());
      std::shared_ptr<arrow::Schema> schema = batches_->schema();
      for (std::size_t j = 0; j < wanted.size(); ++j) {
        if (schema->num_fields() != static_cast<int>(wanted.size()) ||
            schema->field(static_cast<int>(j))->name() != columns()[wanted[j]].name) {
          refuse(ErrorCode::kBadData, file(), "the columns do not match the schema of the file");
        }
      }
      return schema;
    });
  }

  std::shared_ptr<arrow::RecordBatch> read_block() override {
    std::shared_ptr<arrow::RecordBatch> block = value_of(batches_->Next(), ErrorCode::kBadData, file());
    if (block) {
      // The columns of a damaged file may have different lengths, or refer to bytes outside their own.
      check(block->ValidateFull(), ErrorCode::kBadData, file());
    }
    const std::uint64_t rows = rows_read() + (block ? static_cast<std::uint64_t>(block->num_rows()) : 0);
    if (rows > rows_ || (!block && rows < rows_)) {
      refuse(ErrorCode::kBadData, file(),
             fmt::format("expected {} rows, found {}", rows_, block ? "more" : fmt::format("{}", rows)));
    }
    return block;
  }

  void check_as_numbers(std::size_t column) const override {
    if (columns()[column].kind != ColumnKind::kNumber) refuse_type(column, "numbers");
  }

  void check_as_labels(std::size_t column) const override {
    if (!is_label_type(type_of(column))) refuse_type(column, "text, booleans or integers");
  }

  void check_as_key(std::size_t column) const override {
    if (!arrow::is_integer(type_of(column).id())) refuse_type(column, "a unique integer per row");
  }

 private:
  [[nodiscard]] const arrow::DataType& type_of(std::size_t column) const {
    return *reader_->manifest().schema_fields[column].field->type();
  }

  [[noreturn]] void refuse_type(std::size_t column, std::string_view expected) const {
    const bool is_time = columns()[column].kind == ColumnKind::kTime;
    refuse(ErrorCode::kBadData, file(),
           fmt::format("column {} has type {}; expected {}{}", in_quotes(columns()[column].name),
                       one_line(type_of(column).ToString()), expected,
                       is_time ? fmt::format("; {}", kDeriveFromDates) : ""));
  }

  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // after reader_, which must outlive it
  RowGroups row_groups_;                               // to read
  std::uint64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<FileTableReader> open_parquet(const std::filesystem::path& file, const ReadOptions& options) {
  return with_errors_of(file, ErrorCode::kBadData, [&] { return std::make_unique<ParquetReader>(file, options); });
}

}  // namespace widthwise::internal
