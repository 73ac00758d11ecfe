#pragma once

#include <arrow/io/file.h>

#include <filesystem>
#include <memory>

namespace widthwise::internal {

/// A file that appears under its name when it is whole: written as .<name>.<random>.tmp beside it, renamed by commit().
/// Invariant: before commit(), what was there under the name is untouched; destroyed without it, nothing is left.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path file);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] const std::shared_ptr<arrow::io::FileOutputStream>& stream() const { return stream_; }

  /// The bytes are on the disk and the file has its name when this returns.
  void commit();

 private:
  void discard();

  std::filesystem::path file_;
  std::filesystem::path temporary_;  // empty after commit()
  int descriptor_ = -1;
  std::shared_ptr<arrow::io::FileOutputStream> stream_;
};

}  // namespace widthwise::internal
