#include <widthwise/train/threads.hpp>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "support/fake_root.hpp"
#include "train/engines/threads/limits.hpp"

namespace widthwise {
namespace {

using internal::cgroup_processors;
using internal::openmp_threads;

std::optional<std::size_t> processors(const FakeRoot& root) { return cgroup_processors(root.path()); }

constexpr const char* kUnified = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(CgroupQuota, IsReadFromTheUnifiedHierarchyAndRoundedUp) {
  FakeRoot root;
  root.write("proc/self/mountinfo", kUnified).write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(processors(root), std::nullopt) << "no cpu.max";
  EXPECT_EQ(processors(root.write("sys/fs/cgroup/cpu.max", "max 100000\n")), std::nullopt);
  EXPECT_EQ(processors(root.write("sys/fs/cgroup/cpu.max", "200000 100000\n")), 2U);
  EXPECT_EQ(processors(root.write("sys/fs/cgroup/cpu.max", "150000 100000\n")), 2U);
  EXPECT_EQ(processors(root.write("sys/fs/cgroup/cpu.max", "20000 100000\n")), 1U);
}

TEST(CgroupQuota, IsTheLeastOfEveryLevel) {
  FakeRoot root;
  root.write("proc/self/mountinfo", kUnified).write("proc/self/cgroup", "0::/kubepods/pod7/main\n");
  root.write("sys/fs/cgroup/kubepods/pod7/main/cpu.max", "800000 100000\n");
  EXPECT_EQ(processors(root), 8U);
  root.write("sys/fs/cgroup/kubepods/cpu.max", "600000 100000\n");
  EXPECT_EQ(processors(root), 6U);
  root.write("sys/fs/cgroup/kubepods/pod7/cpu.max", "250000 50000\n");
  EXPECT_EQ(processors(root), 5U);
  root.write("sys/fs/cgroup/kubepods/pod8/cpu.max", "100000 100000\n");
  EXPECT_EQ(processors(root), 5U) << "another pod's";
}

TEST(CgroupQuota, IsReadFromVersionOneByItsControllers) {
  FakeRoot root;
  root.write("proc/self/mountinfo",
             "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
             "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
             "34 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "4:cpuset:/other\n3:cpu,cpuacct:/slurm/job_5\n0::/slurm/job_5\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/slurm/job_5/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/slurm/job_5/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors(root), std::nullopt);
  root.write("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "310000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors(root), 4U);
}

TEST(CgroupQuota, OfAContainerIsAtItsMountPoint) {
  FakeRoot root;
  // Without a namespace of cgroups: the path is the host's, and the mount shows the container's part of it.
  root.write("proc/self/mountinfo",
             "33 31 0:30 /docker/0a1b /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
             "40 31 0:37 /docker/0a1b /mnt/with\\040blank ro - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "2:cpu:/docker/0a1b\n0::/../../elsewhere\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors(root), 3U);
  root.write("mnt/with blank/cpu.max", "200000 100000\n");
  EXPECT_EQ(processors(root), 2U);
}

TEST(CgroupQuota, IsEmptyIfFilesAreMissingOrInvalid) {
  FakeRoot root;
  EXPECT_EQ(processors(root), std::nullopt);
  root.write("proc/self/mountinfo", "no dash\n - \n33 31 - cgroup2\n").write("proc/self/cgroup", "::\nx\n0:\n");
  EXPECT_EQ(processors(root), std::nullopt);
  root.write("proc/self/mountinfo", kUnified).write("sys/fs/cgroup/cpu.max", "lots of it\n");
  EXPECT_EQ(processors(root), std::nullopt);
  root.write("sys/fs/cgroup/cpu.max", "-5 0\n");
  EXPECT_EQ(processors(root), std::nullopt);
}

TEST(OpenmpThreads, AreTheFirstNumber) {
  EXPECT_EQ(openmp_threads(nullptr), std::nullopt);
  EXPECT_EQ(openmp_threads("3"), 3U);
  EXPECT_EQ(openmp_threads(" 4 ,2"), 4U);
  EXPECT_EQ(openmp_threads("0"), std::nullopt);
  EXPECT_EQ(openmp_threads("-1"), std::nullopt);
  EXPECT_EQ(openmp_threads("many"), std::nullopt);
  EXPECT_EQ(openmp_threads(""), std::nullopt);
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
  setenv("OMP_NUM_THREADS", "1", 1);
  EXPECT_EQ(available_processors(), 1U);
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
