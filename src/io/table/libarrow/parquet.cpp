#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/compression.h>
#include <arrow/util/thread_pool.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <widthwise/error.hpp>
#include <widthwise/train/threads.hpp>

#include "io/table/libarrow/files.hpp"
#include "io/table/libarrow/rows.hpp"
#include "io/table/libarrow/streams.hpp"

namespace widthwise::internal {
namespace {

/// Bytes of each column to read ahead, independent of the size of a row group.
constexpr std::int64_t kColumnBytes = 1 << 18;

/// Whether to use the threads of Arrow, which waits indefinitely if it cannot start one.
bool use_threads(bool wanted) {
  return wanted && can_start_threads(static_cast<std::size_t>(arrow::GetCpuThreadPoolCapacity()));
}

/// The columns of the file that form a column of the table: several for a struct.
void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) add_leaves(child, leaves);
}

class ParquetBlocks final : public RowBlocks {
 public:
  explicit ParquetBlocks(std::unique_ptr<arrow::RecordBatchReader> batches) : batches_(std::move(batches)) {}

  [[nodiscard]] std::shared_ptr<const TableSchema> schema() const override {
    return std::make_shared<ArrowSchemaColumns>(batches_->schema());
  }

  [[nodiscard]] std::shared_ptr<const DecodedRows> next() override {
    std::shared_ptr<arrow::RecordBatch> block = value_of(batches_->Next());
    if (!block) return nullptr;
    // The columns of a damaged file may have different lengths, or refer to bytes outside their own.
    check(block->ValidateFull());
    return std::make_shared<ArrowRows>(std::move(block));
  }

 private:
  std::unique_ptr<arrow::RecordBatchReader> batches_;
};

class ArrowParquetFile final : public ParquetFile {
 public:
  ArrowParquetFile(const std::filesystem::path& file, const ReadOptions& options) {
    parquet::ReaderProperties reading;
    reading.enable_buffered_stream();
    reading.set_buffer_size(kColumnBytes);
    reading.set_page_checksum_verification(true);
    parquet::ArrowReaderProperties decoding(use_threads(options.threads));
    decoding.set_pre_buffer(false);
    decoding.set_batch_size(static_cast<std::int64_t>(
        std::min<std::uint64_t>(options.batch_rows, std::numeric_limits<std::int32_t>::max())));
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(value_of(arrow::io::ReadableFile::Open(file.string())), reading));
    builder.properties(decoding);
    reader_ = value_of(builder.Build());
    const parquet::FileMetaData& metadata = *reader_->parquet_reader()->metadata();
    rows_ = metadata.num_rows();
    for (int group = 0; group < metadata.num_row_groups(); ++group) {
      rows_of_groups_.push_back(metadata.RowGroup(group)->num_rows());
    }
    for (const parquet::arrow::SchemaField& field : reader_->manifest().schema_fields) {
      columns_.push_back(file_column(*field.field));
    }
  }

  [[nodiscard]] const std::vector<FileColumn>& columns() const override { return columns_; }
  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] const std::vector<std::int64_t>& rows_of_groups() const override { return rows_of_groups_; }

  [[nodiscard]] std::unique_ptr<RowBlocks> read(RowGroups groups, const std::vector<std::size_t>& columns) override {
    std::vector<int> leaves;
    for (const std::size_t column : columns) add_leaves(reader_->manifest().schema_fields[column], leaves);
    std::vector<int> numbers(groups.count);
    std::iota(numbers.begin(), numbers.end(), static_cast<int>(groups.first));
    return std::make_unique<ParquetBlocks>(value_of(reader_->GetRecordBatchReader(numbers, leaves)));
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::vector<FileColumn> columns_;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> rows_of_groups_;
};

arrow::Compression::type best_compression() {
  for (const auto codec : {arrow::Compression::ZSTD, arrow::Compression::SNAPPY}) {
    if (arrow::util::Codec::IsAvailable(codec)) return codec;
  }
  return arrow::Compression::UNCOMPRESSED;
}

std::shared_ptr<arrow::DataType> type_of(CellKind kind) {
  switch (kind) {
    case CellKind::kBool:
      return arrow::boolean();
    case CellKind::kInt64:
      return arrow::int64();
    case CellKind::kText:
      return arrow::utf8();
    default:
      return arrow::float64();
  }
}

std::shared_ptr<arrow::Schema> schema_of(const ParquetLayout& layout) {
  arrow::FieldVector fields = static_cast<const ArrowSchemaColumns&>(*layout.carried).schema().fields();
  for (std::size_t j = 0; j < fields.size(); ++j) {
    const std::optional<CellKind>& type = layout.replaced[j];
    if (type) fields[j] = fields[j]->WithType(type_of(*type));
  }
  for (const std::string& name : layout.added) fields.push_back(arrow::field(name, arrow::float64()));
  return arrow::schema(std::move(fields));
}

class ArrowParquetOutput final : public ParquetOutput {
 public:
  ArrowParquetOutput(ByteSink sink, const ParquetLayout& layout)
      : schema_(schema_of(layout)), replaced_(layout.replaced), group_bytes_(layout.group_bytes) {
    parquet::WriterProperties::Builder properties;
    properties.compression(best_compression())->max_row_group_length(layout.group_rows)->enable_page_checksum();
    for (const std::shared_ptr<arrow::Field>& field : schema_->fields()) {
      // Measurements rarely repeat: a dictionary would take most of the time and save no bytes.
      if (arrow::is_floating(field->type()->id())) properties.disable_dictionary(field->name());
    }
    const auto arrow_properties =
        parquet::ArrowWriterProperties::Builder().store_schema()->set_use_threads(use_threads(layout.threads))->build();
    writer_ = value_of(parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(),
                                                        std::make_shared<SinkStream>(std::move(sink)),
                                                        properties.build(), arrow_properties));
  }

  void write(const DecodedRows& carried, std::vector<std::unique_ptr<ExportedColumn>> replaced,
             std::vector<std::unique_ptr<ExportedColumn>> added) override {
    arrow::ArrayVector columns = static_cast<const ArrowRows&>(carried).batch().columns();
    auto next = replaced.begin();
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (replaced_[j]) columns[j] = imported(**next++);
    }
    for (const std::unique_ptr<ExportedColumn>& column : added) columns.push_back(imported(*column));
    const auto batch = arrow::RecordBatch::Make(schema_, carried.rows(), std::move(columns));
    const std::int64_t bytes = value_of(arrow::util::ReferencedBufferSize(*batch));
    if (bytes_in_group_ + bytes > group_bytes_ && bytes_in_group_ > 0) {
      check(writer_->NewBufferedRowGroup());
      bytes_in_group_ = 0;
    }
    bytes_in_group_ += bytes;
    check(writer_->WriteRecordBatch(*batch));
  }

  void close() override { check(writer_->Close()); }

 private:
  static std::shared_ptr<arrow::Array> imported(ExportedColumn& column) {
    return value_of(arrow::ImportArray(&column.array, &column.schema));
  }

  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::optional<CellKind>> replaced_;
  std::int64_t group_bytes_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  std::int64_t bytes_in_group_ = 0;
};

}  // namespace

std::unique_ptr<ParquetFile> open_parquet_with_arrow(const std::filesystem::path& file, const ReadOptions& options) {
  return std::make_unique<ArrowParquetFile>(file, options);
}

std::unique_ptr<ParquetOutput> create_parquet_with_arrow(ByteSink sink, const ParquetLayout& layout) {
  return std::make_unique<ArrowParquetOutput>(std::move(sink), layout);
}

}  // namespace widthwise::internal
