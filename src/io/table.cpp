#include <stdexcept>
#include <string_view>
#include <utility>
#include <widthwise/error.hpp>
#include <widthwise/io/table.hpp>

#include "io/table/errors.hpp"
#include "io/table/reader.hpp"
#include "io/table/writer.hpp"

namespace widthwise {

TableBatch::TableBatch() : state_(std::make_unique<State>()) {}
TableBatch::~TableBatch() = default;
TableBatch::TableBatch(TableBatch&&) noexcept = default;
TableBatch& TableBatch::operator=(TableBatch&&) noexcept = default;

MatrixView TableBatch::numbers() const { return {state_->numbers.data(), state_->rows, state_->columns}; }

std::size_t TableBatch::rows() const { return state_->rows; }

std::span<const std::uint64_t> TableBatch::keys() const { return state_->keys; }

std::uint64_t TableBatch::first_row() const { return state_->first_row; }

std::unique_ptr<TableReader> TableReader::open(const std::filesystem::path& file, const ReadOptions& options) {
  const TableFormat format = options.format ? *options.format : internal::format_of(file);
  if (format == TableFormat::kParquet) return internal::open_parquet(file, options);
  return internal::open_csv(file, options, format == TableFormat::kGzippedCsv);
}

void TableReader::select(std::vector<std::string> numbers, std::vector<std::string> carried) {
  std::vector<SelectedColumn> columns;
  columns.reserve(numbers.size());
  for (std::string& name : numbers) columns.push_back({.name = std::move(name)});
  select_columns(std::move(columns), std::move(carried));
}

namespace {

const internal::FileTableReader& reader_of(const TableReader& from, const std::filesystem::path& file) {
  const auto* reader = dynamic_cast<const internal::FileTableReader*>(&from);
  if (reader == nullptr) {
    internal::refuse(ErrorCode::kInvalidArgument, file, "expected a reader from TableReader::open");
  }
  return *reader;
}

}  // namespace

std::unique_ptr<TableWriter> TableWriter::open(const std::filesystem::path& file, const TableReader& from,
                                               std::vector<std::string> added) {
  const TableFormat format = internal::format_of(file);
  const internal::FileTableReader& reader = reader_of(from, file);
  if (format == TableFormat::kParquet) return internal::create_parquet(file, reader, std::move(added));
  return internal::create_csv({file, {}}, reader, std::move(added), format == TableFormat::kGzippedCsv);
}

std::unique_ptr<TableWriter> TableWriter::open(ByteSink sink, const std::string& name, const TableReader& from,
                                               std::vector<std::string> added) {
  return internal::create_csv({name, std::move(sink)}, reader_of(from, name), std::move(added), false);
}

NumberTable read_numbers(TableReader& reader) {
  NumberTable table;
  TableBatch batch;
  bool first = true;
  while (reader.next(batch)) {
    const MatrixView numbers = batch.numbers();
    table.columns = numbers.columns();
    try {
      if (std::exchange(first, false)) {
        const std::uint64_t rows = reader.rows().value_or(0);
        if (table.columns > 0 && rows > table.values.max_size() / table.columns) throw std::length_error("rows");
        table.values.reserve(static_cast<std::size_t>(rows) * table.columns);
      }
      table.values.insert(table.values.end(), numbers.data(), numbers.data() + numbers.rows() * numbers.columns());
    } catch (const std::exception&) {
      throw Error(ErrorCode::kBadData, "read_numbers: the table does not fit into memory");
    }
    table.rows += numbers.rows();
  }
  return table;
}

namespace internal {

TableFormat format_of(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  const std::string_view ending = name;
  if (ending.ends_with(".csv")) return TableFormat::kCsv;
  if (ending.ends_with(".csv.gz")) return TableFormat::kGzippedCsv;
  if (ending.ends_with(".parquet") || ending.ends_with(".pq")) return TableFormat::kParquet;
  refuse(ErrorCode::kInvalidArgument, file, "unknown file name ending; expected .csv, .csv.gz, .parquet or .pq");
}

}  // namespace internal
}  // namespace widthwise
