#include "io/table/output_file.hpp"

#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "file.hpp"

namespace widthwise::internal {

/// Writes through, so that a full disk is found early; what Arrow writes is large already.
class OutputFile::Stream final : public arrow::io::OutputStream {
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

  arrow::Status Write(const void* data, std::int64_t bytes) override {
    try {
      // After a failure Arrow's streams still write when they are destroyed, and would complain on stderr.
      if (!failure_) target_.sink({static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)});
    } catch (...) {  // throw_if_failed passes it on
      failure_ = std::current_exception();
      return arrow::Status::IOError("the write failed");
    }
    position_ += bytes;
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  [[nodiscard]] bool closed() const override { return closed_; }
  [[nodiscard]] arrow::Result<std::int64_t> Tell() const override { return position_; }

 private:
  WriteTarget target_;
  std::optional<AtomicFile> output_;
  std::exception_ptr failure_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

OutputFile::OutputFile(const WriteTarget& target) : stream_(std::make_shared<Stream>(target)) {}

OutputFile::~OutputFile() = default;

const std::filesystem::path& OutputFile::file() const { return stream_->file(); }

std::shared_ptr<arrow::io::OutputStream> OutputFile::stream() const { return stream_; }

void OutputFile::throw_if_failed() const {
  if (stream_->failure()) std::rethrow_exception(stream_->failure());
}

void OutputFile::commit() {
  throw_if_failed();
  if (std::optional<AtomicFile>& output = stream_->output()) output->commit();
}

}  // namespace widthwise::internal
