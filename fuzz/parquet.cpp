// Read bytes as a Parquet file: an error, or read to the last row.
#include "table.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const widthwise::fuzz::ScratchFile file(".parquet");
  file.fill({data, size});
  widthwise::fuzz::read_table(file);
  return 0;
}
