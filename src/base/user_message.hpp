#pragma once

#include <string>
#include <string_view>

namespace widthwise::internal {

/// The message without the names of C++ functions before its parts, for users of other interfaces:
/// "m.safetensors: Calibration::add: row 7 ..." becomes "m.safetensors: row 7 ...".
[[nodiscard]] std::string without_functions(std::string_view message);

}  // namespace widthwise::internal
