#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <widthwise/error.hpp>

#include "base/message.hpp"

/// Errors of a model about its parts and rows.
namespace widthwise::internal {

[[noreturn]] inline void refuse_model(ErrorCode code, const std::string& what) { throw Error(code, "Model: " + what); }

inline void expect_count(std::string_view what, std::size_t found, std::size_t expected) {
  if (found == expected) return;
  refuse_model(ErrorCode::kShapeMismatch, fmt::format("expected {} {}, found {}", expected, what, found));
}

/// The same of what may be left out.
inline void expect_count_or_none(std::string_view what, std::size_t found, std::size_t expected) {
  if (found != 0) expect_count(what, found, expected);
}

}  // namespace widthwise::internal
