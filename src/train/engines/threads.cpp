#include <widthwise/train/threads.hpp>

#include <pthread.h>
#include <sched.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include "train/engines/threads/process.hpp"
#include "train/engines/threads/waiting.hpp"

namespace widthwise::internal {

std::optional<std::size_t> quota_processors(const std::filesystem::path& cgroups) {
  // Stay 0 without a file, and without a quota: "max 100000" in version 2. Version 1 has -1 then.
  double quota = 0;
  double period = 0;
  if (std::ifstream unified(cgroups / "cpu.max"); unified) {
    unified >> quota >> period;
  } else {
    std::ifstream(cgroups / "cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream(cgroups / "cpu/cpu.cfs_period_us") >> period;
  }
  if (!(quota > 0) || !(period > 0)) return std::nullopt;
  return static_cast<std::size_t>(std::ceil(quota / period));
}

namespace {

std::atomic<bool> g_lost{false};     // in this process
std::atomic<bool> g_at_risk{false};  // for a child that is forked now

/// The link count of a folder is its number of subfolders plus two.
bool has_threads() {
  struct stat tasks = {};
  return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > 3;
}

void before_fork() { g_at_risk = has_threads() && libgomp_is_loaded(); }

void in_child() {
  if (g_at_risk) g_lost = true;
}

[[maybe_unused]] const int kRegistered = pthread_atfork(before_fork, nullptr, in_child);

}  // namespace

bool threads_lost_in_fork() { return g_lost; }

}  // namespace widthwise::internal

namespace widthwise {
namespace {

constexpr std::size_t kCellsPerThread = 16'384;

/// std::thread::hardware_concurrency ignores the affinity in some versions of glibc.
std::size_t processors_of_affinity() {
  cpu_set_t set;  // of at most 1,024 processors; the kernel rejects a set that is smaller than its own
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return std::thread::hardware_concurrency();
  return static_cast<std::size_t>(CPU_COUNT(&set));
}

/// The first number of OMP_NUM_THREADS, "4" or "4,2"; SIZE_MAX without one.
std::size_t openmp_threads() {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  const std::size_t threads = text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
  return threads == 0 ? SIZE_MAX : threads;
}

}  // namespace

std::size_t available_processors() {
  const std::size_t quota = internal::quota_processors("/sys/fs/cgroup").value_or(SIZE_MAX);
  return std::max<std::size_t>(1, std::min({processors_of_affinity(), quota, openmp_threads()}));
}

bool can_start_threads(std::size_t count) {
  if (count == 0) return true;
  std::latch done(1);
  std::vector<std::thread> threads;
  bool started = true;
  try {
    threads.reserve(count);
    while (threads.size() < count) threads.emplace_back([&] { done.wait(); });
  } catch (const std::system_error&) {
    started = false;
  }
  done.count_down();
  for (std::thread& thread : threads) thread.join();
  return started;
}

std::size_t training_threads(std::size_t requested, std::size_t rows, std::size_t columns) {
  if (internal::threads_lost_in_fork()) return 1;
  const std::size_t useful = std::max<std::size_t>(1, rows * columns / kCellsPerThread);
  const std::size_t wanted = requested != 0 ? requested : std::min(useful, available_processors());
  // Besides the team, there are as many idle threads as processors, without which the team waits badly (waiting.hpp).
  return wanted == 1 || can_start_threads(wanted + available_processors()) ? wanted : 1;
}

}  // namespace widthwise
