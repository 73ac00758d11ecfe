#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "io/table/arrow_library.hpp"

namespace widthwise::internal {

[[nodiscard]] FileColumn file_column(const arrow::Field& field);

class ArrowSchemaColumns final : public TableSchema {
 public:
  explicit ArrowSchemaColumns(std::shared_ptr<arrow::Schema> schema);

  [[nodiscard]] const arrow::Schema& schema() const { return *schema_; }
  [[nodiscard]] const std::vector<FileColumn>& columns() const override { return columns_; }
  [[nodiscard]] std::shared_ptr<const TableSchema> select(const std::vector<int>& places) const override;
  [[nodiscard]] bool is_printable(std::size_t column) const override;

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<FileColumn> columns_;
};

class ArrowRows final : public DecodedRows {
 public:
  explicit ArrowRows(std::shared_ptr<arrow::RecordBatch> batch) : batch_(std::move(batch)) {}

  [[nodiscard]] const arrow::RecordBatch& batch() const { return *batch_; }
  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::shared_ptr<const DecodedRows> slice(std::int64_t begin, std::int64_t count) const override;
  [[nodiscard]] std::shared_ptr<const DecodedRows> select(const std::vector<int>& places) const override;
  [[nodiscard]] Cells cells(int column) const override;
  [[nodiscard]] Cells printable(int column) const override;

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;
};

}  // namespace widthwise::internal
