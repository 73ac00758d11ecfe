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
#include <widthwise/group_labels.hpp>
#include <widthwise/group_rows.hpp>
#include <widthwise/io/table.hpp>
#include <widthwise/model.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/row_sketch.hpp>

#include "group_column.hpp"
#include "progress_bar.hpp"

namespace widthwise::cli {

[[nodiscard]] std::vector<std::string> column_names(const TableReader& reader);

/// Batches so small that the bounds of their rows at so many levels take a few times 16 MB.
[[nodiscard]] ReadOptions batches_for(std::size_t levels);

/// Throw an error of `code` unless the table has this column; the message suggests the nearest name and has `purpose`
/// after the column's, as in ", which the model needs". Whether it holds numbers, the reader finds out.
void require_column(const TableReader& reader, const std::filesystem::path& file, const std::string& column,
                    ErrorCode code, const std::string& purpose = "");

/// A column that a command needs, and the purpose to name in the error when it is the only one missing.
struct NeededColumn {
  std::string name;
  std::string purpose;
};

/// Throw kBadData unless the table has the columns that the model needs and the others; the message names all that are
/// missing.
void require_model_columns(const TableReader& reader, const std::filesystem::path& file, const Model& model,
                           const std::vector<NeededColumn>& others = {});

/// The same for any columns: one message for all that are missing.
void require_columns(const TableReader& reader, const std::filesystem::path& file,
                     const std::vector<std::string>& columns, ErrorCode code, const std::string& purpose = "");

/// Names from the texts of an option, "a,b,c" being three of them unless a column has that very name. Throws
/// kInvalidArgument for one that is no column.
[[nodiscard]] std::vector<std::string> parse_columns(const TableReader& reader, const std::filesystem::path& file,
                                                     const std::vector<std::string>& texts);

/// The number that the first row of a file has in calibrations. Rows of one file keep their numbers whatever the file
/// is called, and no two files of up to 2^40 rows share any, but for one chance in 2^23: so rows that come twice are
/// found.
[[nodiscard]] std::uint64_t first_row_number(const TableReader& reader);

/// The file's fingerprint as text, for the notes of a model.
[[nodiscard]] std::string fingerprint_text(const TableReader& reader);

/// Throw, naming the file, when rows of it fitted the model or are in the calibration set `calibrated`, see
/// require_new_rows.
void check_new_rows(const Model& model, const RowSketch& rows, const RowSketch& calibrated,
                    const std::filesystem::path& file);

/// Throw kBadData, naming the file and the row, when a value is not finite. first_row is that of values[0], from 0.
void require_finite(std::span<const double> values, const std::filesystem::path& file, const std::string& column,
                    std::uint64_t first_row, const std::string& advice);

/// Throw kInvalidArgument when the file that `option` names, which is about to be written, is one of the others of the
/// command: the same by device and inode, so that symbolic and hard links count.
void require_other_file(const std::string& option, const std::filesystem::path& output,
                        const std::vector<std::string>& inputs);

/// Hold the model file for an update when `written`, which is empty when nothing is, is that file: until the command
/// ends, others that update the file wait. Before the model is loaded.
[[nodiscard]] std::optional<ModelFileLock> lock_for_update(const std::string& model, const std::string& written);

/// What to do with a row without an outcome or a prediction.
inline constexpr const char* kRemoveRows = "remove such rows";

/// What the rows of a table are for: rows to calibrate with need a label of their group, which may be new.
enum class RowUse { kPredict, kCalibrate };

/// The rows of a table as a model takes them, batch by batch in constant memory.
/// Thread safety: none.
class ModelTable {
 public:
  /// Read the columns that the model needs and `numbers`; carry the columns `carried` for a writer. Throws kBadData for
  /// a column that the model needs and the table does not have.
  ModelTable(const Model& model, std::filesystem::path file, std::unique_ptr<TableReader> reader,
             const std::vector<std::string>& numbers, std::vector<std::string> carried = {},
             RowUse use = RowUse::kPredict);

  /// Go on to the next batch, telling the bar; false at the end.
  [[nodiscard]] bool next(ProgressBar& bar, std::string_view stage);

  /// The batch's rows; valid until next().
  [[nodiscard]] ModelRows rows() const;

  /// Warn of rows whose group was not calibrated.
  void warn_of_groups() const;

  /// One of the columns asked for, over the batch's rows; valid until next().
  [[nodiscard]] std::span<const double> column(const std::string& name) const;

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] const TableReader& reader() const { return *reader_; }
  [[nodiscard]] const TableBatch& batch() const { return batch_; }
  /// Rows of all batches so far.
  [[nodiscard]] std::uint64_t rows_read() const { return rows_read_; }

 private:
  struct Column {
    std::string name;
    std::size_t place;  // among the numbers of a batch
    std::vector<double> values;
  };

  std::int64_t number_of(std::string_view label);

  const Model& model_;  // holds the categories
  std::filesystem::path file_;
  RowUse use_;
  GroupRows found_groups_;
  GroupLabels labels_;  // of rows to calibrate with
  GroupColumn group_column_;
  std::vector<std::int64_t> groups_;  // of the batch
  std::unique_ptr<TableReader> reader_;
  TableBatch batch_;
  std::uint64_t rows_read_ = 0;
  std::vector<Column> columns_;  // the predictions, when the model needs them, and the numbers asked for
};

/// Load a model, with another guarantee when one is given.
[[nodiscard]] Model load_with_guarantee(const std::string& file, const std::string& guarantee);

/// Warn that all intervals are infinite when the model has no calibration rows, and say whether it is so.
bool warn_of_no_calibration(const Model& model);

/// The column of outcomes; throws kBadData when the model does not say.
[[nodiscard]] const std::string& target_of(const Model& model);

}  // namespace widthwise::cli
