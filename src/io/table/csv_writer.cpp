#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "io/table/arrow_library.hpp"
#include "io/table/errors.hpp"
#include "io/table/writer.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

template <class Number>
void append_number(std::string& out, Number number) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (std::isnan(number)) {  // of either sign
      out += "nan";
      return;
    }
  }
  std::array<char, 32> buffer{};
  out.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr);
}

void append_text(std::string& out, std::string_view text, char separator) {
  const auto special = [separator](char letter) {
    return letter == separator || letter == '"' || letter == '\r' || letter == '\n';
  };
  if (std::ranges::none_of(text, special)) {
    out += text;
    return;
  }
  out += '"';
  for (const char letter : text) {
    if (letter == '"') out += '"';
    out += letter;
  }
  out += '"';
}

void append_cell(std::string& out, const Cells& column, std::int64_t row, char separator) {
  if (column.is_null(row)) return;
  if (column.kind == CellKind::kBool) {
    out += column.truth(row) ? "true" : "false";
  } else if (is_text(column.kind)) {
    append_text(out, column.text_at(row), separator);
  } else {
    with_number_type(column.kind, [&]<class Number>() { append_number(out, column.number<Number>(row)); });
  }
}

/// Numbers as the shortest text that reads back the same, text in quotes only where it needs them.
class CsvWriter final : public FileTableWriter {
 public:
  CsvWriter(const WriteTarget& target, const FileTableReader& from, std::vector<std::string> added_names, bool gzipped)
      : FileTableWriter(target, from, std::move(added_names)), sink_(sink()), separator_(from.separator()) {
    if (gzipped) guarded([&] { encoder_ = arrow_library().gzip(sink_); });
    const std::vector<FileColumn>& columns = carried()->columns();
    std::vector<std::string> names;
    for (std::size_t j = 0; j < columns.size(); ++j) {
      names.push_back(columns[j].name);
      if (carried()->is_printable(j)) continue;
      refuse(ErrorCode::kInvalidArgument, file(),
             fmt::format("column {} is of type {}, which CSV cannot represent; write Parquet, or leave out the column",
                         in_quotes(columns[j].name), one_line(columns[j].type)));
    }
    names.insert(names.end(), added().begin(), added().end());
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (j > 0) buffer_ += separator_;
      append_text(buffer_, names[j], separator_);
    }
    guarded([&] { end_line(0, names.size()); });
  }

 protected:
  void append(const DecodedRows& rows, MatrixView added_numbers) override {
    std::vector<Cells> columns;
    with_errors_of(file(), ErrorCode::kBadData, [&] {
      for (std::size_t j = 0; j < carried()->columns().size(); ++j) {
        columns.push_back(rows.printable(static_cast<int>(j)));
      }
    });
    for (std::size_t i = 0; i < added_numbers.rows(); ++i) {
      const std::size_t start = buffer_.size();
      for (const Cells& column : columns) {
        append_cell(buffer_, column, static_cast<std::int64_t>(i), separator_);
        buffer_ += separator_;
      }
      for (const double number : added_numbers.row(i)) {
        append_number(buffer_, number);
        buffer_ += separator_;
      }
      buffer_.pop_back();
      end_line(start, columns.size() + added_numbers.columns());
    }
  }

  void finish() override {
    flush();
    if (encoder_) encoder_->close();
  }

 private:
  void end_line(std::size_t start, std::size_t columns) {
    // Readers skip empty lines, so a row of one empty cell must not be written as an empty line.
    if (columns == 1 && buffer_.size() == start) buffer_ += "\"\"";
    buffer_ += '\n';
    if (buffer_.size() >= kBufferBytes) flush();
  }

  void flush() {
    if (encoder_) {
      encoder_->write(buffer_);
    } else {
      sink_(std::as_bytes(std::span(buffer_)));
    }
    buffer_.clear();
  }

  ByteSink sink_;
  std::unique_ptr<ByteEncoder> encoder_;
  char separator_;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<TableWriter> create_csv(const WriteTarget& target, const FileTableReader& from,
                                        std::vector<std::string> added, bool gzipped) {
  return std::make_unique<CsvWriter>(target, from, std::move(added), gzipped);
}

}  // namespace widthwise::internal
