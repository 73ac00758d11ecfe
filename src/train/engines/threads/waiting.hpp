#pragma once

#include <cstddef>
#include <latch>
#include <thread>

namespace widthwise::internal {

/// Whether libgomp, GCC's OpenMP runtime, is in this process. Allocates nothing.
[[nodiscard]] bool libgomp_is_loaded() noexcept;

/// While this object exists, threads of libgomp sleep while they wait for each other instead of spinning for
/// milliseconds. If other programs use the processors as well, each wait of spinning threads takes a time slice of the
/// scheduler: two fits at once took 30 times as long as one, and take at most 2.3 times as long with this object
/// (docs/performance.md). OMP_WAIT_POLICY would solve this, but it is read when libgomp is loaded: before main in a
/// program that links LibTorch, at the first `import` of some package in Python.
///
/// libgomp spins 100 times instead of 300,000 while it manages more threads than there are processors (see
/// GOMP_SPINCOUNT). A helper thread holds enough idle threads to exceed that number, in each libgomp of the process:
/// Python packages contain their own copies.
///
/// Does nothing for one thread, or if the user has set OMP_WAIT_POLICY or GOMP_SPINCOUNT.
/// Thread safety: use on the training thread.
class PassiveWaiting {
 public:
  /// For teams of `threads` threads.
  explicit PassiveWaiting(std::size_t threads);
  ~PassiveWaiting();
  PassiveWaiting(const PassiveWaiting&) = delete;
  PassiveWaiting& operator=(const PassiveWaiting&) = delete;

 private:
  std::latch started_{1};
  std::latch done_{1};
  std::thread owner_;  ///< of the idle threads
};

}  // namespace widthwise::internal
