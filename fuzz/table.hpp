#pragma once

#include <string>
#include <vector>

#include <widthwise/io/table.hpp>

#include "target.hpp"

namespace widthwise::fuzz {

/// Read the file as a table in small batches: all columns as numbers, and the last one also as keys.
inline void read_table(const ScratchFile& file) {
  (void)accepted(
      [&] {
        constexpr std::size_t kRows = 7;
        const auto reader = TableReader::open(file.path(), {.batch_rows = kRows, .threads = false});
        std::vector<std::string> numbers;
        std::vector<std::string> others;
        for (const ColumnInfo& column : reader->columns()) {
          (column.kind == ColumnKind::kNumber ? numbers : others).push_back(column.name);
        }
        const std::size_t columns = numbers.size();
        if (!numbers.empty()) reader->select_key(numbers.back());
        reader->select(std::move(numbers), std::move(others));
        TableBatch batch;
        std::uint64_t rows = 0;
        while (reader->next(batch)) {
          require(batch.rows() <= kRows, "a batch has at most the rows asked for");
          require(batch.first_row() == rows, "no row is skipped");
          require(batch.numbers().columns() == columns, "a batch has the columns asked for");
          rows += batch.rows();
        }
        require(!reader->rows() || *reader->rows() == rows, "the file has the rows it announces");
      },
      {ErrorCode::kBadData, ErrorCode::kFile, ErrorCode::kInvalidArgument});
}

}  // namespace widthwise::fuzz
