#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/compression.h>
#include <arrow/util/utf8.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <cmath>
#include <optional>
#include <utility>
#include <widthwise/error.hpp>

#include "io/table/cell.hpp"
#include "io/table/errors.hpp"
#include "io/table/writer.hpp"
#include "message.hpp"

namespace widthwise::internal {
namespace {

/// Rows per row group, which stays in memory until it is full.
constexpr std::int64_t kMaxRowsInGroup = 1 << 17;
constexpr std::int64_t kMaxBytesInGroup = std::int64_t{1} << 27;

arrow::Compression::type best_compression() {
  for (const auto codec : {arrow::Compression::ZSTD, arrow::Compression::SNAPPY}) {
    if (arrow::util::Codec::IsAvailable(codec)) return codec;
  }
  return arrow::Compression::UNCOMPRESSED;
}

/// Thread safety: none.
class ParquetWriter final : public FileTableWriter {
 public:
  ParquetWriter(const std::filesystem::path& name, const FileTableReader& from, std::vector<std::string> added_names)
      : FileTableWriter({name, {}}, from, std::move(added_names)), source_(from.file()) {
    arrow::util::InitializeUTF8();
    arrow::FieldVector fields = from.typed_carried()->fields();
    for (const std::string& added_name : added()) fields.push_back(arrow::field(added_name, arrow::float64()));
    for (const std::shared_ptr<arrow::Field>& field : fields) {
      if (!arrow::util::ValidateUTF8(field->name())) {
        refuse(ErrorCode::kBadData, file(),
               fmt::format("the name of column {} is not UTF-8", in_quotes(field->name())));
      }
    }
    schema_ = arrow::schema(std::move(fields));
    parquet::WriterProperties::Builder properties;
    properties.compression(best_compression())->max_row_group_length(kMaxRowsInGroup)->enable_page_checksum();
    for (const std::shared_ptr<arrow::Field>& field : schema_->fields()) {
      // Measurements rarely repeat: a dictionary would take most of the time and save no bytes.
      if (arrow::is_floating(field->type()->id())) properties.disable_dictionary(field->name());
    }
    const auto arrow_properties =
        parquet::ArrowWriterProperties::Builder().store_schema()->set_use_threads(from.options().threads)->build();
    guarded([&] {
      writer_ = value_of(parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(), stream(),
                                                          properties.build(), arrow_properties),
                         ErrorCode::kInvalidArgument, file());
    });
  }

 protected:
  void append(const arrow::RecordBatch& rows, MatrixView added_numbers) override {
    arrow::ArrayVector columns;
    for (int j = 0; j < rows.num_columns(); ++j) {
      const bool as_it_is = rows.column(j)->type()->Equals(*schema_->field(j)->type());
      columns.push_back(as_it_is ? rows.column(j) : typed(rows, j));
    }
    for (std::size_t j = 0; j < added_numbers.columns(); ++j) columns.push_back(column_of(added_numbers, j));
    const auto batch = arrow::RecordBatch::Make(schema_, rows.num_rows(), std::move(columns));
    const std::int64_t bytes = value_of(arrow::util::ReferencedBufferSize(*batch), ErrorCode::kBadData, file());
    if (bytes_in_group_ + bytes > kMaxBytesInGroup && bytes_in_group_ > 0) {
      check(writer_->NewBufferedRowGroup(), ErrorCode::kFile, file());
      bytes_in_group_ = 0;
    }
    bytes_in_group_ += bytes;
    check(writer_->WriteRecordBatch(*batch), ErrorCode::kFile, file());
  }

  void finish() override { check(writer_->Close(), ErrorCode::kFile, file()); }

 private:
  std::shared_ptr<arrow::Array> column_of(MatrixView numbers, std::size_t column) const {
    arrow::DoubleBuilder builder;
    check(builder.Reserve(static_cast<std::int64_t>(numbers.rows())), ErrorCode::kFile, file());
    for (std::size_t i = 0; i < numbers.rows(); ++i) builder.UnsafeAppend(numbers(i, column));
    return value_of(builder.Finish(), ErrorCode::kFile, file());
  }

  template <class Builder, class Read>
  std::shared_ptr<arrow::Array> parsed(const arrow::BinaryArray& cells, const std::string& name, Read read) const {
    Builder builder;
    check(builder.Reserve(cells.length()), ErrorCode::kFile, file());
    for (std::int64_t i = 0; i < cells.length(); ++i) {
      const std::string_view cell = cells.GetView(i);
      const auto value = read(cell);
      if (value && !std::isnan(static_cast<double>(*value))) {
        builder.UnsafeAppend(static_cast<typename Builder::value_type>(*value));
      } else if (type_of_cell(cell) == CellType::kMissing) {
        builder.UnsafeAppendNull();
      } else {
        refuse(ErrorCode::kBadData, source_,
               fmt::format("column {}: {} does not match the type of the column; the file changed while it was read",
                           in_quotes(name), in_quotes(cell)));
      }
    }
    return value_of(builder.Finish(), ErrorCode::kFile, file());
  }

  /// Convert bytes (cells of a CSV file) to the type of their column.
  std::shared_ptr<arrow::Array> typed(const arrow::RecordBatch& rows, int column) const {
    const auto& cells = static_cast<const arrow::BinaryArray&>(*rows.column(column));
    const std::string& name = schema_->field(column)->name();
    switch (schema_->field(column)->type()->id()) {
      case arrow::Type::BOOL:
        return parsed<arrow::BooleanBuilder>(cells, name, integer_in_cell);
      case arrow::Type::INT64:
        return parsed<arrow::Int64Builder>(cells, name, integer_in_cell);
      case arrow::Type::DOUBLE:
        return parsed<arrow::DoubleBuilder>(cells, name, number_in_cell);
      default:
        return checked_text(cells, name);
    }
  }

  std::shared_ptr<arrow::Array> checked_text(const arrow::BinaryArray& cells, const std::string& name) const {
    arrow::StringBuilder builder;
    for (std::int64_t i = 0; i < cells.length(); ++i) {
      const std::string_view cell = cells.GetView(i);
      if (!arrow::util::ValidateUTF8(cell)) {
        refuse(ErrorCode::kBadData, source_,
               fmt::format("column {}: {} is not UTF-8", in_quotes(name), in_quotes(cell)));
      }
      check(cell.empty() ? builder.AppendNull() : builder.Append(cell), ErrorCode::kFile, file());
    }
    return value_of(builder.Finish(), ErrorCode::kFile, file());
  }

  std::filesystem::path source_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  std::int64_t bytes_in_group_ = 0;
};

}  // namespace

std::unique_ptr<TableWriter> create_parquet(const std::filesystem::path& file, const FileTableReader& from,
                                            std::vector<std::string> added) {
  return std::make_unique<ParquetWriter>(file, from, std::move(added));
}

}  // namespace widthwise::internal
