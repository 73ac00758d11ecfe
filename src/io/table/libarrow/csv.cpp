#include <arrow/csv/api.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/future.h>

#include <utility>

#include "io/table/libarrow/files.hpp"
#include "io/table/libarrow/rows.hpp"
#include "io/table/libarrow/streams.hpp"

namespace widthwise::internal {
namespace {

class CsvBlocks final : public RowBlocks {
 public:
  CsvBlocks(ByteSource text, const CsvLayout& layout)
      : ahead_(layout.ahead), ragged_(std::make_shared<std::optional<RaggedRow>>()) {
    auto read = arrow::csv::ReadOptions::Defaults();
    read.block_size = layout.block_bytes;
    read.use_threads = false;  // the stream does not use threads, and rows keep their numbers
    auto parse = arrow::csv::ParseOptions::Defaults();
    parse.delimiter = layout.separator;
    parse.newlines_in_values = true;
    parse.invalid_row_handler = [ragged = ragged_](const arrow::csv::InvalidRow& row) {
      *ragged = RaggedRow{row.number, row.expected_columns, row.actual_columns};
      return arrow::csv::InvalidRowResult::Error;
    };
    auto convert = arrow::csv::ConvertOptions::Defaults();
    convert.default_column_type = arrow::binary();  // in any encoding; only typed formats need to know it
    convert.include_columns = layout.columns;
    reader_ = unwrap(arrow::csv::StreamingReader::Make(
        arrow::io::default_io_context(), std::make_shared<SourceStream>(std::move(text)), read, parse, convert));
  }

  CsvBlocks(const CsvBlocks&) = delete;
  CsvBlocks& operator=(const CsvBlocks&) = delete;
  ~CsvBlocks() override {
    if (next_.is_valid()) next_.Wait();
  }

  [[nodiscard]] std::shared_ptr<const TableSchema> schema() const override {
    return std::make_shared<ArrowSchemaColumns>(reader_->schema());
  }

  [[nodiscard]] std::shared_ptr<const DecodedRows> next() override {
    if (!next_.is_valid()) next_ = reader_->ReadNextAsync();
    std::shared_ptr<arrow::RecordBatch> block = unwrap(std::exchange(next_, {}).MoveResult());
    if (!block) return nullptr;
    if (ahead_) next_ = reader_->ReadNextAsync();
    return std::make_shared<ArrowRows>(std::move(block));
  }

 private:
  template <class T>
  T unwrap(arrow::Result<T> result) const {
    if (!result.ok()) throw CsvFailure(result.status().message(), *ragged_);
    return std::move(result).ValueUnsafe();
  }

  bool ahead_;
  std::shared_ptr<std::optional<RaggedRow>> ragged_;
  std::shared_ptr<arrow::csv::StreamingReader> reader_;
  arrow::Future<std::shared_ptr<arrow::RecordBatch>> next_;
};

}  // namespace

std::unique_ptr<RowBlocks> read_csv_with_arrow(ByteSource text, const CsvLayout& layout) {
  return std::make_unique<CsvBlocks>(std::move(text), layout);
}

}  // namespace widthwise::internal
