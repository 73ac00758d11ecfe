#pragma once

/// Major version of the headers, as a number for the preprocessor.
#define WIDTHWISE_VERSION_MAJOR 0
/// Minor version, likewise.
#define WIDTHWISE_VERSION_MINOR 2
/// Patch version, likewise.
#define WIDTHWISE_VERSION_PATCH 0

/// Conformal prediction intervals with learnt widths. Errors are thrown as Error.
namespace widthwise {

/// The version of the headers with which a program was compiled.
inline constexpr const char* kVersion = "0.2.0";

}  // namespace widthwise
