#pragma once

#include <utility>

#include <widthwise/error.hpp>

// The functions of {fmt} are compiled into the library (message.cpp) under a namespace of its own, so that neither the
// program nor its users link libfmt, and a program's own {fmt}, of whatever version, is another one.
#define FMT_BEGIN_NAMESPACE \
  namespace fmt {           \
  inline namespace widthwise_private {
#define FMT_END_NAMESPACE \
  }                       \
  }
// Only this header: it compiles in a tenth of the time of fmt/format.h.
#include <fmt/core.h>

namespace widthwise::internal {

/// An error with a formatted message. The compiler checks the format; the locale never matters.
template <class... Arguments>
[[nodiscard]] Error make_error(ErrorCode code, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return {code, fmt::format(format, std::forward<Arguments>(arguments)...)};
}

}  // namespace widthwise::internal
