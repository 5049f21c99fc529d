#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"
#include "providers/namespace/cgroup_roots.hpp"
#include "providers/namespace/settings.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace corral::jail {

/// What the memory controller counted for one sandbox, in bytes but for `kills`.
struct memory_counters {
  uint64_t kills = 0; ///< Processes ended by the out-of-memory killer.
  uint64_t limit = 0;
  uint64_t peak = 0;
};

/// The cgroups of all sandboxes of one daemon: one per sandbox in each hierarchy that is of use.
class cgroup_tree {
public:
  /// Names are `<instance>.<id>`, so that daemons on one machine leave each other's alone.
  cgroup_tree(std::vector<cgroup_root> roots, std::string instance,
              const namespace_settings::limit_set& limits);

  /// Makes a sandbox's cgroups with their limits. A process joins one by writing "0" to its
  /// descriptor. Undoes itself on failure.
  os_result<std::vector<unique_fd>> make(const std::string& id) const;

  /// Kills every process in a sandbox's cgroups and removes them; success if there are none. EBUSY
  /// if something outlives `limit`.
  os_result<void> remove(const std::string& id, std::chrono::milliseconds limit) const;

  /// The ids that have a cgroup of ours.
  std::vector<std::string> ids() const;

  /// Nothing where the memory controller isn't in use.
  std::optional<memory_counters> memory_events(const std::string& id) const;

  /// Limits that were asked for and aren't enforced, a line each.
  std::vector<std::string> warnings() const;

  /// The name of a sandbox's cgroups.
  std::string name_of(const std::string& id) const { return instance_ + "." + id; }

  /// True if every process of a sandbox is in a cgroup.
  bool tracks() const { return !parents().empty(); }

private:
  std::vector<std::filesystem::path> parents() const;
  const char* join_file(const std::filesystem::path& parent) const;
  const cgroup_root* find(std::string_view controller) const;
  os_result<void> set_limits(const std::string& name) const;

  std::vector<cgroup_root> roots_;
  std::string instance_;
  namespace_settings::limit_set limits_;
};

} // namespace corral::jail
