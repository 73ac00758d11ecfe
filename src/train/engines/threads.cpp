#include <widthwise/train/threads.hpp>

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include "train/engines/threads/fork.hpp"
#include "train/engines/threads/quota.hpp"

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
