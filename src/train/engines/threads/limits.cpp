#include "train/engines/threads/limits.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "text.hpp"

namespace widthwise::internal {
namespace {

namespace fs = std::filesystem;

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// A mounted hierarchy of cgroups.
struct Mount {
  bool unified = false;  ///< version 2
  std::string root;      ///< the cgroup at the mount point
  std::string point;
};

bool has_word(std::string_view words, std::string_view word) {
  std::istringstream in{std::string(words)};
  for (std::string found; std::getline(in, found, ',');) {
    if (found == word) return true;
  }
  return false;
}

/// A path of mountinfo, in which blanks are escaped as \040.
std::string unescaped(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      path += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      path += text[i];
    }
  }
  return path;
}

/// Hierarchies that can hold a CPU quota. A line of mountinfo: id parent device ROOT POINT options [tags...] - TYPE
/// source OPTIONS.
std::vector<Mount> mounts_in(const fs::path& mountinfo) {
  std::vector<Mount> mounts;
  std::ifstream in(mountinfo);
  for (std::string line; std::getline(in, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line.substr(0, dash));
    std::istringstream back(line.substr(dash + 3));
    std::string ignored;
    std::string root;
    std::string point;
    std::string type;
    std::string options;
    front >> ignored >> ignored >> ignored >> root >> point;
    back >> type >> ignored >> options;
    if (type == "cgroup2" || (type == "cgroup" && has_word(options, "cpu"))) {
      mounts.push_back({type == "cgroup2", unescaped(root), unescaped(point)});
    }
  }
  return mounts;
}

/// The cgroup of this process in a hierarchy. A line of /proc/self/cgroup: number:CONTROLLERS:PATH, without controllers
/// for version 2.
std::string group_in(const fs::path& file, bool unified) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : has_word(controllers, "cpu")) return line.substr(second + 1);
  }
  return "/";
}

/// The path of a cgroup below a mount point. Inside a container, the mount point is the cgroup of the container, and
/// the path may lead out of it; only the mount point is then visible.
fs::path below_mount(const std::string& group, const std::string& root) {
  fs::path relative = fs::path(group).lexically_relative(root);
  if (relative.empty() || relative == "." || *relative.begin() == "..") return {};
  return relative;
}

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
  for (const Mount& mount : mounts_in(root / "proc/self/mountinfo")) {
    const fs::path point = root / fs::path(mount.point).relative_path();
    const fs::path group = below_mount(group_in(root / "proc/self/cgroup", mount.unified), mount.root);
    fs::path folder = point;
    minimum = std::min(minimum, quota_of(folder, mount.unified));
    for (const fs::path& level : group) {
      folder /= level;
      minimum = std::min(minimum, quota_of(folder, mount.unified));
    }
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
