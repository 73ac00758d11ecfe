#include "io/table/reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/hash.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "io/table/errors.hpp"
#include "io/table/label_cells.hpp"
#include "io/table/numbers.hpp"

namespace widthwise::internal {
namespace {

/// Number of rows transposed at once, small enough to stay in the cache while all columns are added.
constexpr std::int64_t kRowsAtOnce = 256;

constexpr std::uintmax_t kSampleBytes = 65'536;
constexpr std::size_t kMaxNamesListed = 8;

std::uint64_t fingerprint_of(const std::filesystem::path& content, const std::filesystem::path& file,
                             std::uintmax_t size) {
  std::ifstream in(content, std::ios::binary);
  if (!in) refuse(ErrorCode::kFile, file, "cannot be opened for reading");
  std::uint64_t hash = mix_bits(size);
  const std::uintmax_t last = size - std::min(size, kSampleBytes);
  // Read small files completely, large ones at the beginning, in the middle and at the end.
  const std::array<std::uintmax_t, 3> starts = {0, std::max(std::min(last, kSampleBytes), last / 2), last};
  std::uintmax_t read_to = 0;
  std::string bytes;
  for (const std::uintmax_t start : starts) {
    const std::uintmax_t from = std::max(start, read_to);
    read_to = std::min(size, start + kSampleBytes);
    bytes.resize(static_cast<std::size_t>(read_to - from));
    in.seekg(static_cast<std::streamoff>(from));
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!in) refuse(ErrorCode::kFile, file, "cannot be read");
    hash = hash_bytes(hash, std::as_bytes(std::span(bytes)));
  }
  return hash;
}

}  // namespace

FileTableReader::FileTableReader(std::filesystem::path file, const ReadOptions& options)
    : content_(std::move(file)),
      file_(options.name.empty() ? content_ : std::filesystem::path(options.name)),
      options_(options),
      markers_(options.missing) {
  if (options_.batch_rows == 0) refuse(ErrorCode::kInvalidArgument, file_, "batch_rows is 0; expected at least 1");
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(content_, error);
  if (!std::filesystem::exists(status)) refuse(ErrorCode::kFile, file_, "no such file");
  if (!std::filesystem::is_regular_file(status)) refuse(ErrorCode::kFile, file_, "not a regular file");
  file_size_ = std::filesystem::file_size(content_, error);
  if (error) refuse(ErrorCode::kFile, file_, error.message());
  if (file_size_ == 0) refuse(ErrorCode::kBadData, file_, "the file is empty");
  fingerprint_ = fingerprint_of(content_, file_, file_size_);
}

const std::shared_ptr<const TableSchema>& FileTableReader::carried() const {
  if (!carried_) refuse(ErrorCode::kInvalidArgument, file_, "TableReader::select has not been called");
  return carried_;
}

void FileTableReader::set_columns(std::vector<ColumnInfo> columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!places_.emplace(columns[i].name, i).second) {
      refuse(ErrorCode::kBadData, file_,
             fmt::format("duplicate column name {}; expected unique names", in_quotes(columns[i].name)));
    }
  }
  columns_ = std::move(columns);
}

std::size_t FileTableReader::index_of(const std::string& name) const {
  if (const auto found = places_.find(name); found != places_.end()) return found->second;
  std::vector<std::string> names;
  names.reserve(columns_.size());
  for (const ColumnInfo& column : columns_) names.push_back(column.name);
  std::string message = "no column " + in_quotes(name);
  if (const std::string nearest = nearest_name(name, names); !nearest.empty()) {
    message += fmt::format("; did you mean {}?", in_quotes(nearest));
  } else {
    message += "; there are ";
    for (std::size_t i = 0; i < std::min(names.size(), kMaxNamesListed); ++i) {
      message += (i == 0 ? "" : ", ") + in_quotes(names[i]);
    }
    if (names.size() > kMaxNamesListed) message += fmt::format(" and {} more", names.size() - kMaxNamesListed);
  }
  refuse(ErrorCode::kInvalidArgument, file_, message);
}

void FileTableReader::select_key(const std::string& column) {
  if (carried_ || key_) {
    refuse(ErrorCode::kInvalidArgument, file_, "TableReader::select_key was called twice, or after select");
  }
  const std::size_t index = index_of(column);
  check_as_key(index);
  key_ = index;
}

void FileTableReader::select_columns(std::vector<SelectedColumn> columns, std::vector<std::string> carried) {
  if (carried_) refuse(ErrorCode::kInvalidArgument, file_, "TableReader::select was called twice");
  // A column may be selected several times; read it once.
  std::vector<std::size_t> wanted;
  std::vector<int> places(columns_.size(), -1);
  const auto place_of = [&](std::size_t column) {
    if (places[column] < 0) {
      places[column] = static_cast<int>(wanted.size());
      wanted.push_back(column);
    }
    return places[column];
  };
  std::vector<int> number_columns;
  for (const SelectedColumn& selected : columns) {
    const std::size_t column = index_of(selected.name);
    if (holds_labels(selected)) {
      check_as_labels(column);
    } else if (selected.times == nullptr || columns_[column].kind != ColumnKind::kTime) {
      check_as_numbers(column);
    }
    number_columns.push_back(place_of(column));
  }
  std::vector<int> carried_columns;
  for (const std::string& name : carried) carried_columns.push_back(place_of(index_of(name)));
  if (key_) key_column_ = place_of(*key_);
  // Read at least one column to know the number of rows.
  if (wanted.empty()) wanted.push_back(0);

  const std::shared_ptr<const TableSchema> schema = start(wanted);
  selected_ = std::move(columns);
  number_columns_ = std::move(number_columns);
  carried_ = schema->select(carried_columns);
  carried_columns_ = std::move(carried_columns);
}

bool FileTableReader::next(TableBatch& batch) {
  (void)carried();
  return with_errors_of(file_, ErrorCode::kBadData, [&] {
    while (!block_ || rows_of_block_used_ == block_->rows()) {
      block_ = nullptr;
      rows_of_block_used_ = 0;
      block_ = read_block();
      if (!block_) return false;
    }
    const std::int64_t left = block_->rows() - rows_of_block_used_;
    const auto rows =
        static_cast<std::int64_t>(std::min<std::uint64_t>(options_.batch_rows, static_cast<std::uint64_t>(left)));
    fill(batch.state(), *block_->slice(rows_of_block_used_, rows));
    rows_of_block_used_ += rows;
    rows_read_ += static_cast<std::uint64_t>(rows);
    return true;
  });
}

void FileTableReader::fill(TableBatch::State& batch, const DecodedRows& rows) const {
  batch.rows = static_cast<std::size_t>(rows.rows());
  batch.columns = number_columns_.size();
  batch.first_row = first_row_ + rows_read_;
  batch.carried = rows.select(carried_columns_);
  batch.schema = carried_;
  std::vector<Cells> numbers;
  numbers.reserve(number_columns_.size());
  for (const int column : number_columns_) {
    numbers.push_back(markers_.empty() ? rows.cells(column) : markers_.removed_from(rows.cells(column)));
  }
  fill_keys(batch, rows);
  batch.numbers.resize(std::max(batch.numbers.size(), batch.rows * batch.columns));
  for (std::int64_t begin = 0; begin < rows.rows(); begin += kRowsAtOnce) {
    const std::int64_t end = std::min(begin + kRowsAtOnce, rows.rows());
    for (std::size_t j = 0; j < numbers.size(); ++j) fill_column(batch, j, numbers[j], begin, end);
  }
}

void FileTableReader::fill_column(TableBatch::State& batch, std::size_t j, const Cells& column, std::int64_t begin,
                                  std::int64_t end) const {
  double* const out = batch.numbers.data() + static_cast<std::size_t>(begin) * batch.columns + j;
  const SelectedColumn& selected = selected_[j];
  const bool labels = holds_labels(selected);
  const bool of_numbers = columns_[places_.at(selected.name)].kind == ColumnKind::kNumber;
  const std::optional<std::int64_t> bad =
      labels ? fill_labels(column, begin, end, selected, of_numbers, out, batch.columns)
             : fill_numbers(column, begin, end, out, batch.columns);
  if (selected.times != nullptr && !bad) append_moments(column, begin, end, *selected.times);
  for (std::int64_t i = 0; i < end - begin && selected.unknown != nullptr; ++i) {
    if (!std::isnan(out[static_cast<std::size_t>(i) * batch.columns])) ++selected.unknown->values;
  }
  if (!bad) return;
  const std::uint64_t row = batch.first_row + static_cast<std::uint64_t>(*bad);
  if (labels) {
    if (const std::optional<std::string_view> text = label_not_utf8(column, *bad)) {
      refuse(ErrorCode::kBadData, file_,
             fmt::format("column {}, row {}: the label '{}' is not UTF-8; convert the table to UTF-8, a CSV file for "
                         "example with iconv -f LATIN1 -t UTF-8",
                         in_quotes(selected.name), row + 1, printable(*text)));
    }
    refuse(ErrorCode::kBadData, file_,
           fmt::format("column {}, row {}: the number is not an integer; expected text, booleans or integers",
                       in_quotes(selected.name), row + 1));
  }
  refuse_cell(file_, selected.name, row, column.text_at(*bad), of_numbers);
}

void FileTableReader::fill_keys(TableBatch::State& batch, const DecodedRows& rows) const {
  batch.keys.clear();
  if (!key_) return;
  const Cells column = rows.cells(key_column_);
  batch.keys.resize(batch.rows);
  const std::optional<std::int64_t> bad = internal::fill_keys(column, batch.keys);
  if (!bad) return;
  const std::string cell(is_text(column.kind) ? column.text_at(*bad) : "");
  refuse(ErrorCode::kBadData, file_,
         fmt::format("column {}, row {}: {}; expected a unique integer per row", in_quotes(columns_[*key_].name),
                     rows_read_ + static_cast<std::uint64_t>(*bad) + 1,
                     cell.empty() ? "the key is missing" : in_quotes(cell) + " is not a 64-bit integer"));
}

}  // namespace widthwise::internal
