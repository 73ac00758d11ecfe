#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace widthwise::internal {

/// The CPU quota of this container in processors, rounded up; empty if there is none. `cgroups` is "/sys/fs/cgroup"
/// except in tests. If more threads run than the quota allows, the kernel stops all of them until the next period, and
/// threads that wait for each other wait for whole periods. XGBoost limits its boosters by the same files, but networks
/// and idle threads (waiting.hpp) need the number too.
[[nodiscard]] std::optional<std::size_t> quota_processors(const std::filesystem::path& cgroups);

/// Whether this process was forked, without exec, from one that had threads and libgomp. Only the forking thread
/// survives, but libgomp is not aware of this: training with several threads would wait indefinitely for the threads of
/// the parent. Other OpenMP runtimes handle forks themselves.
[[nodiscard]] bool threads_lost_in_fork();

}  // namespace widthwise::internal
