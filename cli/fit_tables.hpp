#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <widthwise/conformal_predictor.hpp>
#include <widthwise/io/table.hpp>

#include "table_options.hpp"

namespace widthwise::cli {

/// What the user said about the tables to fit and their columns.
struct FitColumnChoice {
  std::vector<std::string> tables;
  std::string target;
  std::string prediction;
  std::string cv_prediction;
  std::vector<std::string> features;
  std::vector<std::string> exclude;
  OutcomeRange outcome_range = {};
  TableOptions reading;

  /// The column of predictions of either kind; empty when there is none.
  [[nodiscard]] const std::string& prediction_column() const {
    return cv_prediction.empty() ? prediction : cv_prediction;
  }
};

/// Which rows of the tables to read: this worker's.
struct RowShare {
  std::size_t rank = 0;
  std::size_t workers = 1;
};

/// The columns to fit with.
struct FitColumns {
  std::vector<std::string> features;
  std::vector<std::string> left_out;  ///< columns that do not hold numbers, when the user named no features
};
[[nodiscard]] FitColumns choose_columns(const FitColumnChoice& choice);

/// The rows of one worker, in memory.
struct FitData {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> predictions;  ///< of either kind
  std::vector<std::uint64_t> row_numbers;
  std::vector<std::string> fingerprints;  ///< of the tables
};

/// Throws kInvalidArgument when there are not row groups enough for so many workers.
void check_row_groups(const std::vector<std::string>& tables, std::size_t workers);

/// Read all rows, or of Parquet files the row groups that fall to this worker: runs of row groups that follow each
/// other, of about equal numbers of them.
[[nodiscard]] FitData read_rows(const FitColumnChoice& choice, const std::vector<std::string>& features,
                                const RowShare& share);

}  // namespace widthwise::cli
