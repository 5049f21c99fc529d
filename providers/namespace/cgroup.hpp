#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"
#include "providers/contract.hpp"
#include "providers/namespace/cgroup_roots.hpp"
#include "providers/namespace/settings.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace corral::jail {

/// The cgroups of all sandboxes of one daemon: one per sandbox in each hierarchy that is of use.
class cgroup_tree {
public:
  /// The parents in `roots` are this daemon's alone.
  cgroup_tree(std::vector<cgroup_root> roots, const namespace_settings::limit_set& limits);

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

  /// True if a process is in all of a sandbox's cgroups, going by its /proc/<pid>/cgroup.
  bool holds(const std::string& id, std::string_view proc_cgroup) const;

  /// Removes the parents too, unless something is left in them.
  void remove_parents() const;

private:
  std::vector<std::filesystem::path> parents() const;
  const char* join_file(const std::filesystem::path& parent) const;
  const cgroup_root* find(std::string_view controller) const;
  os_result<void> set_limits(const std::string& id) const;

  std::vector<cgroup_root> roots_;
  namespace_settings::limit_set limits_;
};

} // namespace corral::jail
