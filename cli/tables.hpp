#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/io/table.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/model.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/row_checks.hpp>

#include "group_column.hpp"
#include "progress_bar.hpp"

namespace widthwise::cli {

[[nodiscard]] std::vector<std::string> column_names(const TableReader& reader);

/// Batch size for this number of levels: the bounds of a batch take a few times 16 MB.
[[nodiscard]] ReadOptions batches_for(std::size_t levels);

/// A column that a command needs, with its purpose for the error message if only this column is missing.
struct NeededColumn {
  std::string name;
  std::string purpose;
};

/// Throw kBadData unless the table has the columns of the model and `others`; the message names all missing columns.
void require_model_columns(const TableReader& reader, const std::filesystem::path& file, const Model& model,
                           const std::vector<NeededColumn>& others = {});

/// Throw an error of `code` unless the table has these columns; the message names all missing columns and suggests the
/// nearest names, and `purpose` follows them, as in ", which the model needs". The reader checks that columns hold
/// numbers.
void require_columns(const TableReader& reader, const std::filesystem::path& file,
                     const std::vector<std::string>& columns, ErrorCode code, const std::string& purpose = "");

/// The columns of group labels that a model names: none, one, or several that join_labels joined. A column of exactly
/// that name is one.
[[nodiscard]] std::vector<std::string> group_columns(const TableReader& reader, const Model& model);

/// Column names from the values of an option; "a,b,c" is three names unless a column has exactly that name. Throws
/// kInvalidArgument for an unknown column.
[[nodiscard]] std::vector<std::string> parse_columns(const TableReader& reader, const std::filesystem::path& file,
                                                     const std::vector<std::string>& texts);

/// The number of the first row of a file in calibrations, so that duplicate rows are detected. It does not depend on
/// the name of the file. Two files of up to 2^40 rows have a number in common with probability 2^-23.
[[nodiscard]] std::uint64_t first_row_number(const TableReader& reader);

/// The fingerprint of the file as text, for the notes of a model.
[[nodiscard]] std::string fingerprint_text(const TableReader& reader);

/// Run `action`; messages of its errors begin with the name of the file.
template <class Action>
void with_file_in_errors(const std::filesystem::path& file, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    throw Error(error.code(), file.string() + ": " + error.what());
  }
}

/// Throw kBadData with the file, the row and the column if a value is not finite.
void require_finite(std::span<const double> values, const CellPlace& place, const std::string& advice);
/// Likewise for several columns, row by row; that of the place is ignored.
void require_finite(std::span<const double> values, const CellPlace& place, const std::vector<std::string>& columns,
                    const std::string& advice);

/// Throw kInvalidArgument if the file to write, given by `option`, is one of the inputs of the command. Files are
/// compared by device and inode, so symbolic and hard links are detected.
void require_other_file(const std::string& option, const std::filesystem::path& output,
                        const std::vector<std::string>& inputs);

/// Lock the model file until the command ends if `written` is the same file; other commands that update it wait.
/// `written` is empty if nothing is written. Call this before loading the model.
[[nodiscard]] std::optional<ModelFileLock> lock_for_update(const std::string& model, const std::string& written);

/// Advice for rows without an outcome or a prediction.
inline constexpr const char* kRemoveRows = "remove such rows";

/// What the rows of a table are for: rows to calibrate with need a label of their group, which may be new, and of their
/// cluster; so do rows to evaluate of their cluster.
enum class RowUse { kPredict, kEvaluate, kCalibrate, kStream };

/// The rows of a table as inputs of a model, batch by batch in constant memory.
/// Thread safety: none.
class ModelTable {
 public:
  /// Read the columns that the model needs, `numbers` and `more`; carry the columns `carried` for a writer. Throws
  /// kBadData if the table lacks a column that the model needs.
  ModelTable(const Model& model, std::filesystem::path file, std::unique_ptr<TableReader> reader,
             const std::vector<std::string>& numbers, std::vector<std::string> carried = {},
             RowUse use = RowUse::kPredict, std::vector<SelectedColumn> more = {});

  /// Read the next batch and update the bar; false at the end. Throws kBadData at the end if the table has a
  /// categorical feature of which the model knows no label, except for a stream, which may reach a new category.
  [[nodiscard]] bool next(ProgressBar& bar, std::string_view stage);

  /// The rows of the batch; valid until next().
  [[nodiscard]] Rows rows() const;

  /// Warn of labels that the model does not know: of rows whose group was not calibrated, and of categories.
  void warn_of_labels() const;

  /// The categorical features with labels that the model does not know, in all batches so far.
  [[nodiscard]] std::vector<UnknownLabels> unknown_categories() const { return unknown_.found(); }

  /// Where the cells of a column of the batch are; valid until next().
  [[nodiscard]] CellPlace place_of(std::string_view column) const;

  /// The first of the columns `more` among the numbers of the batch.
  [[nodiscard]] std::size_t more() const { return more_; }

  /// One of the requested columns of the batch; valid until next().
  [[nodiscard]] std::span<const double> column(const std::string& name) const;

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] const TableReader& reader() const { return *reader_; }
  [[nodiscard]] const TableBatch& batch() const { return batch_; }
  /// Number of rows of all batches so far.
  [[nodiscard]] std::uint64_t rows_read() const { return rows_read_; }

 private:
  struct Column {
    std::string name;
    std::size_t place;  // position among the numbers of a batch
    std::vector<double> values;
  };

  std::int64_t number_of(std::string_view label);
  /// Whether the scheme of the model reads a column of this role for the use of these rows.
  [[nodiscard]] bool reads(Role role) const;
  void read_labels();

  const Model& model_;  // holds the categories
  std::filesystem::path file_;
  RowUse use_;
  GroupRows found_groups_;
  UnknownCategories unknown_;
  GroupLabels labels_;  // of rows to calibrate with
  GroupColumn group_column_;
  std::vector<std::int64_t> groups_;  // of the batch
  GroupLabels cluster_labels_;
  GroupColumn cluster_column_;
  std::vector<std::int64_t> clusters_;  // of the batch; empty if they are not needed
  std::vector<std::string> ids_;        // of the batch; empty if the table has none
  std::unique_ptr<TableReader> reader_;
  TableBatch batch_;
  std::uint64_t rows_read_ = 0;
  std::size_t more_ = 0;
  std::size_t prediction_count_ = 0;
  std::vector<double> predictions_;  // of the folds, row by row, if there are several columns of predictions
  std::vector<Column> columns_;      // the predictions, if the model needs them, and the requested numbers
};

/// The model with another guarantee, the value of --guarantee, if one is given.
[[nodiscard]] Model with_guarantee(const Model& model, const std::string& guarantee);
/// Load a model and replace its guarantee if one is given.
[[nodiscard]] Model load_with_guarantee(const std::string& file, const std::string& guarantee);

/// The model that rows of a population, the value of --population, calibrate; see model_for_rows_of.
[[nodiscard]] Model for_rows_of(const Model& model, const std::string& population, bool replace);

/// If the model has no calibration rows, warn that all intervals are infinite and return true.
bool warn_of_no_calibration(const Model& model);

/// The column of outcomes; throws kBadData if the model does not name one.
[[nodiscard]] const std::string& target_of(const Model& model);

}  // namespace widthwise::cli
