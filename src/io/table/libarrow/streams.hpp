#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <memory>
#include <utility>

#include "io/table/arrow_library.hpp"
#include "io/table/libarrow/status.hpp"

namespace widthwise::internal {

/// A source of bytes as a stream of Arrow.
class SourceStream final : public arrow::io::InputStream {
 public:
  explicit SourceStream(ByteSource source) : source_(std::move(source)) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  [[nodiscard]] bool closed() const override { return closed_; }
  [[nodiscard]] arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    try {
      const std::size_t count = source_({static_cast<std::byte*>(out), static_cast<std::size_t>(bytes)});
      position_ += static_cast<std::int64_t>(count);
      return static_cast<std::int64_t>(count);
    } catch (const std::exception& error) {
      return arrow::Status::Invalid(error.what());
    }
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::ResizableBuffer> buffer, arrow::AllocateResizableBuffer(bytes));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t count, Read(bytes, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(count));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }

 private:
  ByteSource source_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

/// A sink of bytes as a stream of Arrow.
class SinkStream final : public arrow::io::OutputStream {
 public:
  explicit SinkStream(ByteSink sink) : sink_(std::move(sink)) {}

  arrow::Status Write(const void* data, std::int64_t bytes) override {
    try {
      sink_({static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)});
    } catch (...) {  // the sink remembers it
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
  ByteSink sink_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace widthwise::internal
