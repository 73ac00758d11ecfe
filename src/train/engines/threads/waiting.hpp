#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace widthwise::internal {

/// Whether there is an OpenMP runtime in this process. Allocates nothing.
[[nodiscard]] bool openmp_is_loaded() noexcept;

/// While this object exists, OpenMP threads sleep while they wait for each other instead of spinning. By default,
/// runtimes spin for milliseconds. If other programs use the processors as well, each wait then takes a time slice of
/// the scheduler, and training takes up to a hundred times as long. OMP_WAIT_POLICY would solve this, but it is read
/// when the runtime is loaded: before main in a program that links LibTorch, at the first `import` of some package in
/// Python. Each runtime in the process is therefore configured in its own way:
///
/// - libgomp spins 100 times instead of 300,000 while it manages more threads than there are processors (see
///   GOMP_SPINCOUNT). A helper thread holds enough idle libgomp threads to exceed that number.
/// - libomp and libiomp5 have the function kmp_set_blocktime.
///
/// Does nothing for one thread, or if the user has set OMP_WAIT_POLICY, GOMP_SPINCOUNT or KMP_BLOCKTIME.
/// Thread safety: use on the training thread.
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
