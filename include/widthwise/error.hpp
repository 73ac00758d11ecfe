#pragma once

#include <stdexcept>
#include <string>

#if defined(__FAST_MATH__)
#error "widthwise needs IEEE infinities and NaN: build without -ffast-math"
#endif

namespace widthwise {

/// What kind of thing went wrong, for callers that map errors to their own world (Python exceptions, exit codes).
enum class ErrorCode {
  kInvalidArgument,  ///< a value outside its domain: a level of 1.5, a misspelt transform
  kShapeMismatch,    ///< two inputs that must agree in size do not
  kNotFinite,        ///< NaN, or an infinity where the theory has none
  kTooFewRows,       ///< not enough calibration rows for the level, and the caller asked for an error
  kDuplicateRows,    ///< the same calibration rows came twice
  kBadData,          ///< bytes that are not what they claim to be
  kFile,             ///< a file that cannot be read or written
  kMissingEngine,    ///< a training engine or file format that this build or machine does not have
  kCancelled,        ///< the caller's progress callback said stop
  kLostWorker,       ///< another worker is gone, does not answer, or has failed
};

/// The one exception type of the library. The message says where, what was expected, what was found.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace widthwise
