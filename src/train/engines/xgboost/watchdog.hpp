#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>

namespace widthwise::internal {

/// Calls a function if a wait lasts too long. XGBoost has its own timeouts, but 3.2 waits indefinitely for a worker
/// that dies at certain moments: while the workers connect to each other, and between two messages.
/// Thread safety: full.
class Watchdog {
 public:
  /// `call` runs once, on a separate thread. If it is empty, nothing is watched.
  Watchdog(std::chrono::seconds limit, std::function<void()> call);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Marks a wait while it exists. The time counts from the last begin or end of a wait, also of a nested one.
  class Wait {
   public:
    explicit Wait(Watchdog& dog) : dog_(dog) { dog_.count(+1); }
    ~Wait() { dog_.count(-1); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Watchdog& dog_;
  };

 private:
  using Clock = std::chrono::steady_clock;

  void count(int change);
  void watch();

  std::chrono::seconds limit_;
  std::function<void()> call_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  int waits_ = 0;
  Clock::time_point since_;
  std::thread thread_;
};

}  // namespace widthwise::internal
