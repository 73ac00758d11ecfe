#include <cmath>
#include <optional>
#include <utility>
#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "io/table/arrow_library.hpp"
#include "io/table/built_column.hpp"
#include "io/table/cell.hpp"
#include "io/table/errors.hpp"
#include "io/table/writer.hpp"

namespace widthwise::internal {
namespace {

/// Rows per row group, which stays in memory until it is full.
constexpr std::int64_t kMaxRowsInGroup = 1 << 17;
constexpr std::int64_t kMaxBytesInGroup = std::int64_t{1} << 27;

/// Thread safety: none.
class ParquetWriter final : public FileTableWriter {
 public:
  ParquetWriter(const std::filesystem::path& name, const FileTableReader& from, std::vector<std::string> added_names)
      : FileTableWriter({name, {}}, from, std::move(added_names)), source_(from.file()), types_(from.carried_types()) {
    for (const FileColumn& column : carried()->columns()) check_name(column.name);
    for (const std::string& added_name : added()) check_name(added_name);
    const ParquetLayout layout{carried(), types_, added(), from.options().threads, kMaxRowsInGroup, kMaxBytesInGroup};
    guarded([&] {
      with_errors_of(file(), ErrorCode::kInvalidArgument,
                     [&] { output_ = arrow_library().create_parquet(sink(), layout); });
    });
  }

 protected:
  void append(const DecodedRows& rows, MatrixView added_numbers) override {
    std::vector<std::unique_ptr<ExportedColumn>> replaced;
    for (std::size_t j = 0; j < types_.size(); ++j) {
      const std::optional<CellKind>& type = types_[j];
      if (type) replaced.push_back(typed(rows.cells(static_cast<int>(j)), *type, carried()->columns()[j].name));
    }
    std::vector<std::unique_ptr<ExportedColumn>> numbers;
    for (std::size_t j = 0; j < added_numbers.columns(); ++j) {
      BuiltColumn column(CellKind::kDouble, added_numbers.rows());
      for (std::size_t i = 0; i < added_numbers.rows(); ++i) column.add(added_numbers(i, j));
      numbers.push_back(std::move(column).finish());
    }
    output_->write(rows, std::move(replaced), std::move(numbers));
  }

  void finish() override { output_->close(); }

 private:
  void check_name(const std::string& name) const {
    if (is_utf8(name)) return;
    refuse(ErrorCode::kBadData, file(), fmt::format("the name of column {} is not UTF-8", in_quotes(name)));
  }

  /// Add the cells to a new column with `add`, which returns false for a cell of another type.
  template <class Add>
  std::unique_ptr<ExportedColumn> parsed(const Cells& cells, CellKind kind, const std::string& name,
                                         const Add& add) const {
    BuiltColumn column(kind, static_cast<std::size_t>(cells.rows));
    for (std::int64_t i = 0; i < cells.rows; ++i) {
      const std::string_view cell = cells.text_at(i);
      if (add(column, cell)) continue;
      if (type_of_cell(cell) != CellType::kMissing) {
        refuse(ErrorCode::kBadData, source_,
               fmt::format("column {}: {} does not match the type of the column; the file changed while it was read",
                           in_quotes(name), in_quotes(cell)));
      }
      column.add_null();
    }
    return std::move(column).finish();
  }

  /// Convert bytes (cells of a CSV file) to the type of their column.
  std::unique_ptr<ExportedColumn> typed(const Cells& cells, CellKind kind, const std::string& name) const {
    if (kind == CellKind::kText) return checked_text(cells, name);
    return parsed(cells, kind, name, [kind](BuiltColumn& column, std::string_view cell) {
      if (kind == CellKind::kDouble) {
        const std::optional<double> number = number_in_cell(cell);
        if (!number || std::isnan(*number)) return false;
        column.add(*number);
        return true;
      }
      const std::optional<std::int64_t> number = integer_in_cell(cell);
      if (!number) return false;
      if (kind == CellKind::kBool) {
        column.add_truth(*number != 0);
      } else {
        column.add(*number);
      }
      return true;
    });
  }

  std::unique_ptr<ExportedColumn> checked_text(const Cells& cells, const std::string& name) const {
    BuiltColumn column(CellKind::kText, static_cast<std::size_t>(cells.rows));
    for (std::int64_t i = 0; i < cells.rows; ++i) {
      const std::string_view cell = cells.text_at(i);
      if (!is_utf8(cell)) {
        refuse(ErrorCode::kBadData, source_,
               fmt::format("column {}: {} is not UTF-8", in_quotes(name), in_quotes(cell)));
      }
      if (cell.empty()) {
        column.add_null();
      } else {
        column.add(cell);
      }
    }
    return std::move(column).finish();
  }

  std::filesystem::path source_;
  std::vector<std::optional<CellKind>> types_;  // of carried columns that have another type in the file
  std::unique_ptr<ParquetOutput> output_;
};

}  // namespace

std::unique_ptr<TableWriter> create_parquet(const std::filesystem::path& file, const FileTableReader& from,
                                            std::vector<std::string> added) {
  return std::make_unique<ParquetWriter>(file, from, std::move(added));
}

}  // namespace widthwise::internal
