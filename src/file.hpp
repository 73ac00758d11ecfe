#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace widthwise::internal {

/// All bytes of a regular file. Throws kFile with the file's name and the system's reason; anything but a regular file
/// is refused.
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& file);

/// Tells whether a file was replaced or changed, without reading it.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed = 0;  ///< nanoseconds

  friend bool operator==(const FileVersion& a, const FileVersion& b) = default;
};

/// The version of what is there under a name; none when nothing is.
[[nodiscard]] std::optional<FileVersion> version_of(const std::filesystem::path& file);

/// A file that is written in pieces and appears under its name when it is whole: at every moment the name is that of
/// the old file or of the new one. The bytes go to ".<name>.<16 digits>.tmp" in the same directory, which commit()
/// flushes to the disk and renames. An old file keeps its permissions; one that may not be written is not replaced, and
/// neither is anything but a regular file. Where the name is a symbolic link, the link stays and what it points to is
/// replaced. Temporary files of the same name that a killed process left are deleted.
///
/// All functions throw kFile with the file's name and the system's reason.
/// Invariant: before commit(), what was there under the name is untouched; destroyed without it, nothing is left.
/// Thread safety: none.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path file);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  void write(std::span<const std::byte> bytes);

  /// Once, after the last write: the bytes are on the disk and the file has its name when this returns, its version.
  FileVersion commit();

 private:
  class Temporary;

  std::filesystem::path file_;
  std::filesystem::path target_;  // behind the links
  unsigned permissions_ = 0;      // of the old file, when there is one
  bool replaces_ = false;
  std::unique_ptr<Temporary> temporary_;
};

/// Make `file` hold these bytes, by an AtomicFile; return its version.
FileVersion write_file_atomically(const std::filesystem::path& file, std::span<const std::byte> bytes);

/// Holds a file for an update, from reading it to replacing it: who wants to hold it too waits until this is destroyed
/// or its process ends. The lock is on the file itself (flock), so nothing is written beside it, and it protects from
/// others who lock it only. It holds the file that had the name at first: after that is replaced, the next one to wait
/// takes the new file.
class FileLock {
 public:
  /// `waiting` is called before every 20 ms of waiting, and may throw. Throws kFile when the file cannot be locked.
  explicit FileLock(const std::filesystem::path& file, const std::function<void()>& waiting = {});
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int descriptor_ = -1;
};

}  // namespace widthwise::internal
