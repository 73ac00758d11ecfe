#pragma once

#include <filesystem>
#include <memory>

#include "io/table/arrow_library.hpp"

namespace widthwise::internal {

[[nodiscard]] std::unique_ptr<RowBlocks> read_csv_with_arrow(ByteSource text, const CsvLayout& layout);
[[nodiscard]] std::unique_ptr<ParquetFile> open_parquet_with_arrow(const std::filesystem::path& file,
                                                                   const ReadOptions& options);
[[nodiscard]] std::unique_ptr<ParquetOutput> create_parquet_with_arrow(ByteSink sink, const ParquetLayout& layout);

}  // namespace widthwise::internal
