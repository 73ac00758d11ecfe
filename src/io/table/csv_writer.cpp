#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/io/compressed.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <widthwise/error.hpp>

#include "io/table/errors.hpp"
#include "io/table/writer.hpp"
#include "message.hpp"

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

/// Types whose cells append_cell writes directly.
bool is_plain(arrow::Type::type type) {
  switch (type) {
    case arrow::Type::BOOL:
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::BINARY:
    case arrow::Type::STRING:
    case arrow::Type::NA:
      return true;
    default:
      return false;
  }
}

void append_cell(std::string& out, const arrow::Array& column, std::int64_t row, char separator) {
  if (column.IsNull(row)) return;
  switch (column.type_id()) {
    case arrow::Type::BOOL:
      out += static_cast<const arrow::BooleanArray&>(column).Value(row) ? "true" : "false";
      break;
    case arrow::Type::INT8:
      append_number(out, static_cast<const arrow::Int8Array&>(column).Value(row));
      break;
    case arrow::Type::INT16:
      append_number(out, static_cast<const arrow::Int16Array&>(column).Value(row));
      break;
    case arrow::Type::INT32:
      append_number(out, static_cast<const arrow::Int32Array&>(column).Value(row));
      break;
    case arrow::Type::INT64:
      append_number(out, static_cast<const arrow::Int64Array&>(column).Value(row));
      break;
    case arrow::Type::UINT8:
      append_number(out, static_cast<const arrow::UInt8Array&>(column).Value(row));
      break;
    case arrow::Type::UINT16:
      append_number(out, static_cast<const arrow::UInt16Array&>(column).Value(row));
      break;
    case arrow::Type::UINT32:
      append_number(out, static_cast<const arrow::UInt32Array&>(column).Value(row));
      break;
    case arrow::Type::UINT64:
      append_number(out, static_cast<const arrow::UInt64Array&>(column).Value(row));
      break;
    case arrow::Type::FLOAT:
      append_number(out, static_cast<const arrow::FloatArray&>(column).Value(row));
      break;
    case arrow::Type::DOUBLE:
      append_number(out, static_cast<const arrow::DoubleArray&>(column).Value(row));
      break;
    case arrow::Type::BINARY:
    case arrow::Type::STRING:
      append_text(out, static_cast<const arrow::BinaryArray&>(column).GetView(row), separator);
      break;
    default:
      break;
  }
}

/// The type to which a column is converted before writing. Half precision is exact in single precision.
std::shared_ptr<arrow::DataType> printable_type(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() == arrow::Type::DICTIONARY) {
    return printable_type(static_cast<const arrow::DictionaryType&>(*type).value_type());
  }
  if (is_plain(type->id())) return type;
  return type->id() == arrow::Type::HALF_FLOAT ? arrow::float32() : arrow::utf8();
}

/// Numbers as the shortest text that reads back the same, text in quotes only where it needs them.
class CsvWriter final : public FileTableWriter {
 public:
  CsvWriter(const WriteTarget& target, const FileTableReader& from, std::vector<std::string> added_names, bool gzipped)
      : FileTableWriter(target, from, std::move(added_names)), out_(stream()), separator_(from.separator()) {
    if (gzipped) {
      codec_ = value_of(arrow::util::Codec::Create(arrow::Compression::GZIP), ErrorCode::kMissingEngine, file());
      out_ = value_of(arrow::io::CompressedOutputStream::Make(codec_.get(), stream()), ErrorCode::kFile, file());
    }
    for (const std::shared_ptr<arrow::Field>& field : carried()->fields()) {
      types_.push_back(printable_type(field->type()));
      if (!types_.back()->Equals(*field->type()) && !arrow::compute::CanCast(*field->type(), *types_.back())) {
        refuse(
            ErrorCode::kInvalidArgument, file(),
            fmt::format("column {} is of type {}, which CSV cannot represent; write Parquet, or leave out the column",
                        in_quotes(field->name()), one_line(field->type()->ToString())));
      }
    }
    std::vector<std::string> names = carried()->field_names();
    names.insert(names.end(), added().begin(), added().end());
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (j > 0) buffer_ += separator_;
      append_text(buffer_, names[j], separator_);
    }
    guarded([&] { end_line(0, names.size()); });
  }

 protected:
  void append(const arrow::RecordBatch& rows, MatrixView added_numbers) override {
    arrow::ArrayVector columns = rows.columns();
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (types_[j]->Equals(*columns[j]->type())) continue;
      columns[j] = value_of(arrow::compute::Cast(*columns[j], types_[j]), ErrorCode::kBadData, file());
    }
    for (std::size_t i = 0; i < added_numbers.rows(); ++i) {
      const std::size_t start = buffer_.size();
      for (const std::shared_ptr<arrow::Array>& column : columns) {
        append_cell(buffer_, *column, static_cast<std::int64_t>(i), separator_);
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
    if (codec_) check(out_->Close(), ErrorCode::kFile, file());
  }

 private:
  void end_line(std::size_t start, std::size_t columns) {
    // Readers skip empty lines, so a row of one empty cell must not be written as an empty line.
    if (columns == 1 && buffer_.size() == start) buffer_ += "\"\"";
    buffer_ += '\n';
    if (buffer_.size() >= kBufferBytes) flush();
  }

  void flush() {
    check(out_->Write(buffer_), ErrorCode::kFile, file());
    buffer_.clear();
  }

  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::io::OutputStream> out_;
  char separator_;
  std::vector<std::shared_ptr<arrow::DataType>> types_;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<TableWriter> create_csv(const WriteTarget& target, const FileTableReader& from,
                                        std::vector<std::string> added, bool gzipped) {
  return std::make_unique<CsvWriter>(target, from, std::move(added), gzipped);
}

}  // namespace widthwise::internal
