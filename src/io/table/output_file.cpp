#include "io/table/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <widthwise/error.hpp>

#include "io/table/errors.hpp"

namespace widthwise::internal {
namespace {

/// File systems take 255 bytes.
constexpr std::size_t kMostNameBytes = 200;

std::string system_message(int error) { return std::generic_category().message(error); }

std::filesystem::path temporary_beside(const std::filesystem::path& file) {
  std::random_device device;
  const std::uint64_t number = (std::uint64_t{device()} << 32U) | device();
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  std::string name(".");
  name.append(file.filename().string().substr(0, kMostNameBytes)).append(".").append(digits.data(), end).append(".tmp");
  return file.parent_path() / name;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file_, ignored)) refuse(ErrorCode::kFile, file_, "this is a folder");
  do {
    temporary_ = temporary_beside(file_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && (errno == EEXIST || errno == EINTR));
  if (descriptor_ < 0) refuse(ErrorCode::kFile, file_, "cannot be written: " + system_message(errno));
  // Arrow's streams close what they write to; the bytes have to be synced after that.
  const int copy = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  auto stream = arrow::io::FileOutputStream::Open(copy);
  if (!stream.ok()) {
    if (copy >= 0) ::close(copy);
    discard();
  }
  stream_ = value_of(std::move(stream), ErrorCode::kFile, file_);
}

OutputFile::~OutputFile() {
  if (temporary_.empty()) return;
  (void)stream_->Close();
  discard();
}

void OutputFile::discard() {
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void OutputFile::commit() {
  check(stream_->Close(), ErrorCode::kFile, file_);
  if (::fsync(descriptor_) != 0) refuse(ErrorCode::kFile, file_, "cannot be written: " + system_message(errno));
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) {
    refuse(ErrorCode::kFile, file_, "cannot be replaced: " + system_message(errno));
  }
  temporary_.clear();
  ::close(descriptor_);
  // The new name itself lasts through a power failure once the folder is on the disk, where folders can be synced.
  const std::filesystem::path folder = file_.parent_path().empty() ? "." : file_.parent_path();
  if (const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

}  // namespace widthwise::internal
