#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <widthwise/error.hpp>
#include <widthwise/io/table.hpp>

#include "base/message.hpp"
#include "io/table/arrow_library.hpp"
#include "io/table/cell.hpp"
#include "io/table/cells.hpp"
#include "io/table/csv_text.hpp"
#include "io/table/errors.hpp"
#include "io/table/missing.hpp"
#include "io/table/reader.hpp"

namespace widthwise::internal {
namespace {

/// What the cells of a column of a CSV file are; missing ones do not count.
struct ColumnSummary {
  std::uint64_t numbers = 0;
  std::uint64_t texts = 0;
  std::uint64_t decimal_commas = 0;  ///< numbers but for the decimal comma; not among the other two
  std::optional<UnreadableCell> unreadable = std::nullopt;  ///< the first cell that is not a number

  /// Numbers with decimal commas make a column numeric, so that reading it is an error that names one of them.
  [[nodiscard]] ColumnKind kind() const {
    return texts > 0 && texts >= numbers + decimal_commas ? ColumnKind::kText : ColumnKind::kNumber;
  }
};

ColumnSummary summary_of(const Cells& cells, const MissingMarkers& markers) {
  ColumnSummary summary;
  for (std::int64_t i = 0; i < cells.rows; ++i) {
    const std::string_view cell = cells.text_at(i);
    if (!markers.empty() && markers.contains(cell)) continue;
    if (const std::optional<double> number = number_in_cell(cell)) {
      if (!std::isnan(*number)) ++summary.numbers;
      continue;
    }
    const bool decimal_comma = has_decimal_comma(cell);
    ++(decimal_comma ? summary.decimal_commas : summary.texts);
    if (summary.unreadable) continue;
    constexpr std::size_t kMaxShown = 60;
    summary.unreadable =
        UnreadableCell{static_cast<std::uint64_t>(i), std::string(cell.substr(0, kMaxShown)), decimal_comma};
  }
  return summary;
}

/// Bytes parsed at once, which is also the maximum length of a line.
constexpr std::int32_t kBlockBytes = 1 << 20;

/// A file that counts the bytes read, for progress() while another thread continues reading.
class CountedFile {
 public:
  explicit CountedFile(const std::filesystem::path& content) : file_(content, std::ios::binary) {
    if (!file_) throw std::runtime_error("cannot be opened for reading");
  }

  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

  std::size_t read(std::span<std::byte> out) {
    file_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
    if (file_.bad()) throw std::runtime_error("cannot be read");
    const auto count = static_cast<std::size_t>(file_.gcount());
    bytes_read_ += count;
    return count;
  }

 private:
  std::ifstream file_;
  std::atomic<std::uint64_t> bytes_read_ = 0;
};

/// The message for an unclosed quote.
constexpr const char* kUnclosedQuote = "a quote is not closed";

/// Checks the text of a file for unclosed quotes before Arrow reads it. Arrow treats the end of the file inside quotes
/// as the end of a cell, so the rows after an unclosed quote would be lost without an error.
class QuoteChecked {
 public:
  QuoteChecked(ByteSource text, char separator) : text_(std::move(text)), quotes_(separator) {}

  /// The position of a quote that is not closed in the text read so far, or not within a whole block.
  [[nodiscard]] std::optional<std::uint64_t> unclosed() const {
    const std::uint64_t place = unclosed_;
    return place == kNone ? std::nullopt : std::optional(place);
  }

  /// Call when nothing is read.
  [[nodiscard]] const std::optional<QuoteScanner::LongCell>& long_cell() const { return quotes_.long_cell(); }

  std::size_t read(std::span<std::byte> out) {
    const std::size_t count = text_(out);
    check_quotes({reinterpret_cast<const char*>(out.data()), count});
    return count;
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void check_quotes(std::string_view bytes) {
    quotes_.scan(bytes);
    read_ += bytes.size();
    const std::optional<std::uint64_t> open = quotes_.open();
    const bool is_unclosed = quotes_.broken() || (open && bytes.empty());
    if (is_unclosed || !is_long_) unclosed_ = quotes_.broken().value_or(open.value_or(kNone));
    is_long_ = is_long_ || (open && read_ - *open > static_cast<std::uint64_t>(kBlockBytes));
    if (is_unclosed) throw std::runtime_error(kUnclosedQuote);
  }

  ByteSource text_;
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
  std::shared_ptr<CountedFile> counted;
  ByteSource text;
};

OpenedText open_text(const CsvFile& file) {
  return with_errors_of(file.name, ErrorCode::kFile, [&] {
    OpenedText opened;
    opened.counted = std::make_shared<CountedFile>(file.content);
    opened.text = [counted = opened.counted](std::span<std::byte> out) { return counted->read(out); };
    if (file.gzipped) opened.text = arrow_library().gunzip(std::move(opened.text));
    return opened;
  });
}

/// The separator of the cells, if the beginning of the file makes it clear.
std::optional<char> separator_in(const CsvFile& file) {
  constexpr std::size_t kBytes = 1 << 16;
  const OpenedText opened = open_text(file);
  std::string text;
  std::vector<std::byte> bytes(kBytes);
  try {
    while (text.size() < kBytes) {
      const std::size_t count = opened.text(bytes);
      if (count == 0) break;
      text.append(reinterpret_cast<const char*>(bytes.data()), count);
    }
  } catch (const std::exception&) {
    return guess_separator(text);  // the reader finds the error and names it
  }
  return guess_separator(text);
}

/// A position in a CSV file.
struct CellPosition {
  std::uint64_t line = 1;  ///< from 1, as shown by an editor
  std::uint64_t row = 0;   ///< from 1 after the header
  std::size_t column = 0;  ///< from 0
};

/// Finds the line, row and column of a byte. Thread safety: none.
class PositionCounter {
 public:
  explicit PositionCounter(char separator) : separator_(separator) {}

  [[nodiscard]] const CellPosition& position() const { return position_; }

  void add(char letter) {
    const bool ends_line = letter == '\r' || (letter == '\n' && last_ != '\r');
    const bool blank = last_ == '\0' || last_ == '\n' || last_ == '\r';
    if (ends_line) ++position_.line;
    // Quotes open at the start of a cell; "" inside is a quote.
    const bool may_open = blank || last_ == separator_ || last_ == '"';
    if (letter == '"' && (is_open_ || may_open)) is_open_ = !is_open_;
    if (!is_open_ && letter == separator_) ++position_.column;
    if (!is_open_ && ends_line && !blank) ++position_.row;  // blank lines are no rows
    if (!is_open_ && ends_line) position_.column = 0;
    last_ = letter;
  }

 private:
  char separator_;
  CellPosition position_;
  bool is_open_ = false;
  char last_ = '\0';
};

/// The position of a byte.
CellPosition position_of(const CsvFile& file, std::uint64_t byte) {
  const OpenedText opened = open_text(file);
  std::vector<std::byte> bytes(kBlockBytes);
  PositionCounter counter(file.separator);
  std::uint64_t at = 0;
  while (at < byte) {
    const std::size_t count = with_errors_of(file.name, ErrorCode::kFile, [&] { return opened.text(bytes); });
    if (count == 0) break;
    for (const char letter :
         std::string_view(reinterpret_cast<const char*>(bytes.data()), count).substr(0, byte - at)) {
      counter.add(letter);
    }
    at += count;
  }
  return counter.position();
}

/// One pass over a file, with all cells as bytes. With `ahead`, the next block is parsed while the caller processes the
/// last one.
class TextBlocks {
 public:
  TextBlocks(CsvFile file, bool ahead, std::vector<std::string> columns)
      : file_(std::move(file)),
        opened_(open_text(file_)),
        checked_(std::make_shared<QuoteChecked>(opened_.text, file_.separator)) {
    const CsvLayout layout{file_.separator, kBlockBytes, ahead, std::move(columns)};
    explained([&] {
      blocks_ = arrow_library().read_csv([checked = checked_](std::span<std::byte> out) { return checked->read(out); },
                                         layout);
    });
  }

  [[nodiscard]] std::shared_ptr<const TableSchema> schema() const { return blocks_->schema(); }
  [[nodiscard]] std::uint64_t bytes_read() const { return opened_.counted->bytes_read(); }
  /// Call after the last block.
  [[nodiscard]] const std::optional<QuoteScanner::LongCell>& long_cell() const { return checked_->long_cell(); }

  /// Null at the end.
  std::shared_ptr<const DecodedRows> next() {
    std::shared_ptr<const DecodedRows> block;
    explained([&] { block = blocks_->next(); });
    return block;
  }

 private:
  /// Run `action`; convert the errors of the Arrow library.
  template <class Action>
  void explained(const Action& action) const {
    try {
      action();
    } catch (const CsvFailure& failure) {
      explain(failure);
    }
  }

  /// Throw an error that is more specific than Arrow's, if possible.
  [[noreturn]] void explain(const CsvFailure& failure) const {
    const std::string_view message = failure.what();
    const auto says = [&](const char* words) { return message.find(words) != std::string_view::npos; };
    if (says(kUnclosedQuote)) refuse_quote();
    if (failure.ragged) {
      // Arrow counts the header as a row.
      const std::string where = failure.ragged->number > 1 ? fmt::format("row {}: ", failure.ragged->number - 1) : "";
      refuse(ErrorCode::kBadData, file_.name,
             fmt::format("{}expected {} cells as in the header, found {}", where, failure.ragged->expected,
                         failure.ragged->cells));
    }
    if ((says("Empty CSV") || says("straddl")) && checked_->unclosed()) refuse_quote();
    if (says("Empty CSV")) refuse(ErrorCode::kBadData, file_.name, "expected a header line and rows, found neither");
    if (says("straddl")) {
      refuse(ErrorCode::kBadData, file_.name, fmt::format("a line is longer than {} bytes", kBlockBytes));
    }
    refuse(ErrorCode::kBadData, file_.name, one_line(message));
  }

  [[noreturn]] void refuse_quote() const {
    refuse(ErrorCode::kBadData, file_.name,
           fmt::format("the quote opened in line {} is not closed; close it or remove it",
                       position_of(file_, checked_->unclosed().value_or(0)).line));
  }

  CsvFile file_;
  OpenedText opened_;
  std::shared_ptr<QuoteChecked> checked_;
  std::unique_ptr<RowBlocks> blocks_;
};

CellKind kind_of(CellType type) {
  switch (type) {
    case CellType::kBoolean:
      return CellKind::kBool;
    case CellType::kInteger:
      return CellKind::kInt64;
    case CellType::kText:
      return CellKind::kText;
    case CellType::kMissing:  // an empty column counts as numeric
    case CellType::kReal:
      break;
  }
  return CellKind::kDouble;
}

std::vector<std::string> names_of(const TableSchema& schema) {
  std::vector<std::string> names;
  for (const FileColumn& column : schema.columns()) names.push_back(column.name);
  return names;
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
    const std::vector<std::string> names = names_of(*blocks.schema());
    check_header(names, separator.has_value());
    const std::shared_ptr<const DecodedRows> first = blocks.next();
    std::vector<ColumnInfo> columns;
    for (std::size_t j = 0; j < names.size(); ++j) {
      const ColumnSummary summary = first ? summary_of(first->cells(static_cast<int>(j)), markers()) : ColumnSummary();
      columns.push_back({names[j], summary.kind(), {}});
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
  [[nodiscard]] std::vector<std::optional<CellKind>> carried_types() const override {
    const std::vector<std::string> carried_names = names_of(*carried());
    if (carried_names.empty()) return {};
    std::vector<std::string> names = carried_names;
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    TextBlocks blocks(csv_, options().threads, names);
    std::vector<CellType> types(names.size(), CellType::kMissing);
    while (const std::shared_ptr<const DecodedRows> block = blocks.next()) {
      for (std::size_t j = 0; j < types.size(); ++j) {
        const Cells column = block->cells(static_cast<int>(j));
        for (std::int64_t i = 0; i < column.rows && types[j] != CellType::kText; ++i) {
          types[j] = common_type(types[j], type_of_cell(column.text_at(i)));
        }
      }
    }
    std::vector<std::optional<CellKind>> kinds;
    for (const std::string& name : carried_names) {
      const auto place = static_cast<std::size_t>(std::ranges::lower_bound(names, name) - names.begin());
      kinds.emplace_back(kind_of(types[place]));
    }
    return kinds;
  }

 protected:
  std::shared_ptr<const TableSchema> start(const std::vector<std::size_t>& wanted) override {
    std::vector<std::string> names;
    names.reserve(wanted.size());
    for (const std::size_t column : wanted) names.push_back(columns()[column].name);
    blocks_ = std::make_unique<TextBlocks>(csv_, options().threads, std::move(names));
    return blocks_->schema();
  }

  std::shared_ptr<const DecodedRows> read_block() override {
    std::shared_ptr<const DecodedRows> block = blocks_->next();
    if (!block && options().warn) {
      if (const auto& cell = blocks_->long_cell(); cell) warn_of(*cell);
    }
    return block;
  }

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
  void warn_of(const QuoteScanner::LongCell& cell) const {
    const CellPosition position = position_of(csv_, cell.opened);
    const std::string column = position.column < columns().size()
                                   ? fmt::format(", column {}", in_quotes(columns()[position.column].name))
                                   : "";
    options().warn(fmt::format(
        "{}: row {}{}: the quoted cell contains {} line breaks; if rows are missing, correct the quote in line {}",
        file().string(), position.row, column, cell.breaks, position.line));
  }

  void check_header(const std::vector<std::string>& header, bool clear_separator) const {
    bool all_numbers = true;
    bool all_integers = true;
    for (const std::string& name : header) {
      const CellType type = type_of_cell(name);
      all_numbers = all_numbers && (type == CellType::kInteger || type == CellType::kReal);
      all_integers = all_integers && type == CellType::kInteger;
    }
    // A header of integers is plausible: years, or numbered columns.
    if (all_numbers && !all_integers) {
      refuse(ErrorCode::kBadData, file(), "the first line holds numbers; expected a header line with column names");
    }
    const std::string& first = header.front();
    if (header.size() == 1 && !clear_separator && first.find_first_of(";\t|") != std::string::npos) {
      refuse(ErrorCode::kBadData, file(),
             fmt::format("the header is {}, and the separator of the rows is not clear; give it with the option "
                         "separator (--separator)",
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
