#include "train/engines/threads/limits.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>

#include "text.hpp"
#include "train/cgroups.hpp"

namespace widthwise::internal {
namespace {

namespace fs = std::filesystem;

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

double quota_of(const fs::path& folder, bool unified) {
  double quota = 0;
  double period = 0;
  if (unified) {
    std::ifstream in(folder / "cpu.max");  // "200000 100000", or "max 100000"
    if (!(in >> quota >> period)) return kNoQuota;
  } else {
    std::ifstream quota_in(folder / "cpu.cfs_quota_us");  // -1 without a quota
    std::ifstream period_in(folder / "cpu.cfs_period_us");
    if (!(quota_in >> quota) || !(period_in >> period)) return kNoQuota;
  }
  return quota > 0 && period > 0 ? quota / period : kNoQuota;
}

}  // namespace

std::optional<std::size_t> cgroup_processors(const fs::path& root) {
  double minimum = kNoQuota;
  for (const Cgroup& group : cgroups_of_process(root, "cpu")) {
    minimum = std::min(minimum, quota_of(group.folder, group.unified));
  }
  if (minimum == kNoQuota) return std::nullopt;
  return static_cast<std::size_t>(std::ceil(minimum));
}

std::optional<std::size_t> openmp_threads(const char* variable) {
  if (variable == nullptr) return std::nullopt;
  std::string_view text(variable);
  text = text.substr(0, text.find(','));
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto threads = read_whole<std::size_t>(text);
  return threads && *threads > 0 ? threads : std::nullopt;
}

}  // namespace widthwise::internal
