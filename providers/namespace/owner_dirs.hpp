// Where owners' files are:
//
//   data_dir/users/<user>/threads/<thread>/user-data/{workspace,uploads,outputs}, .../acp-workspace
//   data_dir/anonymous/<instance>.<id>/...                       the same, for a sandbox without
//   owner data_dir/trash/                                              what is being removed
//
// As root, `user-data` belongs to the owner's uid, and that is the only place where it is recorded.

#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"
#include "providers/contract.hpp"
#include "providers/namespace/settings.hpp"
#include "providers/namespace/uid_pool.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace corral::jail {

/// An owner's directories, open as O_PATH.
struct owner_tree {
  uid_t uid = 0; ///< Also its gid.
  unique_fd workspace;
  unique_fd uploads;
  unique_fd outputs;
  unique_fd acp_workspace;
};

class owner_dirs {
public:
  /// Makes `data_dir` and what is directly in it. `instance` tells the anonymous directories of
  /// daemons that share it apart.
  static os_result<owner_dirs> open(const namespace_settings& settings, std::string instance);

  /// Opens the directories of a sandbox, made first where they are missing. EOWNERDEAD if they
  /// belong to a uid that no owner can have.
  os_result<owner_tree> prepare(const sandbox_spec& spec) const;

  /// Removes all of a sandbox's files; success if there are none. ETIMEDOUT if they are out of
  /// everyone's reach but not all removed after `limit`: the next purge goes on with them.
  os_result<void> purge(const sandbox_spec& spec, std::chrono::milliseconds limit) const;

  /// The ids of anonymous sandboxes of ours that have files.
  std::vector<std::string> anonymous_ids() const;

  /// Things to tell the operator at start.
  const std::vector<std::string>& warnings() const { return warnings_; }

private:
  owner_dirs() = default;

  std::vector<std::string> place_of(const sandbox_spec& spec) const;
  os_result<unique_fd> enter(const std::vector<std::string>& place) const;
  os_result<uid_t> claim(const unique_fd& user_data) const;
  os_result<unique_fd> leaf(const unique_fd& parent, const std::string& name, uid_t uid) const;
  os_result<void> give_to(const unique_fd& directory, uid_t uid) const;

  unique_fd root_;
  unique_fd trash_;
  std::string instance_;
  bool as_root_ = false;
  gid_t data_gid_ = 0;
  std::unique_ptr<uid_pool> uids_;
  std::vector<std::string> warnings_;
};

} // namespace corral::jail
