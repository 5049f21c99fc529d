// Where cgroups can be made on this machine: version 1, version 2, or a mix of both.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace corral::jail {

/// A mounted hierarchy, as the kernel describes it.
struct cgroup_hierarchy {
  int version = 1;
  std::vector<std::string> controllers; ///< Version 1: of the mount; version 2: unknown here.
  std::filesystem::path mount;
  std::filesystem::path own; ///< The directory of our own cgroup.
};

/// Reads /proc/self/mountinfo and /proc/self/cgroup. Hierarchies we aren't in, and ones of which
/// only a part is mounted that doesn't hold our cgroup, are left out.
std::vector<cgroup_hierarchy> parse_hierarchies(std::string_view mountinfo,
                                                std::string_view self_cgroup);

/// A controller that works, and the directory in which a sandbox's cgroup is made for it.
struct cgroup_root {
  std::string controller; ///< "memory", "pids" or "cpu".
  int version = 1;
  std::filesystem::path parent;
};

/// Makes a cgroup `name` to hold those of sandboxes where each controller allows it: in version 1
/// at the top, else in our own cgroup; in version 2 in our own if we are alone there (a service
/// with Delegate=yes; we then move to its child "daemon"), else at the top.
std::vector<cgroup_root> find_cgroup_roots(const std::vector<cgroup_hierarchy>& hierarchies,
                                           const std::string& name);

} // namespace corral::jail
