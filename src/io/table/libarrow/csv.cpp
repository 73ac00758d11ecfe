#include <arrow/csv/api.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/future.h>
#include <arrow/util/thread_pool.h>

#include <deque>
#include <future>
#include <system_error>
#include <utility>

#include "io/table/libarrow/files.hpp"
#include "io/table/libarrow/rows.hpp"
#include "io/table/libarrow/streams.hpp"

namespace widthwise::internal {
namespace {

/// Runs the tasks of Arrow on the thread that waits for their result. Arrow's own pools wait indefinitely if the system
/// allows them no thread.
/// Thread safety: none.
class TaskQueue final : public arrow::internal::Executor {
 public:
  int GetCapacity() override { return 1; }

  /// Run tasks until the result exists.
  template <class T>
  arrow::Result<T> run(arrow::Future<T> result) {
    while (!result.is_finished() && !tasks_.empty()) run_next();
    return result.MoveResult();
  }

  /// Run all tasks; the objects that wait for them can be destroyed then.
  void run_all() {
    while (!tasks_.empty()) run_next();
  }

 private:
  arrow::Status SpawnReal(arrow::internal::TaskHints /*hints*/, arrow::internal::FnOnce<void()> task,
                          arrow::StopToken /*stop*/, StopCallback&& /*stopped*/) override {
    tasks_.push_back(std::move(task));
    return arrow::Status::OK();
  }

  void run_next() {
    arrow::internal::FnOnce<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    std::move(task)();
  }

  std::deque<arrow::internal::FnOnce<void()>> tasks_;
};

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
    auto reader = tasks_.run(arrow::csv::StreamingReader::MakeAsync(
        arrow::io::IOContext(arrow::default_memory_pool(), &tasks_), std::make_shared<SourceStream>(std::move(text)),
        &tasks_, read, parse, convert));
    tasks_.run_all();
    reader_ = unwrap(std::move(reader));
  }

  CsvBlocks(const CsvBlocks&) = delete;
  CsvBlocks& operator=(const CsvBlocks&) = delete;
  ~CsvBlocks() override {
    if (next_.valid()) next_.wait();
    tasks_.run_all();
  }

  [[nodiscard]] std::shared_ptr<const TableSchema> schema() const override {
    return std::make_shared<ArrowSchemaColumns>(reader_->schema());
  }

  [[nodiscard]] std::shared_ptr<const DecodedRows> next() override {
    std::shared_ptr<arrow::RecordBatch> block = unwrap(next_.valid() ? next_.get() : read());
    if (!block) return nullptr;
    if (ahead_) start_next();
    return std::make_shared<ArrowRows>(std::move(block));
  }

 private:
  using Block = arrow::Result<std::shared_ptr<arrow::RecordBatch>>;

  Block read() { return tasks_.run(reader_->ReadNextAsync()); }

  void start_next() {
    try {
      next_ = std::async(std::launch::async, [this] { return read(); });
    } catch (const std::system_error&) {
      ahead_ = false;  // the system allows no further thread
    }
  }

  template <class T>
  T unwrap(arrow::Result<T> result) const {
    if (!result.ok()) throw CsvFailure(result.status().message(), *ragged_);
    return std::move(result).ValueUnsafe();
  }

  bool ahead_;
  std::shared_ptr<std::optional<RaggedRow>> ragged_;
  TaskQueue tasks_;  // used by one thread at a time
  std::shared_ptr<arrow::csv::StreamingReader> reader_;
  std::future<Block> next_;
};

}  // namespace

std::unique_ptr<RowBlocks> read_csv_with_arrow(ByteSource text, const CsvLayout& layout) {
  return std::make_unique<CsvBlocks>(std::move(text), layout);
}

}  // namespace widthwise::internal
