#include "train/engines/threads/fork.hpp"

#include <pthread.h>
#include <sys/stat.h>

#include <atomic>

#include "train/engines/threads/waiting.hpp"

namespace widthwise::internal {
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
