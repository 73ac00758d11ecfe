#pragma once

#include <string>

namespace widthwise::internal {

/// The shortest text that reads back as x, whatever the locale.
[[nodiscard]] std::string text_of(double x);

}  // namespace widthwise::internal
