#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace widthwise::internal {

/// The folder of a cgroup, with the files of its limits.
struct Cgroup {
  std::filesystem::path folder;
  bool unified = false;  ///< version 2
};

/// The cgroups that limit this process, at all levels of the mounted hierarchies, version 1 or 2, of a controller such
/// as "cpu" or "memory". Files are read below `root`, which is "/" except in tests: root/proc/self/cgroup,
/// root/proc/self/mountinfo and the hierarchies they name.
[[nodiscard]] std::vector<Cgroup> cgroups_of_process(const std::filesystem::path& root, std::string_view controller);

}  // namespace widthwise::internal
