#include "file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <random>
#include <system_error>
#include <utility>

#include <widthwise/error.hpp>

namespace widthwise::internal {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPermissions = 07777;
constexpr int kMostLinks = 40;          // as Linux itself follows
constexpr std::size_t kMostName = 200;  // of the 255 bytes that most file systems allow
constexpr std::size_t kLeastRead = 65536;

[[noreturn]] void refuse(const fs::path& file, const char* what, const std::string& reason) {
  throw Error(ErrorCode::kFile, file.string() + ": " + what + ": " + reason);
}

[[noreturn]] void refuse_read(const fs::path& file, int error) {
  refuse(file, "cannot be read", std::generic_category().message(error));
}

[[noreturn]] void refuse_write(const fs::path& file, int error) {
  refuse(file, "cannot be written", std::generic_category().message(error));
}

/// Call a system function until no signal interrupts it.
template <class Call>
auto retry(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// An open file, or none. Invariant: closed once.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const fs::path& file, int flags) { open(file, flags); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { (void)close(); }

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

  /// Open, or leave none open and errno set.
  void open(const fs::path& file, int flags, mode_t mode = 0) {
    (void)close();
    number_ = retry([&] { return ::open(file.c_str(), flags | O_CLOEXEC, mode); });
  }

  /// 0, or -1 with errno.
  int close() {
    // Also after EINTR the descriptor is gone.
    return number_ < 0 ? 0 : ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

/// A file that is removed again unless it was renamed.
class TemporaryFile {
 public:
  TemporaryFile(const fs::path& beside, mode_t mode, const fs::path& named) {
    std::string stem(1, '.');
    stem.append(beside.filename().native(), 0, kMostName).append(1, '.');
    std::random_device random;
    for (int attempt = 0; attempt < 100; ++attempt) {
      const std::uint64_t number = std::uint64_t{random()} << 32U | random();
      std::array<char, 16> digits{};
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
      path_ = beside.parent_path() / (stem + std::string(digits.data(), end) + ".tmp");
      descriptor_.open(path_, O_WRONLY | O_CREAT | O_EXCL, mode);
      if (descriptor_.is_open()) return;
      if (errno != EEXIST) break;
    }
    refuse_write(named, errno);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  [[nodiscard]] Descriptor& descriptor() { return descriptor_; }

  /// 0, or -1 with errno.
  int rename_to(const fs::path& file) {
    const int result = ::rename(path_.c_str(), file.c_str());
    if (result == 0) path_.clear();
    return result;
  }

 private:
  fs::path path_;
  Descriptor descriptor_;
};

/// What `file` points to, when it is a symbolic link, to the last link; it need not exist.
fs::path behind_links(const fs::path& file) {
  fs::path path = file;
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) return path;  // not a link, or nothing there, or what the next call will say
    path = path.parent_path() / target;
  }
  refuse_write(file, ELOOP);
}

/// Make a rename last through a power cut.
void flush_directory(const fs::path& of, const fs::path& named) {
  const fs::path parent = of.parent_path();
  const Descriptor directory(parent.empty() ? "." : parent, O_RDONLY | O_DIRECTORY);
  // One may write to a directory that one may not read; and some file systems cannot flush one.
  if (!directory.is_open()) return;
  if (retry([&] { return ::fsync(directory.number()); }) != 0 && errno != EINVAL && errno != ENOTSUP) {
    refuse_write(named, errno);
  }
}

}  // namespace

std::vector<std::byte> read_file(const fs::path& file) {
  const Descriptor input(file, O_RDONLY);
  if (!input.is_open()) refuse_read(file, errno);
  struct stat status{};
  if (::fstat(input.number(), &status) != 0) refuse_read(file, errno);
  if (S_ISDIR(status.st_mode)) refuse_read(file, EISDIR);
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) refuse(file, "cannot be read", "not a file");

  // One byte more than the size shows the end of a file that does not grow meanwhile.
  std::vector<std::byte> bytes(std::max(static_cast<std::size_t>(status.st_size), kLeastRead) + 1);
  std::size_t size = 0;
  while (true) {
    const ssize_t count = retry([&] { return ::read(input.number(), bytes.data() + size, bytes.size() - size); });
    if (count < 0) refuse_read(file, errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (size == bytes.size()) bytes.resize(2 * size);
  }
  bytes.resize(size);
  return bytes;
}

void write_file_atomically(const fs::path& file, std::span<const std::byte> bytes) {
  const fs::path target = behind_links(file);
  struct stat old{};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) refuse_write(file, errno);
  if (exists) {
    if (S_ISDIR(old.st_mode)) refuse_write(file, EISDIR);
    if (!S_ISREG(old.st_mode)) refuse(file, "cannot be written", "not a file");
    if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) refuse_write(file, errno);
  }

  TemporaryFile temporary(target, exists ? 0600 : 0666, file);
  Descriptor& output = temporary.descriptor();
  for (std::span<const std::byte> left = bytes; !left.empty();) {
    const ssize_t count = retry([&] { return ::write(output.number(), left.data(), left.size()); });
    if (count < 0) refuse_write(file, errno);
    left = left.subspan(static_cast<std::size_t>(count));
  }
  if (exists && ::fchmod(output.number(), old.st_mode & kPermissions) != 0) refuse_write(file, errno);
  if (retry([&] { return ::fsync(output.number()); }) != 0) refuse_write(file, errno);
  if (output.close() != 0) refuse_write(file, errno);
  if (temporary.rename_to(target) != 0) refuse_write(file, errno);
  flush_directory(target, file);
}

}  // namespace widthwise::internal
