#include <arrow/io/compressed.h>
#include <arrow/util/compression.h>

#include <utility>

#include "io/table/libarrow/files.hpp"
#include "io/table/libarrow/streams.hpp"

namespace widthwise::internal {
namespace {

std::shared_ptr<arrow::util::Codec> gzip_codec() {
  return value_of(arrow::util::Codec::Create(arrow::Compression::GZIP));
}

class GzipEncoder final : public ByteEncoder {
 public:
  explicit GzipEncoder(ByteSink sink)
      : codec_(gzip_codec()),
        stream_(value_of(
            arrow::io::CompressedOutputStream::Make(codec_.get(), std::make_shared<SinkStream>(std::move(sink))))) {}

  void write(std::string_view bytes) override { check(stream_->Write(bytes)); }
  void close() override { check(stream_->Close()); }

 private:
  std::shared_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::io::CompressedOutputStream> stream_;
};

/// Arrow for C++.
class LibArrow final : public ArrowLibrary {
 public:
  [[nodiscard]] ByteSource gunzip(ByteSource compressed) override {
    const std::shared_ptr<arrow::util::Codec> codec = gzip_codec();
    const std::shared_ptr<arrow::io::CompressedInputStream> stream = value_of(
        arrow::io::CompressedInputStream::Make(codec.get(), std::make_shared<SourceStream>(std::move(compressed))));
    return [codec, stream](std::span<std::byte> out) {
      return static_cast<std::size_t>(value_of(stream->Read(static_cast<std::int64_t>(out.size()), out.data())));
    };
  }

  [[nodiscard]] std::unique_ptr<ByteEncoder> gzip(ByteSink sink) override {
    return std::make_unique<GzipEncoder>(std::move(sink));
  }

  [[nodiscard]] std::unique_ptr<RowBlocks> read_csv(ByteSource text, const CsvLayout& layout) override {
    return read_csv_with_arrow(std::move(text), layout);
  }

  [[nodiscard]] std::unique_ptr<ParquetFile> open_parquet(const std::filesystem::path& file,
                                                          const ReadOptions& options) override {
    return open_parquet_with_arrow(file, options);
  }

  [[nodiscard]] std::unique_ptr<ParquetOutput> create_parquet(ByteSink sink, const ParquetLayout& layout) override {
    return create_parquet_with_arrow(std::move(sink), layout);
  }
};

}  // namespace

ArrowLibrary& arrow_library() {
  static LibArrow library;
  return library;
}

}  // namespace widthwise::internal
