#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace widthwise::internal {

/// A regular file to read from its start. All functions throw kFile with the file name and the system's reason, also
/// for anything but a regular file. Thread safety: none.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path file);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  /// Number of bytes when the file was opened.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Append the next `count` bytes, or all that are left if these are fewer. Returns whether there were as many.
  bool read(std::uint64_t count, std::vector<std::byte>& bytes);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Read all bytes of a regular file, as InputFile does.
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& file);

/// Identifies the version of a file, to detect changes without reading it.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed = 0;  ///< nanoseconds

  friend bool operator==(const FileVersion& a, const FileVersion& b) = default;
};

/// The version of the file with this name; empty if there is none.
[[nodiscard]] std::optional<FileVersion> version_of(const std::filesystem::path& file);

/// Writes a file atomically: the name always refers to the complete old or the complete new file. The bytes go to
/// ".<name>.<16 digits>.tmp" in the same directory, which commit() flushes to disk and renames. An existing file keeps
/// its permissions and, where the system permits, its owner and group. Write-protected files, and anything but regular
/// files, are not replaced. If the name is a symbolic link, its target is replaced. Temporary files of the same name
/// that a killed process left are deleted.
///
/// All functions throw kFile with the file name and the system's reason.
/// Invariant: before commit(), an existing file is untouched; destruction without commit() leaves no file.
/// Thread safety: none.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path file);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  void write(std::span<const std::byte> bytes);

  /// Flush the bytes to disk, so that little can go wrong in commit().
  void flush();

  /// Call once, after the last write. On return, the bytes are on disk and the file has its name. Returns its version.
  FileVersion commit();

 private:
  class Temporary;

  void keep_owner();

  std::filesystem::path file_;
  std::filesystem::path target_;  // with links resolved
  unsigned permissions_ = 0;      // of the old file, if there is one
  unsigned owner_ = 0;            // likewise
  unsigned group_ = 0;            // likewise
  bool replaces_ = false;
  std::unique_ptr<Temporary> temporary_;
};

/// Delete the temporary files of this process, for a process that ends at once. Async-signal-safe.
void delete_temporary_files() noexcept;

/// Whether this process has committed an AtomicFile.
[[nodiscard]] bool has_committed_files() noexcept;

/// Write these bytes to `file` with an AtomicFile; return its version.
FileVersion write_file_atomically(const std::filesystem::path& file, std::span<const std::byte> bytes);

/// Locks a file for an update, from reading it to replacing it; other locks wait until this one is destroyed or its
/// process ends. The lock is an advisory flock on the file itself, so there is no lock file. It locks the file that has
/// the name at first; after that file is replaced, the next waiting lock takes the new file.
class FileLock {
 public:
  /// Any program can lock a file it may read, so the wait ends.
  static constexpr std::chrono::milliseconds kMaxWait = std::chrono::minutes(5);

  /// `waiting` is called every 20 ms while waiting, and may throw. Throws kFile if the file cannot be locked, or if
  /// other processes hold the lock for `max_wait`.
  explicit FileLock(const std::filesystem::path& file, const std::function<void()>& waiting = {},
                    std::chrono::milliseconds max_wait = kMaxWait);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int descriptor_ = -1;
};

}  // namespace widthwise::internal
