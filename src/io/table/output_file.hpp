#pragma once

#include <filesystem>
#include <memory>
#include <widthwise/io/table.hpp>

namespace widthwise::internal {

/// Where a table goes: to a file, or if there is a sink to that; `file` is then its name in messages.
struct WriteTarget {
  std::filesystem::path file;
  ByteSink sink;
};

/// An AtomicFile that an Arrow library writes to: the file appears under its name when it is whole, by commit(). Or a
/// sink, which gets the bytes at once.
/// Invariant: before commit(), what was there under the name is untouched; destroyed without it, nothing is left.
class OutputFile {
 public:
  explicit OutputFile(const WriteTarget& target);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  [[nodiscard]] const std::filesystem::path& file() const;
  /// Takes the bytes. Throws if a write fails; later bytes are discarded, because Arrow's
  /// streams still write when they are destroyed.
  [[nodiscard]] ByteSink sink() const;

  /// Throw the error of the write that failed, if one did: Arrow passes on no more than its words.
  void throw_if_failed() const;

  /// The bytes are on the disk when this returns.
  void flush();

  /// The bytes are on the disk and the file has its name when this returns.
  void commit();

 private:
  class Stream;

  std::shared_ptr<Stream> stream_;
};

}  // namespace widthwise::internal
