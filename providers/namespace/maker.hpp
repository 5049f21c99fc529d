#pragma once

#include "os/child_process.hpp"
#include "providers/contract.hpp"
#include "providers/namespace/bwrap_command.hpp"
#include "providers/namespace/cgroup.hpp"
#include "providers/namespace/launcher.hpp"
#include "providers/namespace/links.hpp"
#include "providers/namespace/owner_dirs.hpp"
#include "providers/namespace/record_store.hpp"
#include "providers/namespace/seccomp_filter.hpp"
#include "providers/namespace/settings.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace corral::jail {

/// The program that becomes a sandbox's init, and what else it is given.
struct payload {
  const unique_fd* programs = nullptr; ///< The directory shown at /run/guest.
  /// Its command line, given the numbers of the secret's pipe and of the uploads directory.
  std::function<std::vector<std::string>(int secret, int uploads)> command;
  const unique_fd* input = nullptr;  ///< Its descriptor 0; null: /dev/null.
  const unique_fd* output = nullptr; ///< Its descriptor 1.
  bool dials = true;                 ///< Made only once it has dialled.
};

/// A failure: what a client may be told, and what the operator should see.
struct trouble {
  error told;
  std::string cause; ///< May hold host paths.
};

template <class T>
using attempt = tl::expected<T, trouble>;

/// A running sandbox.
struct made_sandbox {
  sandbox_record record;
  child_process outer;
  unique_fd listener;
};

/// A sandbox that an earlier run made.
struct adopted_sandbox {
  sandbox_record record;
  unique_fd listener;
  bool stale = false; ///< Made with other settings.
};

/// Makes and unmakes sandboxes, out of the facilities in this directory. Keeps nothing in memory
/// about a sandbox: whatever is needed to unmake one is on record. Safe to use from several threads
/// as long as no two work on one id.
class sandbox_maker {
public:
  /// Prepares directories, programs and filter and checks the settings. Errors are for the
  /// operator.
  static result<std::unique_ptr<sandbox_maker>> open(namespace_settings settings);

  /// Makes a sandbox; undoes everything on failure. `identity_collision` if its id is another
  /// owner's; a leftover of the same owner is unmade first.
  attempt<made_sandbox> make(const sandbox_spec& spec, const payload& program) const;

  /// Listens anew for the guest of a sandbox that an earlier run made.
  attempt<adopted_sandbox> adopt(const std::string& id) const;

  /// Ends a sandbox with all its processes and removes its traces; its files too if `purge` or
  /// anonymous. `ours` is the bwrap that we started, if we did.
  attempt<void> unmake(const std::string& id, bool purge, child_process* ours) const;

  /// Ends the processes that a record of another, dead daemon names, and removes the record.
  attempt<void> end_left(const std::filesystem::path& state_dir, const std::string& id) const;

  /// The ids that have left anything, without those of other pools.
  std::vector<std::string> ids() const;

  /// What runs the guest in a new sandbox.
  payload guest(const std::string& id) const;

  std::vector<std::string> warnings() const;
  const namespace_settings& settings() const { return settings_; }
  const record_store& records() const { return records_; }
  const cgroup_tree& cgroups() const { return cgroups_; }
  const owner_dirs& dirs() const { return dirs_; }
  const unique_fd& probe_programs() const { return probe_programs_; }

private:
  sandbox_maker(namespace_settings settings, cgroup_tree cgroups, record_store records,
                owner_dirs dirs, link_dirs links, seccomp_filter filter, root_layout layout);

  bool is_ours(const sandbox_record& record) const;
  attempt<std::optional<sandbox_record>> refuse_collision(const sandbox_spec& spec) const;
  attempt<made_sandbox> assemble(const sandbox_spec& spec, const payload& program) const;
  attempt<launch_plan> plan(const owner_tree& tree, const guest_link& link, const payload& program,
                            const unique_fd& secret) const;
  attempt<void> add_sources(launch_plan& plan, bwrap_descriptors& fds) const;
  attempt<void> start(launcher& starting, sandbox_record& record, const guest_link& link,
                      const payload& program) const;

  namespace_settings settings_;
  cgroup_tree cgroups_;
  record_store records_;
  owner_dirs dirs_;
  link_dirs links_;
  seccomp_filter filter_;
  root_layout layout_;
  unique_fd guest_programs_;
  unique_fd probe_programs_;
  std::string digest_;
};

} // namespace corral::jail
