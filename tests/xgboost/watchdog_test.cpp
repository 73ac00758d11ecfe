#include "train/engines/xgboost/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace widthwise::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Watchdog, CallsOnceWhenAWaitLastsTooLong) {
  std::promise<void> called;
  std::atomic<int> calls = 0;
  Watchdog dog(seconds(1), [&] {
    if (++calls == 1) called.set_value();
  });
  const Watchdog::Wait wait(dog);
  EXPECT_EQ(called.get_future().wait_for(seconds(30)), std::future_status::ready);
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_EQ(calls, 1);
}

TEST(Watchdog, IsSilentWithoutAWaitOrIfTheWaitMakesProgress) {
  std::atomic<int> calls = 0;
  Watchdog dog(seconds(2), [&] { ++calls; });
  std::this_thread::sleep_for(milliseconds(2500));
  const Watchdog::Wait round(dog);
  for (int i = 0; i < 30; ++i) {
    const Watchdog::Wait sum(dog);
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_EQ(calls, 0);
}

TEST(Watchdog, WithoutACallbackDoesNothing) {
  Watchdog dog(seconds(0), {});
  const Watchdog::Wait wait(dog);
}

}  // namespace
}  // namespace widthwise::internal
