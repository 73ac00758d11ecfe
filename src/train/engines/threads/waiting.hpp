#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace widthwise::internal {

/// Whether there is an OpenMP runtime in this process. Allocates nothing.
[[nodiscard]] bool openmp_is_loaded() noexcept;

/// While it lives, threads of OpenMP wait for each other asleep instead of in a loop. Runtimes loop for milliseconds by
/// default; where other programs use the processors as well, each wait then takes a time slice of the scheduler and
/// training takes up to a hundred times as long. OMP_WAIT_POLICY would do, but it is read when the runtime is loaded:
/// before main in a program that links LibTorch, at the first `import` of some package in Python. So each runtime in
/// the process is told in its own way:
///
/// - libgomp loops 100 times instead of 300,000 while it manages more threads than there are processors (documented
///   with GOMP_SPINCOUNT). Here a thread holds idle threads of libgomp's until they are more.
/// - libomp and libiomp5 have a function for it, kmp_set_blocktime.
///
/// Nothing is done for one thread, or when the user has set OMP_WAIT_POLICY, GOMP_SPINCOUNT or KMP_BLOCKTIME.
/// Thread safety: use on the thread that trains.
class PassiveWaiting {
 public:
  /// For teams of `threads` threads.
  explicit PassiveWaiting(std::size_t threads);
  ~PassiveWaiting();
  PassiveWaiting(const PassiveWaiting&) = delete;
  PassiveWaiting& operator=(const PassiveWaiting&) = delete;

 private:
  class IdleTeam;
  std::vector<std::unique_ptr<IdleTeam>> idle_;
  std::vector<std::function<void()>> restore_;
};

}  // namespace widthwise::internal
