#include <widthwise/train/threads.hpp>

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "support/folder_test.hpp"
#include "train/engines/threads/process.hpp"

namespace widthwise {
namespace {

using internal::quota_processors;

class CpuQuota : public FolderTest {
 protected:
  std::optional<std::size_t> with(const std::string& file, const std::string& text) {
    std::ofstream(at(file)) << text;
    return quota_processors(folder_);
  }
};

TEST_F(CpuQuota, IsReadFromCgroupsVersionTwoAndRoundedUp) {
  EXPECT_EQ(quota_processors(folder_), std::nullopt) << "no cpu.max";
  EXPECT_EQ(with("cpu.max", "max 100000\n"), std::nullopt);
  EXPECT_EQ(with("cpu.max", "200000 100000\n"), 2U);
  EXPECT_EQ(with("cpu.max", "150000 100000\n"), 2U);
  EXPECT_EQ(with("cpu.max", "20000 100000\n"), 1U);
  EXPECT_EQ(with("cpu.max", "lots of it\n"), std::nullopt);
  EXPECT_EQ(with("cpu.max", "-5 0\n"), std::nullopt);
}

TEST_F(CpuQuota, IsReadFromCgroupsVersionOne) {
  std::filesystem::create_directory(at("cpu"));
  EXPECT_EQ(with("cpu/cpu.cfs_period_us", "100000\n"), std::nullopt);
  EXPECT_EQ(with("cpu/cpu.cfs_quota_us", "-1\n"), std::nullopt);
  EXPECT_EQ(with("cpu/cpu.cfs_quota_us", "310000\n"), 4U);
}

/// The variable while a test changes it.
class OpenmpVariable {
 public:
  OpenmpVariable() {
    if (const char* value = std::getenv(kName)) before_ = value;
    unsetenv(kName);
  }
  ~OpenmpVariable() { before_ ? setenv(kName, before_->c_str(), 1) : unsetenv(kName); }
  OpenmpVariable(const OpenmpVariable&) = delete;
  OpenmpVariable& operator=(const OpenmpVariable&) = delete;

 private:
  static constexpr const char* kName = "OMP_NUM_THREADS";
  std::optional<std::string> before_;
};

TEST(AvailableProcessors, FollowTheAffinity) {
  const OpenmpVariable restore;
  const std::size_t before = available_processors();
  EXPECT_GE(before, 1U);
  std::thread([] {  // affinity belongs to a thread
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
    for (std::size_t cpu = 0, kept = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mask) && ++kept > 1) CPU_CLR(cpu, &mask);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
    EXPECT_EQ(available_processors(), 1U);
    EXPECT_EQ(training_threads(0, 1'000'000, 10), 1U);
  })
      .join();
  EXPECT_EQ(available_processors(), before);
}

TEST(AvailableProcessors, FollowTheVariableOfOpenmp) {
  const OpenmpVariable restore;
  const std::size_t before = available_processors();
  for (const char* value : {"1", " 1 ,2"}) {
    setenv("OMP_NUM_THREADS", value, 1);
    EXPECT_EQ(available_processors(), 1U) << value;
  }
  for (const char* value : {"0", "-1", "many", ""}) {
    setenv("OMP_NUM_THREADS", value, 1);
    EXPECT_EQ(available_processors(), before) << value;
  }
}

TEST(TrainingThreads, AreThoseRequested) {
  EXPECT_EQ(training_threads(3, 10, 1), 3U);
  EXPECT_EQ(training_threads(1, 1'000'000, 100), 1U);
}

TEST(TrainingThreads, AreOneForSmallTables) {
  EXPECT_EQ(training_threads(0, 300, 8), 1U);
  EXPECT_EQ(training_threads(0, 0, 0), 1U);
  EXPECT_EQ(training_threads(0, 1'000'000, 10), available_processors());
}

}  // namespace
}  // namespace widthwise
