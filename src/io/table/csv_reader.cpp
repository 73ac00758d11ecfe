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
#include "io/table/column_summary.hpp"
#include "io/table/errors.hpp"
#include "io/table/quotes.hpp"
#include "io/table/reader.hpp"
#include "io/table/separator.hpp"
#include "message.hpp"

namespace widthwise::internal {
namespace {

/// Bytes parsed at once, which is also the maximum length of a line.
constexpr std::int32_t kBlockBytes = 1 << 20;

/// A file that counts the bytes read, for progress() while Arrow's threads continue reading.
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

/// Arrow's message for an unclosed quote.
constexpr const char* kUnclosedQuote = "a quote is not closed";

/// Checks the text of a file for unclosed quotes before Arrow reads it. Arrow treats the end of the file inside quotes
/// as the end of a cell, so the rows after an unclosed quote would be lost without an error.
class QuoteChecked : public arrow::io::InputStream {
 public:
  QuoteChecked(std::shared_ptr<arrow::io::InputStream> text, char separator)
      : text_(std::move(text)), quotes_(separator) {}

  /// The position of a quote that is not closed in the text read so far, or not within a whole block.
  [[nodiscard]] std::optional<std::uint64_t> unclosed() const {
    const std::uint64_t place = unclosed_;
    return place == kNone ? std::nullopt : std::optional(place);
  }

  arrow::Status Close() override { return text_->Close(); }
  [[nodiscard]] bool closed() const override { return text_->closed(); }
  [[nodiscard]] arrow::Result<std::int64_t> Tell() const override { return text_->Tell(); }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, text_->Read(bytes, out));
    ARROW_RETURN_NOT_OK(check_quotes({static_cast<const char*>(out), static_cast<std::size_t>(read)}));
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, text_->Read(bytes));
    ARROW_RETURN_NOT_OK(check_quotes(static_cast<std::string_view>(*buffer)));
    return buffer;
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  arrow::Status check_quotes(std::string_view bytes) {
    quotes_.scan(bytes);
    read_ += bytes.size();
    const std::optional<std::uint64_t> open = quotes_.open();
    const bool is_unclosed = quotes_.broken() || (open && bytes.empty());
    if (is_unclosed || !is_long_) unclosed_ = quotes_.broken().value_or(open.value_or(kNone));
    is_long_ = is_long_ || (open && read_ - *open > static_cast<std::uint64_t>(kBlockBytes));
    return is_unclosed ? arrow::Status::Invalid(kUnclosedQuote) : arrow::Status::OK();
  }

  std::shared_ptr<arrow::io::InputStream> text_;
  QuoteScanner quotes_;
  std::uint64_t read_ = 0;
  bool is_long_ = false;                         // a cell that Arrow will reject, possibly after reading more
  std::atomic<std::uint64_t> unclosed_ = kNone;  // the other members belong to the reading thread
};

/// A CSV file: what to open, and its name in messages.
struct CsvFile {
  std::filesystem::path content;
  std::filesystem::path name;
  bool gzipped = false;
  char separator = ',';
};

/// The bytes of a CSV file as text, and the position in the file itself.
struct OpenedText {
  std::unique_ptr<arrow::util::Codec> codec;
  std::shared_ptr<CountedFile> counted;
  std::shared_ptr<arrow::io::InputStream> text;
};

OpenedText open_text(const CsvFile& file) {
  OpenedText opened;
  opened.counted = std::make_shared<CountedFile>(
      value_of(arrow::io::ReadableFile::Open(file.content.string()), ErrorCode::kFile, file.name));
  opened.text = opened.counted;
  if (file.gzipped) {
    opened.codec = value_of(arrow::util::Codec::Create(arrow::Compression::GZIP), ErrorCode::kMissingEngine, file.name);
    opened.text = value_of(arrow::io::CompressedInputStream::Make(opened.codec.get(), opened.counted), ErrorCode::kFile,
                           file.name);
  }
  return opened;
}

/// The separator of the cells, if the beginning of the file makes it clear.
std::optional<char> separator_in(const CsvFile& file) {
  constexpr std::int64_t kBytes = 1 << 16;
  const OpenedText opened = open_text(file);
  std::string text;
  while (text.size() < kBytes) {
    const arrow::Result<std::shared_ptr<arrow::Buffer>> read = opened.text->Read(kBytes);
    if (!read.ok() || (*read)->size() == 0) break;  // the reader finds the error and names it
    text += static_cast<std::string_view>(**read);
  }
  return guess_separator(text);
}

/// The line number of a byte, from 1, as shown by an editor.
std::uint64_t line_of(const CsvFile& file, std::uint64_t place) {
  const OpenedText opened = open_text(file);
  std::uint64_t line = 1;
  char last = 0;
  std::uint64_t at = 0;
  while (at < place) {
    const std::shared_ptr<arrow::Buffer> buffer = value_of(opened.text->Read(kBlockBytes), ErrorCode::kFile, file.name);
    if (buffer->size() == 0) break;
    for (const char letter : static_cast<std::string_view>(*buffer).substr(0, place - at)) {
      if (letter == '\r' || (letter == '\n' && last != '\r')) ++line;
      last = letter;
    }
    at += static_cast<std::uint64_t>(buffer->size());
  }
  return line;
}

/// A row with too few or too many cells, if there is one.
struct RaggedRow {
  bool found = false;
  std::int64_t number = 0;
  std::int32_t expected = 0;
  std::int32_t cells = 0;
};

/// One pass over a file, with all cells as bytes. With `ahead`, the next block is parsed while the caller processes the
/// last one.
class TextBlocks {
 public:
  TextBlocks(CsvFile file, bool ahead, std::vector<std::string> columns)
      : file_(std::move(file)),
        ahead_(ahead),
        ragged_(std::make_shared<RaggedRow>()),
        opened_(open_text(file_)),
        checked_(std::make_shared<QuoteChecked>(opened_.text, file_.separator)) {
    auto read = arrow::csv::ReadOptions::Defaults();
    read.block_size = kBlockBytes;
    read.use_threads = false;  // the stream does not use threads, and rows keep their numbers
    auto parse = arrow::csv::ParseOptions::Defaults();
    parse.delimiter = file_.separator;
    parse.newlines_in_values = true;
    parse.invalid_row_handler = [ragged = ragged_](const arrow::csv::InvalidRow& row) {
      *ragged = {true, row.number, row.expected_columns, row.actual_columns};
      return arrow::csv::InvalidRowResult::Error;
    };
    auto convert = arrow::csv::ConvertOptions::Defaults();
    convert.default_column_type = arrow::binary();  // in any encoding; only typed formats need to know it
    convert.include_columns = std::move(columns);
    reader_ =
        unwrap(arrow::csv::StreamingReader::Make(arrow::io::default_io_context(), checked_, read, parse, convert));
  }

  TextBlocks(const TextBlocks&) = delete;
  TextBlocks& operator=(const TextBlocks&) = delete;
  ~TextBlocks() {
    if (next_.is_valid()) next_.Wait();
  }

  [[nodiscard]] const arrow::Schema& schema() const { return *reader_->schema(); }
  [[nodiscard]] std::shared_ptr<arrow::Schema> shared_schema() const { return reader_->schema(); }
  [[nodiscard]] std::uint64_t bytes_read() const { return opened_.counted->bytes_read(); }

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
    return value_of(std::move(result), ErrorCode::kBadData, file_.name);
  }

  /// Throw an error that is more specific than Arrow's.
  void explain(const std::string& message) const {
    const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
    if (says(kUnclosedQuote)) refuse_quote();
    if (ragged_->found) {
      // Arrow counts the header as a row.
      const std::string where = ragged_->number > 1 ? fmt::format("row {}: ", ragged_->number - 1) : "";
      refuse(ErrorCode::kBadData, file_.name,
             fmt::format("{}expected {} cells as in the header, found {}", where, ragged_->expected, ragged_->cells));
    }
    if ((says("Empty CSV") || says("straddl")) && checked_->unclosed()) refuse_quote();
    if (says("Empty CSV")) refuse(ErrorCode::kBadData, file_.name, "expected a header line and rows, found neither");
    if (says("straddl")) {
      refuse(ErrorCode::kBadData, file_.name, fmt::format("a line is longer than {} bytes", kBlockBytes));
    }
  }

  [[noreturn]] void refuse_quote() const {
    refuse(ErrorCode::kBadData, file_.name,
           fmt::format("the quote opened in line {} is not closed; close it or remove it",
                       line_of(file_, checked_->unclosed().value_or(0))));
  }

  CsvFile file_;
  bool ahead_;
  std::shared_ptr<RaggedRow> ragged_;
  OpenedText opened_;
  std::shared_ptr<QuoteChecked> checked_;
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
    case CellType::kMissing:  // an empty column counts as numeric
    case CellType::kReal:
      break;
  }
  return arrow::float64();
}

/// Thread safety: none.
class CsvReader final : public FileTableReader {
 public:
  CsvReader(const std::filesystem::path& name, const ReadOptions& options, bool gzipped)
      : FileTableReader(name, options), csv_{content(), file(), gzipped} {
    if (options.separator && !is_separator(*options.separator)) {
      refuse(ErrorCode::kInvalidArgument, file(),
             fmt::format("{} cannot separate cells; expected a character such as ; or a tab",
                         in_quotes(std::string(1, *options.separator))));
    }
    const std::optional<char> separator = options.separator ? options.separator : separator_in(csv_);
    csv_.separator = separator.value_or(',');
    TextBlocks blocks(csv_, false, {});
    check_header(blocks.schema(), separator.has_value());
    const std::shared_ptr<arrow::RecordBatch> first = blocks.next();
    std::vector<ColumnInfo> columns;
    for (int j = 0; j < blocks.schema().num_fields(); ++j) {
      const ColumnSummary summary = first ? summary_of(cells_of(*first, j), markers()) : ColumnSummary();
      columns.push_back({blocks.schema().field(j)->name(), summary.kind(), {}});
      if (summary.kind() == ColumnKind::kNumber) columns.back().unreadable = summary.unreadable;
      first_texts_.push_back(summary.unreadable);
    }
    set_columns(std::move(columns));
  }

  [[nodiscard]] std::optional<std::uint64_t> rows() const override { return std::nullopt; }

  [[nodiscard]] char separator() const override { return csv_.separator; }

  [[nodiscard]] double progress() const override {
    if (!blocks_) return 0;
    return std::min(1.0, static_cast<double>(blocks_->bytes_read()) / static_cast<double>(file_size()));
  }

  /// Reads the whole file once more to determine the types.
  [[nodiscard]] std::shared_ptr<arrow::Schema> typed_carried() const override {
    const arrow::Schema& text = *carried();
    if (text.num_fields() == 0) return carried();
    std::vector<std::string> names = text.field_names();
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    TextBlocks blocks(csv_, options().threads, names);
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
    blocks_ = std::make_unique<TextBlocks>(csv_, options().threads, std::move(names));
    return blocks_->shared_schema();
  }

  std::shared_ptr<arrow::RecordBatch> read_block() override { return blocks_->next(); }

  void check_as_numbers(std::size_t column) const override {
    const ColumnInfo& info = columns()[column];
    const std::optional<UnreadableCell>& cell = first_texts_[column];
    if (cell) refuse_cell(file(), info.name, cell->row, cell->text, info.kind == ColumnKind::kNumber);
  }

  void check_as_labels(std::size_t /*column*/) const override {}  // any text is a label

  void check_as_key(std::size_t column) const override {
    if (columns()[column].kind == ColumnKind::kText) check_as_numbers(column);
  }

 private:
  void check_header(const arrow::Schema& header, bool clear_separator) const {
    bool all_numbers = true;
    bool all_integers = true;
    for (const std::string& name : header.field_names()) {
      const CellType type = type_of_cell(name);
      all_numbers = all_numbers && (type == CellType::kInteger || type == CellType::kReal);
      all_integers = all_integers && type == CellType::kInteger;
    }
    // A header of integers is plausible: years, or numbered columns.
    if (all_numbers && !all_integers) {
      refuse(ErrorCode::kBadData, file(), "the first line holds numbers; expected a header line with column names");
    }
    const std::string& first = header.field(0)->name();
    if (header.num_fields() == 1 && !clear_separator && first.find_first_of(";\t|") != std::string::npos) {
      refuse(ErrorCode::kBadData, file(),
             fmt::format("the header is {}, and the separator of the rows is not clear; give it with --separator "
                         "(ReadOptions::separator)",
                         in_quotes(first)));
    }
  }

  CsvFile csv_;
  std::vector<std::optional<UnreadableCell>> first_texts_;  // of each column
  std::unique_ptr<TextBlocks> blocks_;
};

}  // namespace

std::unique_ptr<FileTableReader> open_csv(const std::filesystem::path& file, const ReadOptions& options, bool gzipped) {
  return with_errors_of(file, ErrorCode::kBadData, [&] { return std::make_unique<CsvReader>(file, options, gzipped); });
}

}  // namespace widthwise::internal
