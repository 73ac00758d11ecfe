#pragma once

#include <arrow/status.h>
#include <arrow/visit_array_inline.h>

#include <cstdint>
#include <optional>
#include <stdexcept>

namespace widthwise::internal {

template <class Use>
struct ArrayVisitor {
  template <class Array>
  arrow::Status Visit(const Array& array) {
    result = use(array);
    return arrow::Status::OK();
  }

  const Use& use;
  std::optional<std::int64_t> result;
};

/// Call use(column) with the column as the array of its type.
template <class Use>
std::optional<std::int64_t> visit(const arrow::Array& column, const Use& use) {
  ArrayVisitor<Use> visitor{use, std::nullopt};
  const arrow::Status status = arrow::VisitArrayInline(column, &visitor);
  if (!status.ok()) throw std::logic_error("visit: " + status.ToString());
  return visitor.result;
}

}  // namespace widthwise::internal
