#include "io/table/libarrow/rows.hpp"

#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "io/table/libarrow/status.hpp"

namespace widthwise::internal {
namespace {

CellKind kind_of(const arrow::DataType& type) {
  ExportedColumn exported;
  check(arrow::ExportType(type, &exported.schema));
  return kind_of_format(exported.schema.format);
}

/// The type to which a column is converted before printing. Half precision is exact in single precision.
std::shared_ptr<arrow::DataType> printable_type(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() == arrow::Type::DICTIONARY) {
    return printable_type(static_cast<const arrow::DictionaryType&>(*type).value_type());
  }
  switch (kind_of(*type)) {
    case CellKind::kHalf:
      return arrow::float32();
    case CellKind::kDecimal:
    case CellKind::kTime:
    case CellKind::kOther:
      return arrow::utf8();
    default:
      return type;
  }
}

Cells exported(const std::shared_ptr<arrow::Array>& column) {
  auto result = std::make_shared<ExportedColumn>();
  check(arrow::ExportArray(*column, &result->array, &result->schema));
  return cells_of(std::move(result));
}

std::shared_ptr<arrow::Array> cast(const std::shared_ptr<arrow::Array>& column,
                                   const std::shared_ptr<arrow::DataType>& type) {
  return type->Equals(*column->type()) ? column : value_of(arrow::compute::Cast(*column, type));
}

}  // namespace

FileColumn file_column(const arrow::Field& field) {
  FileColumn column{field.name(), kind_of(*field.type()), std::nullopt, field.type()->ToString()};
  if (field.type()->id() == arrow::Type::DICTIONARY) {
    column.values = kind_of(*static_cast<const arrow::DictionaryType&>(*field.type()).value_type());
  }
  return column;
}

ArrowSchemaColumns::ArrowSchemaColumns(std::shared_ptr<arrow::Schema> schema) : schema_(std::move(schema)) {
  for (const std::shared_ptr<arrow::Field>& field : schema_->fields()) columns_.push_back(file_column(*field));
}

std::shared_ptr<const TableSchema> ArrowSchemaColumns::select(const std::vector<int>& places) const {
  arrow::FieldVector fields;
  for (const int place : places) fields.push_back(schema_->field(place));
  return std::make_shared<ArrowSchemaColumns>(arrow::schema(std::move(fields)));
}

bool ArrowSchemaColumns::is_printable(std::size_t column) const {
  const std::shared_ptr<arrow::DataType>& type = schema_->field(static_cast<int>(column))->type();
  const std::shared_ptr<arrow::DataType> printed = printable_type(type);
  return printed->Equals(*type) || arrow::compute::CanCast(*type, *printed);
}

std::int64_t ArrowRows::rows() const { return batch_->num_rows(); }

std::shared_ptr<const DecodedRows> ArrowRows::slice(std::int64_t begin, std::int64_t count) const {
  return std::make_shared<ArrowRows>(batch_->Slice(begin, count));
}

std::shared_ptr<const DecodedRows> ArrowRows::select(const std::vector<int>& places) const {
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  for (const int place : places) {
    fields.push_back(batch_->schema()->field(place));
    columns.push_back(batch_->column(place));
  }
  return std::make_shared<ArrowRows>(
      arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows(), std::move(columns)));
}

Cells ArrowRows::cells(int column) const {
  const std::shared_ptr<arrow::Array> found = batch_->column(column);
  return exported(arrow::is_decimal(found->type_id()) ? cast(found, arrow::float64()) : found);
}

Cells ArrowRows::printable(int column) const {
  const std::shared_ptr<arrow::Array> found = batch_->column(column);
  return exported(cast(found, printable_type(found->type())));
}

}  // namespace widthwise::internal
