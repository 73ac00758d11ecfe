#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>
#include <widthwise/io/table.hpp>

#include "io/table/errors.hpp"
#include "io/table/output_file.hpp"
#include "io/table/reader.hpp"

namespace widthwise::internal {

/// Base of the writers of all formats: checks batches and writes the file atomically.
/// Thread safety: none.
class FileTableWriter : public TableWriter {
 public:
  FileTableWriter(const WriteTarget& target, const FileTableReader& from, std::vector<std::string> added);

  void write(const TableBatch& batch, MatrixView added) final;
  void close_after(const std::function<void()>& action) final;

 protected:
  [[nodiscard]] const std::filesystem::path& file() const { return output_.file(); }
  /// Takes the bytes of the file.
  [[nodiscard]] ByteSink sink() { return output_.sink(); }
  /// The carried columns of the batches.
  [[nodiscard]] const std::shared_ptr<const TableSchema>& carried() const { return carried_; }
  [[nodiscard]] const std::vector<std::string>& added() const { return added_; }

  /// Run an operation of the Arrow library on the file; write errors are reported with the system's reason only.
  template <class Action>
  void guarded(const Action& action) const {
    try {
      with_errors_of(file(), ErrorCode::kFile, action);
    } catch (const Error&) {
      output_.throw_if_failed();
      throw;
    }
  }

  /// Both have the same number of rows, and the columns given at the beginning.
  virtual void append(const DecodedRows& carried, MatrixView added) = 0;
  /// Write the end of the file, after the last row.
  virtual void finish() = 0;

 private:
  std::shared_ptr<const TableSchema> carried_;
  std::vector<std::string> added_;
  OutputFile output_;
  bool open_ = true;
};

[[nodiscard]] std::unique_ptr<TableWriter> create_csv(const WriteTarget& target, const FileTableReader& from,
                                                      std::vector<std::string> added, bool gzipped);
[[nodiscard]] std::unique_ptr<TableWriter> create_parquet(const std::filesystem::path& file,
                                                          const FileTableReader& from, std::vector<std::string> added);

}  // namespace widthwise::internal
