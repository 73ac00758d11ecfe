#include <arrow/array.h>
#include <arrow/csv/api.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <arrow/util/future.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <widthwise/error.hpp>

#include "io/table/cell.hpp"
#include "io/table/errors.hpp"
#include "io/table/reader.hpp"

namespace widthwise::internal {
namespace {

/// Bytes parsed at once, and the longest line there can be.
constexpr std::int32_t kBlockBytes = 1 << 20;

/// A file that counts what was read of it, for progress() while Arrow's threads read on.
class CountedFile : public arrow::io::InputStream {
 public:
  explicit CountedFile(std::shared_ptr<arrow::io::ReadableFile> file) : file_(std::move(file)) {}

  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

  arrow::Status Close() override { return file_->Close(); }
  [[nodiscard]] bool closed() const override { return file_->closed(); }
  [[nodiscard]] arrow::Result<std::int64_t> Tell() const override { return file_->Tell(); }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, file_->Read(bytes, out));
    bytes_read_ += static_cast<std::uint64_t>(read);
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, file_->Read(bytes));
    bytes_read_ += static_cast<std::uint64_t>(buffer->size());
    return buffer;
  }

 private:
  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::atomic<std::uint64_t> bytes_read_ = 0;
};

/// A row with too few or too many cells, if there is one.
struct RaggedRow {
  bool found = false;
  std::int64_t number = 0;
  std::int32_t expected = 0;
  std::int32_t cells = 0;
};

/// One pass over a file, all cells as bytes. With `ahead`, the next block is parsed while the caller is busy with the
/// last.
class TextBlocks {
 public:
  TextBlocks(std::filesystem::path file, bool gzipped, bool ahead, std::vector<std::string> columns)
      : file_(std::move(file)), ahead_(ahead), ragged_(std::make_shared<RaggedRow>()) {
    const std::shared_ptr<arrow::io::ReadableFile> opened =
        value_of(arrow::io::ReadableFile::Open(file_.string()), ErrorCode::kFile, file_);
    counted_ = std::make_shared<CountedFile>(opened);
    std::shared_ptr<arrow::io::InputStream> input = counted_;
    if (gzipped) {
      codec_ = value_of(arrow::util::Codec::Create(arrow::Compression::GZIP), ErrorCode::kMissingEngine, file_);
      input = value_of(arrow::io::CompressedInputStream::Make(codec_.get(), counted_), ErrorCode::kFile, file_);
    }
    auto read = arrow::csv::ReadOptions::Defaults();
    read.block_size = kBlockBytes;
    read.use_threads = false;  // the stream does not use them, and rows keep their numbers
    auto parse = arrow::csv::ParseOptions::Defaults();
    parse.newlines_in_values = true;
    parse.invalid_row_handler = [ragged = ragged_](const arrow::csv::InvalidRow& row) {
      *ragged = {true, row.number, row.expected_columns, row.actual_columns};
      return arrow::csv::InvalidRowResult::Error;
    };
    auto convert = arrow::csv::ConvertOptions::Defaults();
    convert.default_column_type = arrow::binary();  // in any encoding: only formats with types need to know
    convert.include_columns = std::move(columns);
    reader_ = unwrap(arrow::csv::StreamingReader::Make(arrow::io::default_io_context(), input, read, parse, convert));
  }

  TextBlocks(const TextBlocks&) = delete;
  TextBlocks& operator=(const TextBlocks&) = delete;
  ~TextBlocks() {
    if (next_.is_valid()) next_.Wait();
  }

  [[nodiscard]] const arrow::Schema& schema() const { return *reader_->schema(); }
  [[nodiscard]] std::shared_ptr<arrow::Schema> shared_schema() const { return reader_->schema(); }
  [[nodiscard]] std::uint64_t bytes_read() const { return counted_->bytes_read(); }

  /// Null at the end.
  std::shared_ptr<arrow::RecordBatch> next() {
    if (!next_.is_valid()) next_ = reader_->ReadNextAsync();
    std::shared_ptr<arrow::RecordBatch> block = unwrap(std::exchange(next_, {}).MoveResult());
    if (ahead_ && block) next_ = reader_->ReadNextAsync();
    return block;
  }

 private:
  template <class T>
  T unwrap(arrow::Result<T> result) const {
    if (!result.ok()) explain(result.status().message());
    return value_of(std::move(result), ErrorCode::kBadData, file_);
  }

  /// Throw what is known better than Arrow tells it.
  void explain(const std::string& message) const {
    const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
    if (ragged_->found) {
      // Arrow counts the header as a row.
      const std::string where = ragged_->number > 1 ? "row " + std::to_string(ragged_->number - 1) + ": " : "";
      refuse(ErrorCode::kBadData, file_,
             where + "expected " + std::to_string(ragged_->expected) + " cells as in the header, found " +
                 std::to_string(ragged_->cells));
    }
    if (says("Empty CSV")) refuse(ErrorCode::kBadData, file_, "expected a header line and then rows, found neither");
    if (says("straddl")) {
      refuse(ErrorCode::kBadData, file_,
             "a line is longer than " + std::to_string(kBlockBytes) + " bytes; is a quote not closed?");
    }
  }

  std::filesystem::path file_;
  bool ahead_;
  std::shared_ptr<RaggedRow> ragged_;
  std::shared_ptr<CountedFile> counted_;
  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::csv::StreamingReader> reader_;
  arrow::Future<std::shared_ptr<arrow::RecordBatch>> next_;
};

const arrow::BinaryArray& cells_of(const arrow::RecordBatch& block, int column) {
  return static_cast<const arrow::BinaryArray&>(*block.column(column));
}

std::shared_ptr<arrow::DataType> arrow_type_of(CellType type) {
  switch (type) {
    case CellType::kBoolean:
      return arrow::boolean();
    case CellType::kInteger:
      return arrow::int64();
    case CellType::kText:
      return arrow::utf8();
    case CellType::kMissing:  // nothing says that it is not a number
    case CellType::kReal:
      break;
  }
  return arrow::float64();
}

/// Thread safety: none.
class CsvReader final : public FileTableReader {
 public:
  CsvReader(const std::filesystem::path& name, const ReadOptions& options, bool gzipped)
      : FileTableReader(name, options), gzipped_(gzipped) {
    TextBlocks blocks(file(), gzipped_, false, {});
    check_header(blocks.schema());
    const std::shared_ptr<arrow::RecordBatch> first = blocks.next();
    std::vector<ColumnInfo> columns;
    for (int j = 0; j < blocks.schema().num_fields(); ++j) {
      const std::optional<std::int64_t> bad = first ? first_text(cells_of(*first, j)) : std::nullopt;
      first_texts_.emplace_back();
      if (bad) first_texts_.back() = {static_cast<std::uint64_t>(*bad), cells_of(*first, j).GetString(*bad)};
      columns.push_back({blocks.schema().field(j)->name(), bad ? ColumnKind::kOther : ColumnKind::kNumber});
    }
    set_columns(std::move(columns));
  }

  [[nodiscard]] std::optional<std::uint64_t> rows() const override { return std::nullopt; }

  [[nodiscard]] double progress() const override {
    if (!blocks_) return 0;
    return std::min(1.0, static_cast<double>(blocks_->bytes_read()) / static_cast<double>(file_size()));
  }

  /// Reads the file once more: only then are the types sure.
  [[nodiscard]] std::shared_ptr<arrow::Schema> typed_carried() const override {
    const arrow::Schema& text = *carried();
    if (text.num_fields() == 0) return carried();
    std::vector<std::string> names = text.field_names();
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    TextBlocks blocks(file(), gzipped_, options().threads, names);
    std::vector<CellType> types(names.size(), CellType::kMissing);
    while (const std::shared_ptr<arrow::RecordBatch> block = blocks.next()) {
      for (std::size_t j = 0; j < types.size(); ++j) {
        const arrow::BinaryArray& column = cells_of(*block, static_cast<int>(j));
        for (std::int64_t i = 0; i < column.length() && types[j] != CellType::kText; ++i) {
          types[j] = common_type(types[j], type_of_cell(column.GetView(i)));
        }
      }
    }
    arrow::FieldVector fields;
    for (const std::shared_ptr<arrow::Field>& field : text.fields()) {
      const auto place = static_cast<std::size_t>(std::ranges::lower_bound(names, field->name()) - names.begin());
      fields.push_back(field->WithType(arrow_type_of(types[place])));
    }
    return arrow::schema(std::move(fields));
  }

 protected:
  std::shared_ptr<arrow::Schema> start(const std::vector<std::size_t>& wanted) override {
    std::vector<std::string> names;
    names.reserve(wanted.size());
    for (const std::size_t column : wanted) names.push_back(columns()[column].name);
    blocks_ = std::make_unique<TextBlocks>(file(), gzipped_, options().threads, std::move(names));
    return blocks_->shared_schema();
  }

  std::shared_ptr<arrow::RecordBatch> read_block() override { return blocks_->next(); }

  void refuse_as_numbers(std::size_t column) const override {
    const Text& text = first_texts_[column];
    refuse_cell(ErrorCode::kBadData, file(), columns()[column].name, text.row, text.cell);
  }

  void check_as_key(std::size_t column) const override {
    if (columns()[column].kind == ColumnKind::kOther) refuse_as_numbers(column);
  }

 private:
  /// The first cell of a column that is not a number.
  struct Text {
    std::uint64_t row = 0;
    std::string cell;
  };

  static std::optional<std::int64_t> first_text(const arrow::BinaryArray& column) {
    for (std::int64_t i = 0; i < column.length(); ++i) {
      if (!number_in_cell(column.GetView(i))) return i;
    }
    return std::nullopt;
  }

  void check_header(const arrow::Schema& header) const {
    bool all_numbers = true;
    bool all_integers = true;
    for (const std::string& name : header.field_names()) {
      const CellType type = type_of_cell(name);
      all_numbers = all_numbers && (type == CellType::kInteger || type == CellType::kReal);
      all_integers = all_integers && type == CellType::kInteger;
    }
    // Integers alone may well be names: years, or columns numbered by whoever wrote the file.
    if (all_numbers && !all_integers) {
      refuse(ErrorCode::kBadData, file(),
             "the first line holds numbers; expected a header line with the columns' names");
    }
    const std::string& first = header.field(0)->name();
    if (header.num_fields() == 1 && first.find_first_of(";\t") != std::string::npos) {
      refuse(ErrorCode::kBadData, file(), "the header is " + in_quotes(first) + "; expected names separated by commas");
    }
  }

  bool gzipped_;
  std::vector<Text> first_texts_;  // of columns that are not of numbers
  std::unique_ptr<TextBlocks> blocks_;
};

}  // namespace

std::unique_ptr<FileTableReader> open_csv(const std::filesystem::path& file, const ReadOptions& options, bool gzipped) {
  return with_errors_of(file, ErrorCode::kBadData, [&] { return std::make_unique<CsvReader>(file, options, gzipped); });
}

}  // namespace widthwise::internal
