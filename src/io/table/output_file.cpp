#include "io/table/output_file.hpp"

#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "base/file.hpp"

namespace widthwise::internal {

/// Writes through, so that a full disk is found early; what Arrow writes is large already.
class OutputFile::Stream {
 public:
  explicit Stream(WriteTarget target) : target_(std::move(target)) {
    if (target_.sink) return;
    output_.emplace(target_.file);
    target_.sink = [this](std::span<const std::byte> bytes) { output_->write(bytes); };
  }

  [[nodiscard]] const std::filesystem::path& file() const { return target_.file; }
  /// Empty if the bytes go elsewhere.
  [[nodiscard]] std::optional<AtomicFile>& output() { return output_; }
  [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }

  void write(std::span<const std::byte> bytes) {
    if (failure_) return;
    try {
      target_.sink(bytes);
    } catch (...) {  // throw_if_failed passes it on
      failure_ = std::current_exception();
      throw;
    }
  }

 private:
  WriteTarget target_;
  std::optional<AtomicFile> output_;
  std::exception_ptr failure_;
};

OutputFile::OutputFile(const WriteTarget& target) : stream_(std::make_shared<Stream>(target)) {}

OutputFile::~OutputFile() = default;

const std::filesystem::path& OutputFile::file() const { return stream_->file(); }

ByteSink OutputFile::sink() const {
  return [stream = stream_](std::span<const std::byte> bytes) { stream->write(bytes); };
}

void OutputFile::throw_if_failed() const {
  if (stream_->failure()) std::rethrow_exception(stream_->failure());
}

void OutputFile::flush() {
  throw_if_failed();
  if (std::optional<AtomicFile>& output = stream_->output()) output->flush();
}

void OutputFile::commit() {
  throw_if_failed();
  if (std::optional<AtomicFile>& output = stream_->output()) output->commit();
}

}  // namespace widthwise::internal
