#include "train/engines/threads/quota.hpp"

#include <cmath>
#include <fstream>

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

}  // namespace widthwise::internal
