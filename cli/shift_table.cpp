#include "shift_table.hpp"

#include <widthwise/error.hpp>

#include "output.hpp"
#include "progress_bar.hpp"
#include "standard_streams.hpp"
#include "tables.hpp"

namespace widthwise::cli {

std::vector<double> read_shift_rows(const std::string& table, const TableOptions& reading, const FitColumns& columns,
                                    const FitData& data) {
  const auto reader = open_table(table, reading.read_options());
  require_columns(*reader, table, columns.names(), ErrorCode::kBadData, ", a feature of the model");
  std::vector<SelectedColumn> selected;
  std::vector<UnknownLabels> unknown(columns.features.size());
  for (std::size_t j = 0; j < columns.features.size(); ++j) {
    selected.push_back({.name = columns.features[j].name});
    if (!columns.features[j].categorical) continue;
    unknown[j].feature = columns.features[j].name;
    selected.back().known = &data.categories[j];
    selected.back().unknown = &unknown[j];
  }
  reader->select_columns(std::move(selected), {});
  std::vector<double> x;
  std::uint64_t rows = 0;
  TableBatch batch;
  ProgressBar bar("rows");
  while (reader->next(batch)) {
    const MatrixView numbers = batch.numbers();
    for (std::size_t i = 0; i < numbers.rows(); ++i) x.insert(x.end(), numbers.row(i).begin(), numbers.row(i).end());
    rows += numbers.rows();
    bar.show("reading the rows of shift_to", rows, reader->progress());
  }
  for (const UnknownLabels& labels : unknown) {
    if (labels.none_known()) throw Error(ErrorCode::kBadData, table + ": " + labels.to_string());
    if (labels.unknown > 0) warn(table + ": " + labels.to_string());
  }
  return x;
}

}  // namespace widthwise::cli
