#include "guarded.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace {

using widthwise::python::Guarded;
using widthwise::python::locked_without;

/// The GIL, which every thread of these tests holds outside of calls.
std::mutex interpreter;

struct Released {
  Released() { interpreter.unlock(); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() { interpreter.lock(); }
};

/// Two numbers that are equal unless they are read during a change.
struct Pair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

using SharedPair = Guarded<Pair>;

void add(SharedPair& pair, const SharedPair& other) {
  locked_without<Released>(
      [](Pair& ours, const Pair& theirs) {
        const Pair more = theirs;
        ours.first += more.first;
        ours.second += more.second;
      },
      pair, other);
}

Pair copy_of(const SharedPair& pair) {
  return locked_without<Released>([](const Pair& value) { return value; }, pair);
}

/// Run `body` a thousand times in each of eight threads, holding the GIL as Python does.
template <class Body>
void in_threads(const Body& body) {
  constexpr int kThreads = 8;
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      for (int round = 0; round < 1000; ++round) {
        const std::lock_guard lock(interpreter);
        body(i);
      }
    });
  }
}

TEST(GuardedThreads, NoWriteIsLostAndReadsAreAtomic) {
  SharedPair pair(Pair{});
  in_threads([&](int i) {
    if (i % 2 == 0) {
      locked_without<Released>(
          [](Pair& value) {
            ++value.first;
            ++value.second;
          },
          pair);
    } else {
      const Pair seen = copy_of(pair);
      EXPECT_EQ(seen.first, seen.second);
    }
  });
  const std::lock_guard lock(interpreter);
  EXPECT_EQ(copy_of(pair).first, 4000U);
}

TEST(GuardedThreads, ObjectsCombinedCrosswiseAndWithThemselvesDoNotDeadlock) {
  SharedPair a(Pair{1, 1});
  SharedPair b(Pair{1, 1});
  SharedPair c(Pair{1, 1});
  SharedPair* const all[] = {&a, &b, &c};
  in_threads([&](int i) {
    add(*all[i % 3], *all[(i + 1 + i / 3) % 3]);
    const Pair seen = copy_of(*all[i % 3]);
    EXPECT_EQ(seen.first, seen.second);
  });
}

TEST(GuardedThreads, AnExceptionReleasesEveryLock) {
  SharedPair a(Pair{});
  SharedPair b(Pair{});
  const std::lock_guard lock(interpreter);
  const auto fail = [](Pair&, const Pair&) { throw std::runtime_error("refused"); };
  EXPECT_THROW(locked_without<Released>(fail, a, std::as_const(b)), std::runtime_error);
  add(b, a);
  add(a, b);
}

}  // namespace
