#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace widthwise {

/// Where long work is.
struct Progress {
  std::string_view stage;  ///< what is being done: "base model, fold 2 of 5"
  std::size_t done = 0;    ///< steps done
  std::size_t total = 0;   ///< steps at most; training may stop early
  double loss = 0;         ///< over the hold-out where there is one, NaN where there is nothing to tell
};

/// Told of progress now and then, at least every second or so; returns false to cancel, and the work then throws
/// Error of kCancelled. May be empty.
using ProgressCallback = std::function<bool(const Progress&)>;

/// Tell the callback, if there is one; throw kCancelled when it says so.
void report(const ProgressCallback& callback, const Progress& progress);

}  // namespace widthwise
