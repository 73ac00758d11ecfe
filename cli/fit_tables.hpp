#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <widthwise/conformal_predictor.hpp>
#include <widthwise/io/table.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/moment.hpp>
#include <widthwise/rows.hpp>
#include <widthwise/train/communicator.hpp>

#include "table_options.hpp"

namespace widthwise::cli {

/// Tables and columns to fit, as given on the command line.
struct FitColumnChoice {
  std::vector<std::string> tables;
  std::string target;
  std::string prediction;
  std::string cv_prediction;
  std::string upper_prediction;    ///< of upper quantiles; the other column is then of lower ones
  std::vector<std::string> group;  ///< one column, or several whose labels are joined
  RoleNames roles;                 ///< the columns of the other roles
  std::vector<std::string> features;
  std::vector<std::string> exclude;
  std::vector<std::string> categorical;  ///< integers or booleans to read as categories
  std::string takes_no_categories = {};  ///< "--localizer net": the trainer without categories, if there is one
  OutcomeSpace outcome_space = {};
  TableOptions reading;

  /// The column of predictions of either kind; empty if there is none.
  [[nodiscard]] const std::string& prediction_column() const {
    return cv_prediction.empty() ? prediction : cv_prediction;
  }
  /// The columns of predictions: none, one, or two of quantiles.
  [[nodiscard]] std::vector<std::string> prediction_columns() const;
};

/// The share of the rows that this worker reads.
struct RowShare {
  std::size_t rank = 0;
  std::size_t workers = 1;
};

/// A column of x.
struct FitFeature {
  std::string name;
  bool categorical = false;  ///< read as labels
  bool named = false;        ///< by the user, so it may not be left out
};

/// A column that is left out although the user did not exclude it.
struct LeftOut {
  std::string column;
  std::string why;  ///< after "the column": "holds dates; ..."
};

/// The columns to fit with.
struct FitColumns {
  std::vector<FitFeature> features;
  std::vector<LeftOut> left_out;
  std::vector<std::string> group = {};  ///< the columns of group labels
  RoleNames roles = {};                 ///< the columns by role; several of groups have their joined name

  [[nodiscard]] std::vector<std::string> names() const;
  /// The columns of a role: one, or several of groups.
  [[nodiscard]] std::vector<std::string> columns_of(Role role) const;
};
[[nodiscard]] FitColumns choose_columns(const FitColumnChoice& choice);

/// The rows of one worker, in memory.
struct FitData {
  std::vector<double> x;           ///< categories as the numbers of their labels
  std::vector<Labels> categories;  ///< of the features; none of a number
  std::vector<double> y;
  std::vector<double> predictions;         ///< of either kind; row by row if there are two columns
  RoleColumns columns;                     ///< by role
  std::array<GroupLabels, kRoles> labels;  ///< of the columns of labels
  std::vector<Moment> moments;             ///< empty without a column of times, whose numbers are their ranks
  std::vector<double> shift_to;            ///< the features of the rows of --shift-to
  std::vector<std::uint64_t> row_numbers;
  std::vector<std::string> fingerprints;  ///< of the tables
};

/// Read all rows or, from Parquet files, the row groups of this worker: consecutive row groups, about equally many per
/// worker. Throws kInvalidArgument if there are fewer row groups than workers.
[[nodiscard]] FitData read_rows(const FitColumnChoice& choice, const FitColumns& columns, const RowShare& share);

/// Number the categories in ascending order over all workers, and leave out columns that are no categorical features.
/// Throws kBadData if the user named such a column. `communicator` is null for one process.
void agree_on_categories(FitColumns& columns, FitData& data, const std::string& table,
                         const Communicator* communicator);

/// Read the features of the rows of --shift-to (m x features), with the categories of the data to fit; a category that
/// the data does not have is missing.
[[nodiscard]] std::vector<double> read_shift_rows(const std::string& table, const TableOptions& reading,
                                                  const FitColumns& columns, const FitData& data);

}  // namespace widthwise::cli
