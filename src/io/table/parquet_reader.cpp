#include <algorithm>
#include <string_view>
#include <utility>
#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "io/table/arrow_library.hpp"
#include "io/table/errors.hpp"
#include "io/table/label_cells.hpp"
#include "io/table/numbers.hpp"
#include "io/table/reader.hpp"

namespace widthwise::internal {
namespace {

bool has_labels(const FileColumn& column) { return is_label_kind(column.values.value_or(column.kind)); }

ColumnKind kind_of(const FileColumn& column) {
  if (!column.values && is_number_kind(column.kind)) return ColumnKind::kNumber;
  if (!column.values && column.kind == CellKind::kTime) return ColumnKind::kTime;
  return has_labels(column) ? ColumnKind::kText : ColumnKind::kOther;
}

/// Thread safety: none.
class ParquetReader final : public FileTableReader {
 public:
  ParquetReader(const std::filesystem::path& name, const ReadOptions& options)
      : FileTableReader(name, options), parquet_(with_errors_of(file(), ErrorCode::kBadData, [&] {
          return arrow_library().open_parquet(content(), options);
        })) {
    const std::vector<std::int64_t>& groups = parquet_->rows_of_groups();
    row_groups_ = options.row_groups.value_or(RowGroups{0, groups.size()});
    if (row_groups_.first > groups.size() || row_groups_.count > groups.size() - row_groups_.first) {
      refuse(ErrorCode::kInvalidArgument, file(),
             fmt::format("row group {} out of range; the file has {}", std::max(row_groups_.first, groups.size()),
                         groups.size()));
    }
    std::uint64_t before = 0;
    for (std::size_t group = 0; group < row_groups_.first + row_groups_.count; ++group) {
      if (groups[group] < 0) refuse(ErrorCode::kBadData, file(), "the number of rows is negative");
      (group < row_groups_.first ? before : rows_) += static_cast<std::uint64_t>(groups[group]);
    }
    if (!options.row_groups && rows_ != static_cast<std::uint64_t>(parquet_->rows())) {
      refuse(ErrorCode::kBadData, file(), fmt::format("expected {} rows, found {}", parquet_->rows(), rows_));
    }
    set_first_row(before);

    std::vector<ColumnInfo> columns;
    for (const FileColumn& column : parquet_->columns()) columns.push_back({column.name, kind_of(column)});
    if (columns.empty()) refuse(ErrorCode::kBadData, file(), "there are no columns");
    set_columns(std::move(columns));
  }

  [[nodiscard]] std::optional<std::uint64_t> rows() const override { return rows_; }

  [[nodiscard]] std::optional<std::size_t> row_groups() const override { return parquet_->rows_of_groups().size(); }

  [[nodiscard]] double progress() const override {
    return rows_ == 0 ? 1 : static_cast<double>(rows_read()) / static_cast<double>(rows_);
  }

  [[nodiscard]] std::vector<std::optional<CellKind>> carried_types() const override {
    return std::vector<std::optional<CellKind>>(carried()->columns().size());
  }

 protected:
  std::shared_ptr<const TableSchema> start(const std::vector<std::size_t>& wanted) override {
    return with_errors_of(file(), ErrorCode::kBadData, [&] {
      blocks_ = parquet_->read(row_groups_, wanted);
      std::shared_ptr<const TableSchema> schema = blocks_->schema();
      const auto matches = [&](const FileColumn& column, std::size_t place) {
        return column.name == columns()[place].name;
      };
      if (!std::ranges::equal(schema->columns(), wanted, matches)) {
        refuse(ErrorCode::kBadData, file(), "the columns do not match the schema of the file");
      }
      return schema;
    });
  }

  std::shared_ptr<const DecodedRows> read_block() override {
    std::shared_ptr<const DecodedRows> block = blocks_->next();
    const std::uint64_t rows = rows_read() + (block ? static_cast<std::uint64_t>(block->rows()) : 0);
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
    if (!has_labels(parquet_->columns()[column])) refuse_type(column, "text, booleans or integers");
  }

  void check_as_key(std::size_t column) const override {
    const FileColumn& found = parquet_->columns()[column];
    if (found.values || !is_integer(found.kind)) refuse_type(column, "a unique integer per row");
  }

 private:
  [[noreturn]] void refuse_type(std::size_t column, std::string_view expected) const {
    const bool is_time = columns()[column].kind == ColumnKind::kTime;
    refuse(ErrorCode::kBadData, file(),
           fmt::format("column {} has type {}; expected {}{}", in_quotes(columns()[column].name),
                       one_line(parquet_->columns()[column].type), expected,
                       is_time ? fmt::format("; {}", kDeriveFromDates) : ""));
  }

  std::unique_ptr<ParquetFile> parquet_;
  std::unique_ptr<RowBlocks> blocks_;  // after parquet_, which must outlive it
  RowGroups row_groups_;               // to read
  std::uint64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<FileTableReader> open_parquet(const std::filesystem::path& file, const ReadOptions& options) {
  return with_errors_of(file, ErrorCode::kBadData, [&] { return std::make_unique<ParquetReader>(file, options); });
}

}  // namespace widthwise::internal
