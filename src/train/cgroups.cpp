#include "train/cgroups.hpp"

#include <fstream>
#include <sstream>
#include <string>

namespace widthwise::internal {
namespace {

namespace fs = std::filesystem;

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

/// Hierarchies that can hold the limits of a controller. A line of mountinfo: id parent device ROOT POINT options
/// [tags...] - TYPE source OPTIONS.
std::vector<Mount> mounts_in(const fs::path& mountinfo, std::string_view controller) {
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
    if (type == "cgroup2" || (type == "cgroup" && has_word(options, controller))) {
      mounts.push_back({type == "cgroup2", unescaped(root), unescaped(point)});
    }
  }
  return mounts;
}

/// The cgroup of this process in a hierarchy. A line of /proc/self/cgroup: number:CONTROLLERS:PATH, without controllers
/// for version 2.
std::string group_in(const fs::path& file, bool unified, std::string_view controller) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : has_word(controllers, controller)) return line.substr(second + 1);
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

}  // namespace

std::vector<Cgroup> cgroups_of_process(const fs::path& root, std::string_view controller) {
  std::vector<Cgroup> found;
  for (const Mount& mount : mounts_in(root / "proc/self/mountinfo", controller)) {
    fs::path folder = root / fs::path(mount.point).relative_path();
    found.push_back({folder, mount.unified});
    for (const fs::path& level :
         below_mount(group_in(root / "proc/self/cgroup", mount.unified, controller), mount.root)) {
      folder /= level;
      found.push_back({folder, mount.unified});
    }
  }
  return found;
}

}  // namespace widthwise::internal
