#include <widthwise/train/memory.hpp>

#include <gtest/gtest.h>
#include <widthwise/error.hpp>

#include "support/errors.hpp"
#include "support/fake_root.hpp"
#include "train/memory/free_memory.hpp"

namespace widthwise {
namespace {

using internal::free_memory_below;

constexpr std::uint64_t kNone = UINT64_MAX;

TEST(FreeMemory, IsTheAvailableMemoryOfTheKernel) {
  FakeRoot root;
  EXPECT_EQ(free_memory_below(root.path()).without_swapping, kNone);
  root.write("proc/meminfo", "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    3000 kB\n");
  EXPECT_EQ(free_memory_below(root.path()).without_swapping, 3000U * 1024);
  EXPECT_EQ(free_memory_below(root.path()).within_limits, kNone);
}

TEST(FreeMemory, IsTheLeastLeftOfEveryCgroup) {
  FakeRoot root;
  root.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "0::/pod/main\n").write("proc/meminfo", "MemAvailable:    3000 kB\n");
  root.write("sys/fs/cgroup/pod/memory.max", "max\n").write("sys/fs/cgroup/pod/memory.current", "700\n");
  EXPECT_EQ(free_memory_below(root.path()).within_limits, kNone);
  root.write("sys/fs/cgroup/pod/memory.max", "5000\n");
  EXPECT_EQ(free_memory_below(root.path()).within_limits, 4300U);
  root.write("sys/fs/cgroup/pod/main/memory.max", "3000\n").write("sys/fs/cgroup/pod/main/memory.current", "2900\n");
  root.write("sys/fs/cgroup/pod/main/memory.stat", "anon 5\nactive_file 800\ninactive_file 600\n");
  EXPECT_EQ(free_memory_below(root.path()).within_limits, 700U) << "files can be read again";
  EXPECT_EQ(free_memory_below(root.path()).without_swapping, 700U);
  root.write("sys/fs/cgroup/pod/main/memory.current", "9900\n");
  EXPECT_EQ(free_memory_below(root.path()).within_limits, 0U);
}

TEST(FreeMemory, IsReadFromVersionOne) {
  FakeRoot root;
  root.write("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  root.write("proc/self/cgroup", "5:memory:/job\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
  EXPECT_GT(free_memory_below(root.path()).within_limits, std::uint64_t{1} << 60U) << "no limit";
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "8000\n");
  root.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "5000\n");
  root.write("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
  EXPECT_EQ(free_memory_below(root.path()).within_limits, 3500U);
}

TEST(FitMemory, WarnsBeforeSwappingAndRefusesToBeStopped) {
  constexpr std::size_t kRows = 1'000'000;
  constexpr std::size_t kFeatures = 10;
  const std::uint64_t needed = fit_memory(kRows, kFeatures);
  EXPECT_EQ(fit_memory_warning(kRows, kFeatures, {}), "");
  EXPECT_EQ(fit_memory_warning(kRows, kFeatures, {needed, needed}), "");
  const std::string text = fit_memory_warning(kRows, kFeatures, {kNone, 300'000'000});
  EXPECT_EQ(
      text,
      "fit: 1,000,000 rows of 10 features need about 500 MB of memory in addition to the table, and 300 MB are free; "
      "fit to a sample of the rows, or on a larger machine");
  EXPECT_NE(fit_memory_warning(kRows, kFeatures, {needed * 4 / 5, needed * 4 / 5}), "") << "the estimate is rough";
  expect_error(ErrorCode::kTooLittleMemory, "need about 500 MB",
               [&] { (void)fit_memory_warning(kRows, kFeatures, {needed / 2, needed / 2}); });
}

TEST(FitMemory, OfThisMachineIsKnown) { EXPECT_GT(free_memory().without_swapping, 0U); }

}  // namespace
}  // namespace widthwise
