#pragma once

#define WIDTHWISE_VERSION_MAJOR 0
#define WIDTHWISE_VERSION_MINOR 1
#define WIDTHWISE_VERSION_PATCH 0

namespace widthwise {

/// The version of the headers with which a program was compiled.
inline constexpr const char* kVersion = "0.1.0";

}  // namespace widthwise
