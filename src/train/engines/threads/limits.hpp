#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace widthwise::internal {

/// The CPU quota of the cgroups of this process in processors, rounded up: the least over every level of the hierarchy
/// that is mounted, version 1 or 2. Nothing where there is no quota. Files are read below `root`, which is "/" but for
/// tests: root/proc/self/cgroup, root/proc/self/mountinfo and the hierarchies they name.
[[nodiscard]] std::optional<std::size_t> cgroup_processors(const std::filesystem::path& root);

/// The first number of OMP_NUM_THREADS, "4" or "4,2". Nothing when it is null or no number above 0.
[[nodiscard]] std::optional<std::size_t> openmp_threads(const char* variable);

}  // namespace widthwise::internal
