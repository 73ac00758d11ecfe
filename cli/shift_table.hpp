#pragma once

#include <string>
#include <vector>

#include "fit_tables.hpp"
#include "table_options.hpp"

namespace widthwise::cli {

/// Read the features of the rows of --shift-to (m x features), with the categories of the data to fit; a category that
/// the data does not have is missing.
[[nodiscard]] std::vector<double> read_shift_rows(const std::string& table, const TableOptions& reading,
                                                  const FitColumns& columns, const FitData& data);

}  // namespace widthwise::cli
