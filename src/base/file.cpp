#include "base/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <widthwise/error.hpp>

#include "base/message.hpp"

namespace widthwise::internal {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPermissions = 07777;
constexpr int kMaxLinks = 40;          // the limit of Linux
constexpr std::size_t kMaxName = 200;  // of the 255 bytes that most file systems allow
constexpr std::size_t kNumberDigits = 16;
constexpr std::string_view kTemporaryEnding = ".tmp";
constexpr std::time_t kStaleSeconds = 60;
constexpr const char* kNotRegular = "not a regular file";

[[noreturn]] void refuse(const fs::path& file, const char* what, const std::string& reason) {
  throw make_error(ErrorCode::kFile, "{}: {}: {}", file.string(), what, reason);
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

/// An open file, or none. Closes it exactly once.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const fs::path& file, int flags) { open(file, flags); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { (void)close(); }

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

  /// Open the file; on failure no file is open and errno is set.
  void open(const fs::path& file, int flags, mode_t mode = 0) {
    (void)close();
    number_ = retry([&] { return ::open(file.c_str(), flags | O_CLOEXEC, mode); });
  }

  /// Release the descriptor without closing it.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

  /// 0, or -1 with errno.
  int close() {
    // The descriptor is closed even after EINTR.
    return number_ < 0 ? 0 : ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

/// The prefix of the temporary files of a file.
std::string temporary_stem(const fs::path& target) {
  std::string stem(1, '.');
  stem.append(target.filename().native(), 0, kMaxName).append(1, '.');
  return stem;
}

bool is_temporary_name(std::string_view name, std::string_view stem) {
  if (name.size() != stem.size() + kNumberDigits + kTemporaryEnding.size()) return false;
  if (!name.starts_with(stem) || !name.ends_with(kTemporaryEnding)) return false;
  return name.substr(stem.size(), kNumberDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Delete a temporary file if it is old and not locked; its writer locks it as long as it lives.
void delete_if_stale(const fs::path& path) {
  // Open for writing, because network file systems lock only such files; do not block on a pipe.
  const Descriptor file(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status{};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  // A writer locks its file a moment after creating it.
  if (std::time(nullptr) - status.st_mtime < kStaleSeconds) return;
  if (::flock(file.number(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
}

/// Delete temporary files of this file that killed processes left. Files that cannot be deleted stay.
void sweep(const fs::path& target) {
  const std::string stem = temporary_stem(target);
  const fs::path parent = target.parent_path();
  // The iterator of the standard library aborts the program if memory runs out.
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(parent.empty() ? "." : parent.c_str()), ::closedir);
  if (folder == nullptr) return;
  while (const dirent* const entry = ::readdir(folder.get())) {
    if (is_temporary_name(entry->d_name, stem)) delete_if_stale(parent / entry->d_name);
  }
}

/// Follow symbolic links from `file` to the final target, which need not exist.
fs::path behind_links(const fs::path& file) {
  fs::path path = file;
  for (int links = 0; links < kMaxLinks; ++links) {
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) return path;  // not a link, does not exist, or an error that the next call reports
    path = path.parent_path() / target;
  }
  refuse_write(file, ELOOP);
}

FileVersion version_in(const struct stat& status) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .changed = status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

/// The names of temporary files, in memory that a signal handler can read at any time.
class TemporaryNames {
 public:
  /// The index of the name; kNone if it is too long or the table is full.
  std::size_t add(const fs::path& path) noexcept {
    const std::string& name = path.native();
    if (name.size() >= kMaxLength) return kNone;
    for (std::size_t place = 0; place < kPlaces; ++place) {
      State free = State::kFree;
      if (!states_[place].compare_exchange_strong(free, State::kReserved)) continue;
      std::memcpy(names_[place].data(), name.c_str(), name.size() + 1);
      states_[place] = State::kNamed;
      return place;
    }
    return kNone;
  }

  void remove(std::size_t place) noexcept {
    if (place != kNone) states_[place] = State::kFree;
  }

  void delete_files() const noexcept {
    for (std::size_t place = 0; place < kPlaces; ++place) {
      if (states_[place] == State::kNamed) ::unlink(names_[place].data());
    }
  }

  static constexpr std::size_t kNone = ~std::size_t{0};

 private:
  enum class State { kFree, kReserved, kNamed };
  static constexpr std::size_t kPlaces = 8;  // a command writes one or two files at a time
  static constexpr std::size_t kMaxLength = 4096;

  std::array<std::atomic<State>, kPlaces> states_ = {};
  std::array<std::array<char, kMaxLength>, kPlaces> names_ = {};
};

constinit TemporaryNames g_temporary_names;
constinit std::atomic<bool> g_committed = false;

/// " by process 17" for the process that locks a file; empty if the system does not tell.
std::string holder_of(const struct stat& status) {
  std::ifstream locks("/proc/locks");
  const std::string ending = fmt::format(":{}", status.st_ino);
  for (std::string line; std::getline(locks, line);) {
    // 1: FLOCK  ADVISORY  WRITE 17 08:01:4711 0 EOF
    std::istringstream words(line);
    std::string number, kind, advisory, access, process, file;
    if (!(words >> number >> kind >> advisory >> access >> process >> file)) continue;
    const bool held = kind == "FLOCK" && file.ends_with(ending);
    if (held && process.find_first_not_of("0123456789") == std::string::npos && process != "0") {
      return " by process " + process;
    }
  }
  return {};
}

std::string text_of_wait(std::chrono::milliseconds wait) {
  return wait < std::chrono::seconds(1) ? fmt::format("{} ms", wait.count()) : fmt::format("{} s", wait.count() / 1000);
}

/// Flush the directory, so that a rename survives a power cut.
void flush_directory(const fs::path& of, const fs::path& named) {
  const fs::path parent = of.parent_path();
  const Descriptor directory(parent.empty() ? "." : parent, O_RDONLY | O_DIRECTORY);
  // A directory may be writable but not readable, and some file systems cannot flush directories.
  if (!directory.is_open()) return;
  if (retry([&] { return ::fsync(directory.number()); }) != 0 && errno != EINVAL && errno != ENOTSUP) {
    refuse_write(named, errno);
  }
}

}  // namespace

/// A file that is removed unless it was renamed. Its process holds a lock on it, which ends with the process.
class AtomicFile::Temporary {
 public:
  Temporary(const fs::path& target, mode_t mode, const fs::path& named) {
    const std::string stem = temporary_stem(target);
    std::random_device random;
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::string number(kNumberDigits, '0');
      for (char& digit : number) digit = "0123456789abcdef"[random() % 16];
      path_ = target.parent_path() / std::string(stem).append(number).append(kTemporaryEnding);
      descriptor_.open(path_, O_WRONLY | O_CREAT | O_EXCL, mode);
      if (descriptor_.is_open()) {
        // If files cannot be locked, leftovers cannot be recognised and are not deleted.
        (void)::flock(descriptor_.number(), LOCK_EX | LOCK_NB);
        place_ = g_temporary_names.add(path_);
        return;
      }
      if (errno != EEXIST) break;
    }
    refuse_write(named, errno);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
    g_temporary_names.remove(place_);
  }

  [[nodiscard]] int descriptor() const { return descriptor_.number(); }

  /// 0, or -1 with errno.
  int rename_to(const fs::path& file) {
    const int result = ::rename(path_.c_str(), file.c_str());
    if (result == 0) path_.clear();
    return result;
  }

 private:
  fs::path path_;
  Descriptor descriptor_;
  std::size_t place_ = TemporaryNames::kNone;
};

AtomicFile::AtomicFile(fs::path file) : file_(std::move(file)) {
  struct stat old{};
  replaces_ = ::stat(file_.c_str(), &old) == 0;
  if (!replaces_ && errno != ENOENT) refuse_write(file_, errno);
  target_ = behind_links(file_);
  if (replaces_) {
    if (S_ISDIR(old.st_mode)) refuse_write(file_, EISDIR);
    if (!S_ISREG(old.st_mode)) refuse(file_, "cannot be written", kNotRegular);
    if (::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) refuse_write(file_, errno);
    permissions_ = old.st_mode & kPermissions;
    owner_ = old.st_uid;
    group_ = old.st_gid;
  }
  sweep(target_);
  temporary_ = std::make_unique<Temporary>(target_, replaces_ ? 0600 : 0666, file_);
}

AtomicFile::~AtomicFile() = default;

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = retry([&] { return ::write(temporary_->descriptor(), bytes.data(), bytes.size()); });
    if (count < 0) refuse_write(file_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::keep_owner() {
  struct stat own{};
  if (::fstat(temporary_->descriptor(), &own) != 0) refuse_write(file_, errno);
  if (own.st_uid == owner_ && own.st_gid == group_) return;
  if (::fchown(temporary_->descriptor(), owner_, group_) == 0) return;
  // Only root may give a file away; a member of the group may keep the group. Otherwise the file belongs to the writer.
  constexpr auto kSameOwner = static_cast<uid_t>(-1);
  (void)!::fchown(temporary_->descriptor(), kSameOwner, group_);
}

void AtomicFile::flush() {
  if (retry([&] { return ::fsync(temporary_->descriptor()); }) != 0) refuse_write(file_, errno);
}

FileVersion AtomicFile::commit() {
  if (replaces_) keep_owner();  // before the permissions, of which the system may remove some with the owner
  if (replaces_ && ::fchmod(temporary_->descriptor(), permissions_) != 0) refuse_write(file_, errno);
  flush();
  // Read the version before others can replace the file.
  struct stat written{};
  if (::fstat(temporary_->descriptor(), &written) != 0) refuse_write(file_, errno);
  if (temporary_->rename_to(target_) != 0) refuse_write(file_, errno);
  g_committed = true;
  flush_directory(target_, file_);
  return version_in(written);
}

InputFile::InputFile(fs::path file) : file_(std::move(file)) {
  // Do not wait for a writer of a pipe.
  Descriptor input(file_, O_RDONLY | O_NONBLOCK);
  if (!input.is_open()) refuse_read(file_, errno);
  struct stat status{};
  if (::fstat(input.number(), &status) != 0) refuse_read(file_, errno);
  if (S_ISDIR(status.st_mode)) refuse_read(file_, EISDIR);
  if (!S_ISREG(status.st_mode)) refuse(file_, "cannot be read", kNotRegular);
  size_ = static_cast<std::uint64_t>(status.st_size);
  descriptor_ = input.release();
}

InputFile::~InputFile() { (void)::close(descriptor_); }

bool InputFile::read(std::uint64_t count, std::vector<std::byte>& bytes) {
  std::size_t size = bytes.size();
  bytes.resize(size + count);
  while (size < bytes.size()) {
    const ssize_t found = retry([&] { return ::read(descriptor_, bytes.data() + size, bytes.size() - size); });
    if (found < 0) refuse_read(file_, errno);
    if (found == 0) break;
    size += static_cast<std::size_t>(found);
  }
  const bool all = size == bytes.size();
  bytes.resize(size);
  return all;
}

std::vector<std::byte> read_file(const fs::path& file) {
  InputFile input(file);
  std::vector<std::byte> bytes;
  // Reading one byte more than the size detects the end of a file that has grown.
  while (input.read(std::max(input.size() + 1, std::uint64_t{bytes.size()}), bytes)) {
  }
  return bytes;
}

FileVersion write_file_atomically(const fs::path& file, std::span<const std::byte> bytes) {
  AtomicFile output(file);
  output.write(bytes);
  return output.commit();
}

std::optional<FileVersion> version_of(const fs::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return version_in(status);
}

void delete_temporary_files() noexcept { g_temporary_names.delete_files(); }

bool has_committed_files() noexcept { return g_committed; }

FileLock::FileLock(const fs::path& file, const std::function<void()>& waiting, std::chrono::milliseconds max_wait) {
  const auto deadline = std::chrono::steady_clock::now() + max_wait;
  while (true) {
    // Open for writing, because network file systems lock only such files; fall back to reading.
    Descriptor held(file, O_RDWR | O_NONBLOCK);
    if (!held.is_open()) held.open(file, O_RDONLY | O_NONBLOCK);
    struct stat own{};
    if (!held.is_open() || ::fstat(held.number(), &own) != 0) refuse_read(file, errno);
    if (::flock(held.number(), LOCK_EX | LOCK_NB) == 0) {
      struct stat named{};
      if (::stat(file.c_str(), &named) != 0) refuse_read(file, errno);
      if (named.st_dev != own.st_dev || named.st_ino != own.st_ino) continue;  // the file was replaced in the meantime
      descriptor_ = held.release();
      return;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      refuse(file, "cannot be locked for an update", std::generic_category().message(errno));
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      refuse(file, "cannot be locked for an update",
             fmt::format("locked{} for {}; end that process, or write to another file", holder_of(own),
                         text_of_wait(max_wait)));
    }
    if (waiting) waiting();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace widthwise::internal
