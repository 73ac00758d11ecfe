#pragma once

#include <stdexcept>
#include <string>

#if defined(__FAST_MATH__)
#error "widthwise needs IEEE infinities and NaN: build without -ffast-math"
#endif

namespace widthwise {

/// The kind of an error, for callers that map errors to Python exceptions or exit codes.
enum class ErrorCode {
  kInvalidArgument,  ///< a value outside its domain: a level of 1.5, a misspelt transform
  kShapeMismatch,    ///< two inputs that must have the same size do not
  kNotFinite,        ///< NaN, or an infinity where none is allowed
  kTooFewRows,       ///< too few calibration rows for the level, and the caller requested an error
  kDuplicateRows,    ///< the same calibration row was added twice
  kBadData,          ///< malformed or damaged data
  kFile,             ///< a file that cannot be read or written
  kMissingEngine,    ///< a training engine or file format that this build or machine does not have
  kTooLittleMemory,  ///< the system gives this process no more memory
  kCancelled,        ///< the progress callback requested a stop
  kLostWorker,       ///< another worker is gone, does not answer, or has failed
};

/// The only exception type of the library. The message states where it occurred, what was expected and what was found.
class Error : public std::runtime_error {
 public:
  /// `code` is for decisions of the caller, `message` for people: what() returns it.
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }  ///< the kind of error

 private:
  ErrorCode code_;
};

}  // namespace widthwise
