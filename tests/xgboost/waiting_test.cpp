#include "train/engines/threads/waiting.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <widthwise/train/xgboost.hpp>

namespace widthwise::internal {
namespace {

std::size_t threads_of_this_process() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

/// Threads that ended are listed for a moment.
bool falls_to(std::size_t threads) {
  for (int i = 0; i < 1000 && threads_of_this_process() != threads; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return threads_of_this_process() == threads;
}

class PassiveWaitingTest : public testing::Test {
 protected:
  PassiveWaitingTest() {
    for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) unsetenv(name);
  }

  // With its OpenMP runtime; the tests use libgomp, like the wheels of XGBoost.
  std::shared_ptr<const XgboostLibrary> library_ = XgboostLibrary::load();
  std::size_t before_ = threads_of_this_process();
};

TEST_F(PassiveWaitingTest, HoldsMoreThreadsThanProcessorsAndEndsThem) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  const auto processors = static_cast<std::size_t>(CPU_COUNT(&mask));
  {
    const PassiveWaiting waiting(2);
    // Two training threads are a team of this thread and another.
    EXPECT_GT(threads_of_this_process() - before_ + 1, processors);
  }
  EXPECT_TRUE(falls_to(before_));
  {
    const PassiveWaiting waiting(2);
    EXPECT_GT(threads_of_this_process(), before_) << "again";
  }
  EXPECT_TRUE(falls_to(before_));
}

TEST_F(PassiveWaitingTest, NeedsNothingForOneThread) {
  const PassiveWaiting waiting(1);
  EXPECT_EQ(threads_of_this_process(), before_);
}

TEST_F(PassiveWaitingTest, LeavesTheUsersOwnChoiceAlone) {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    setenv(name, "active", 1);
    const PassiveWaiting waiting(2);
    EXPECT_EQ(threads_of_this_process(), before_) << name;
    unsetenv(name);
  }
}

}  // namespace
}  // namespace widthwise::internal
