#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <stdexcept>
#include <utility>

namespace widthwise::internal {

/// Throw std::runtime_error with the message of a failure.
inline void check(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

template <class T>
[[nodiscard]] T value_of(arrow::Result<T> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

}  // namespace widthwise::internal
