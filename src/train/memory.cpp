#include <widthwise/train/memory.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include <widthwise/error.hpp>

#include "message.hpp"
#include "text.hpp"
#include "train/cgroups.hpp"
#include "train/memory/free_memory.hpp"

namespace widthwise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = UINT64_MAX;

/// The number in a file; nothing if it holds none, such as "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (in >> number) return number;
  return std::nullopt;
}

/// The number after a word at the start of a line, as in "inactive_file 4096" or "MemAvailable:  2048 kB".
std::optional<std::uint64_t> number_after(std::string_view word, const fs::path& file) {
  std::ifstream in(file);
  for (std::string found; in >> found; in.ignore(1000, '\n')) {
    std::uint64_t number = 0;
    if (found == word && in >> number) return number;
  }
  return std::nullopt;
}

std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

/// What is left in a cgroup. Memory of files that were read counts as used, but the kernel can free it.
std::uint64_t free_in(const internal::Cgroup& group) {
  const auto limit = number_in(group.folder / (group.unified ? "memory.max" : "memory.limit_in_bytes"));
  const auto used = number_in(group.folder / (group.unified ? "memory.current" : "memory.usage_in_bytes"));
  if (!limit || !used) return kNoLimit;
  const auto files =
      number_after(group.unified ? "inactive_file" : "total_inactive_file", group.folder / "memory.stat");
  return minus(*limit, minus(*used, files.value_or(0)));
}

/// What is left of the address space (ulimit -v).
std::uint64_t free_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  const std::uint64_t used = number_in("/proc/self/statm").value_or(0) * static_cast<std::uint64_t>(getpagesize());
  return minus(limit.rlim_cur, used);
}

std::string megabytes(std::uint64_t bytes) { return fmt::format("{} MB", bytes / 1'000'000); }

}  // namespace

FreeMemory internal::free_memory_below(const fs::path& root) {
  FreeMemory free;
  for (const Cgroup& group : cgroups_of_process(root, "memory")) {
    free.within_limits = std::min(free.within_limits, free_in(group));
  }
  free.without_swapping = free.within_limits;
  if (const auto kilobytes = number_after("MemAvailable:", root / "proc/meminfo")) {
    free.without_swapping = std::min(free.without_swapping, *kilobytes * 1024);
  }
  return free;
}

FreeMemory free_memory() {
  FreeMemory free = internal::free_memory_below("/");
  free.within_limits = std::min(free.within_limits, free_addresses());
  free.without_swapping = std::min(free.without_swapping, free.within_limits);
  return free;
}

std::uint64_t fit_memory(std::size_t rows, std::size_t features) {
  constexpr std::uint64_t kPerRow = 190;
  constexpr std::uint64_t kPerNumber = 31;
  return rows * (kPerRow + kPerNumber * features);
}

std::string fit_memory_warning(std::size_t rows, std::size_t features, const FreeMemory& free) {
  const std::uint64_t needed = fit_memory(rows, features);
  if (needed <= free.without_swapping) return "";
  const std::string found = fmt::format(
      "fit: {} of {} need about {} of memory in addition to the table, and {} are free; fit to a sample of the rows, "
      "or "
      "on a larger machine",
      internal::count_of(rows, "row"), internal::count_of(features, "feature"), megabytes(needed),
      megabytes(free.without_swapping));
  if (needed / 4 * 3 > free.within_limits) throw Error(ErrorCode::kTooLittleMemory, found);
  return found;
}

}  // namespace widthwise
