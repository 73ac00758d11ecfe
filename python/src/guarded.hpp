#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <shared_mutex>
#include <type_traits>
#include <utility>

namespace widthwise::python {

/// A value that Python threads share, with the lock that protects it. `locked` is the only access to the value, so a
/// binding cannot omit the lock. Classes without mutable state (Model, SortedScores, Table) are bound directly. Thread
/// safety: full; move only values that are not shared yet.
template <class Value>
class Guarded {
 public:
  explicit Guarded(Value value) : value_(std::move(value)) {}
  Guarded(Guarded&& other) noexcept(std::is_nothrow_move_constructible_v<Value>) : value_(std::move(other.value_)) {}
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded() = default;

 private:
  template <class Released, class Use, class... Guards>
  friend auto locked_without(const Use& use, Guards&... guards);

  Value value_;
  mutable std::shared_mutex mutex_;
};

struct WantedLock {
  std::shared_mutex* mutex;
  bool exclusive;
};

/// Locks of n objects. They are acquired in the order of their addresses, and an object that occurs twice is locked
/// once, so that threads which combine the same objects cannot deadlock.
template <std::size_t n>
class OrderedLocks {
 public:
  explicit OrderedLocks(std::array<WantedLock, n> wanted) : wanted_(wanted) {
    std::ranges::sort(wanted_, [](const WantedLock& a, const WantedLock& b) {
      return a.mutex != b.mutex ? std::less<>()(a.mutex, b.mutex) : a.exclusive && !b.exclusive;
    });
    const auto same = std::ranges::unique(wanted_, {}, &WantedLock::mutex);
    count_ = n - same.size();
    for (std::size_t i = 0; i < count_; ++i) {
      wanted_[i].exclusive ? wanted_[i].mutex->lock() : wanted_[i].mutex->lock_shared();
    }
  }
  OrderedLocks(const OrderedLocks&) = delete;
  OrderedLocks& operator=(const OrderedLocks&) = delete;
  ~OrderedLocks() {
    for (std::size_t i = count_; i > 0; --i) {
      const WantedLock& one = wanted_[i - 1];
      one.exclusive ? one.mutex->unlock() : one.mutex->unlock_shared();
    }
  }

 private:
  std::array<WantedLock, n> wanted_;
  std::size_t count_ = 0;
};

/// Call use(values...) with all guards locked: const guards for reading, others for writing. A `Released` object
/// releases Python's lock (GIL) before the guards are locked and acquires it again after they are unlocked, so that no
/// thread waits for one lock while it holds the other. `use` must therefore neither access Python nor call this
/// function.
template <class Released, class Use, class... Guards>
auto locked_without(const Use& use, Guards&... guards) {
  [[maybe_unused]] const Released released;
  const OrderedLocks<sizeof...(guards)> locks(std::array{WantedLock{&guards.mutex_, !std::is_const_v<Guards>}...});
  return use(guards.value_...);
}

}  // namespace widthwise::python
