#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <unistd.h>

#include <widthwise/error.hpp>

/// Shared code of the fuzz targets. A target takes arbitrary bytes, which must give a documented error or a usable
/// object. Any other exception and any failed requirement aborts the program.
namespace widthwise::fuzz {

inline std::string_view text_of(std::span<const std::uint8_t> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "requirement violated: %s\n", what);
  std::abort();
}

/// Whether `use` returned; false after an error with one of these codes.
template <class Use>
bool accepted(const Use& use, std::initializer_list<ErrorCode> refusals = {ErrorCode::kBadData}) {
  try {
    use();
    return true;
  } catch (const Error& error) {
    if (std::find(refusals.begin(), refusals.end(), error.code()) == refusals.end()) throw;
    require(error.what()[0] != '\0', "an error says what is wrong");
    return false;
  }
}

/// A file in memory with the bytes of the current input, for code that reads only files.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& ending)
      : path_("/dev/shm/widthwise-fuzz-" + std::to_string(::getpid()) + ending) {}
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() { (void)std::remove(path_.c_str()); }

  [[nodiscard]] const std::string& path() const { return path_; }

  void fill(std::span<const std::uint8_t> data) const {
    std::FILE* const file = std::fopen(path_.c_str(), "wb");
    require(file != nullptr, "/dev/shm can be written");
    require(std::fwrite(data.data(), 1, data.size(), file) == data.size(), "/dev/shm has room");
    (void)std::fclose(file);
  }

 private:
  std::string path_;
};

}  // namespace widthwise::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  // NOLINT: libFuzzer's name
