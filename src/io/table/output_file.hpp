#pragma once

#include <arrow/io/interfaces.h>

#include <filesystem>
#include <memory>

namespace widthwise::internal {

/// An AtomicFile that Arrow writes to: the file appears under its name when it is whole, by commit().
/// Invariant: before commit(), what was there under the name is untouched; destroyed without it, nothing is left.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path file);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  [[nodiscard]] const std::filesystem::path& file() const;
  [[nodiscard]] std::shared_ptr<arrow::io::OutputStream> stream() const;

  /// Throw the error of the write that failed, if one did: Arrow passes on no more than its words.
  void throw_if_failed() const;

  /// The bytes are on the disk and the file has its name when this returns.
  void commit();

 private:
  class Stream;

  std::shared_ptr<Stream> stream_;
};

}  // namespace widthwise::internal
