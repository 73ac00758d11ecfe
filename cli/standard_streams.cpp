#include "standard_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <span>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "command.hpp"
#include "output.hpp"
#include "progress_bar.hpp"

namespace widthwise::cli {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr int kMillisecondsBetweenLooks = 200;  // interval of checks for Ctrl-C while waiting for input

std::string reason(int error) { return std::system_category().message(error); }

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw internal::make_error(ErrorCode::kFile, "{}: {}", name, why);
}

CLI::Option* accept_as(CLI::Option* option, const char* name) {
  const auto rename = [name](std::string& text) {
    if (text == "-") text = name;
    return std::string();
  };
  return option->transform(CLI::Validator(rename, ""));
}

/// Write all bytes; a closed pipe ends the program without a message.
void write_all(int file, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw ExitWith{kClosedPipeExit};
    if (written < 0) refuse(name, "cannot be written: " + reason(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// A temporary file without a name, which is deleted when the process ends. `stream` is named in an error.
int open_unnamed(const char* stream) {
  const char* folder = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): no thread sets variables
  std::string name = fmt::format("{}/widthwise-XXXXXX", folder == nullptr || *folder == '\0' ? "/tmp" : folder);
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) refuse(stream, fmt::format("cannot be copied to {}: {}", name, reason(errno)));
  (void)unlink(name.c_str());
  return file;
}

std::string copy_of(const char* stream) { return fmt::format("the temporary copy of {}", stream); }

/// A copy of standard input in a file that is deleted when the process ends.
class SpooledInput {
 public:
  SpooledInput() : file_(open_unnamed(kStandardInput)) { copy(); }
  SpooledInput(const SpooledInput&) = delete;
  SpooledInput& operator=(const SpooledInput&) = delete;
  ~SpooledInput() { close(file_); }

  /// A path that opens the file at its beginning.
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }

  [[nodiscard]] TableFormat format() const {
    std::array<char, 4> first{};
    const ssize_t found = pread(file_, first.data(), first.size(), 0);
    const std::string_view bytes(first.data(), found > 0 ? static_cast<std::size_t>(found) : 0);
    if (bytes.starts_with("\x1f\x8b")) return TableFormat::kGzippedCsv;
    return bytes == "PAR1" ? TableFormat::kParquet : TableFormat::kCsv;
  }

 private:
  void copy() const {
    ProgressBar bar("bytes");
    std::vector<std::byte> bytes(kPieceBytes);
    std::uint64_t done = 0;
    while (true) {
      bar.show(fmt::format("reading {}", kStandardInput), done, 0);
      pollfd input = {STDIN_FILENO, POLLIN, 0};
      if (poll(&input, 1, kMillisecondsBetweenLooks) <= 0) continue;
      const ssize_t found = read(STDIN_FILENO, bytes.data(), bytes.size());
      if (found < 0 && errno == EINTR) continue;
      if (found < 0) refuse(kStandardInput, "cannot be read: " + reason(errno));
      if (found == 0) return;
      done += static_cast<std::uint64_t>(found);
      write_all(file_, std::span(bytes).first(static_cast<std::size_t>(found)), copy_of(kStandardInput));
    }
  }

  int file_;
};

}  // namespace

CLI::Option* accept_standard_input(CLI::Option* option) { return accept_as(option, kStandardInput); }

CLI::Option* accept_standard_output(CLI::Option* option) { return accept_as(option, kStandardOutput); }

void reserve_standard_streams() {
  // The lowest free number is used, so each opens its own stream; the mode makes its use fail.
  for (const auto& [file, mode] :
       {std::pair(STDIN_FILENO, O_WRONLY), std::pair(STDOUT_FILENO, O_RDONLY), std::pair(STDERR_FILENO, O_RDONLY)}) {
    if (fcntl(file, F_GETFD) < 0) (void)open("/dev/null", mode);
  }
}

std::unique_ptr<TableReader> open_table(const std::string& table, ReadOptions options) {
  options.warn = [](const std::string& text) {
    static std::unordered_set<std::string> said;  // commands may read a table more than once
    if (said.insert(text).second) warn(text);
  };
  if (table != kStandardInput) return TableReader::open(table, options);
  static const SpooledInput kInput;
  options.name = kStandardInput;
  options.format = kInput.format();
  return TableReader::open(kInput.path(), options);
}

HeldRows::HeldRows() : file_(open_unnamed(kStandardOutput)) {}

HeldRows::~HeldRows() { close(file_); }

void HeldRows::write(std::span<const std::byte> bytes) const { write_all(file_, bytes, copy_of(kStandardOutput)); }

void HeldRows::release() const {
  std::vector<std::byte> bytes(kPieceBytes);
  off_t done = 0;
  while (true) {
    const ssize_t found = pread(file_, bytes.data(), bytes.size(), done);
    if (found < 0) refuse(copy_of(kStandardOutput), "cannot be read: " + reason(errno));
    if (found == 0) return;
    write_all(STDOUT_FILENO, std::span(bytes).first(static_cast<std::size_t>(found)), kStandardOutput);
    done += found;
  }
}

std::unique_ptr<TableWriter> create_table(HeldRows& held, const TableReader& from, std::vector<std::string> added) {
  print_to_stderr();
  return TableWriter::open([&held](std::span<const std::byte> bytes) { held.write(bytes); }, kStandardOutput, from,
                           std::move(added));
}

std::unique_ptr<TableWriter> create_table(const std::string& table, const TableReader& from,
                                          std::vector<std::string> added) {
  if (table != kStandardOutput) return TableWriter::open(table, from, std::move(added));
  print_to_stderr();
  const auto write_rows = [](std::span<const std::byte> bytes) { write_all(STDOUT_FILENO, bytes, kStandardOutput); };
  return TableWriter::open(write_rows, kStandardOutput, from, std::move(added));
}

}  // namespace widthwise::cli
