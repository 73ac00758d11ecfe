#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "io/table/cells.hpp"

namespace widthwise::internal {

/// A new column, cell by cell, for an Arrow library to take over.
/// Thread safety: none.
class BuiltColumn {
 public:
  /// The kind is kBool, kInt64, kDouble or kText.
  BuiltColumn(CellKind kind, std::size_t rows);
  BuiltColumn(const BuiltColumn&) = delete;
  BuiltColumn& operator=(const BuiltColumn&) = delete;
  ~BuiltColumn();

  void add_null();
  void add_truth(bool truth);
  void add(std::int64_t number);
  void add(double number);
  /// Throws std::length_error beyond 2 GB.
  void add(std::string_view text);

  /// Pass on the cells; call once.
  [[nodiscard]] std::unique_ptr<ExportedColumn> finish() &&;

 private:
  struct Memory;

  void add_validity(bool valid);
  template <class Number>
  void append(Number number);

  std::unique_ptr<Memory> memory_;
};

}  // namespace widthwise::internal
