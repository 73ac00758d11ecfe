#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace widthwise::internal {

/// The CPU quota of the cgroups of this process in processors, rounded up; empty if there is no quota. Files are read
/// below `root`, which is "/" except in tests.
[[nodiscard]] std::optional<std::size_t> cgroup_processors(const std::filesystem::path& root);

/// The first number of OMP_NUM_THREADS, "4" or "4,2". Empty if it is null or not a number above 0.
[[nodiscard]] std::optional<std::size_t> openmp_threads(const char* variable);

}  // namespace widthwise::internal
