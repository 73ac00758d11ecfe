#include "train/engines/xgboost/watchdog.hpp"

#include <utility>

namespace widthwise::internal {

Watchdog::Watchdog(std::chrono::seconds limit, std::function<void()> call) : limit_(limit), call_(std::move(call)) {
  if (call_) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void Watchdog::count(int change) {
  const std::lock_guard lock(mutex_);
  waits_ += change;
  since_ = Clock::now();
}

void Watchdog::watch() {
  constexpr auto kLook = std::chrono::milliseconds(200);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kLook, [this] { return end_; })) {
    if (waits_ == 0 || Clock::now() - since_ <= limit_) continue;
    lock.unlock();
    call_();
    return;
  }
}

}  // namespace widthwise::internal
