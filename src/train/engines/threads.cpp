#include <widthwise/train/threads.hpp>

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <latch>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "text.hpp"
#include "train/engines/threads/fork.hpp"
#include "train/engines/threads/limits.hpp"

namespace widthwise {
namespace {

constexpr std::size_t kCellsPerThread = 16'384;

std::size_t processors_of_affinity() {
  // cpu_set_t holds 1,024 processors; the kernel rejects a set that is smaller than its own.
  for (std::size_t processors = CPU_SETSIZE; processors <= CPU_SETSIZE * 64; processors *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(processors),
                                                               [](cpu_set_t* memory) { CPU_FREE(memory); });
    const std::size_t bytes = CPU_ALLOC_SIZE(processors);
    if (set != nullptr && sched_getaffinity(0, bytes, set.get()) == 0) {
      return static_cast<std::size_t>(CPU_COUNT_S(bytes, set.get()));
    }
  }
  return std::thread::hardware_concurrency();
}

}  // namespace

std::size_t available_processors() {
  const std::size_t limit = std::min(internal::cgroup_processors("/").value_or(SIZE_MAX),
                                     internal::openmp_threads(std::getenv("OMP_NUM_THREADS")).value_or(SIZE_MAX));
  return std::max<std::size_t>(1, std::min(limit, processors_of_affinity()));
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
