#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace widthwise {

/// Progress of a long operation.
struct Progress {
  std::string_view stage;  ///< current stage: "base model, fold 2 of 5"
  std::size_t done = 0;    ///< steps done
  std::size_t total = 0;   ///< maximum number of steps; training may stop early
  double loss = 0;         ///< hold-out loss; NaN if there is none
};

/// Called repeatedly, at least about every second. Returns false to cancel; the operation then throws kCancelled. May
/// be empty.
using ProgressCallback = std::function<bool(const Progress&)>;

/// Call the callback, if there is one; throw kCancelled if it returns false.
void report(const ProgressCallback& callback, const Progress& progress);

}  // namespace widthwise
