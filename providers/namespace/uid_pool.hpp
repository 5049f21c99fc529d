#pragma once

#include "os/error.hpp"

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <set>

namespace corral::jail {

/// Gives each new owner a uid of its own. What is taken is read off the owners' directories; a file
/// keeps a run of uids known to be free, so that this is done once a start and once a run.
class uid_pool {
public:
  /// `file` is shared by all daemons that share the directories, and `<file>.lock` too; `taken`
  /// reads the directories.
  uid_pool(std::filesystem::path file, uid_t first, uid_t last,
           std::function<std::set<uid_t>()> taken);

  /// Takes a free uid and calls `assign` with it while no other process takes one. ENOSPC if none
  /// is free.
  os_result<uid_t> take(const std::function<os_result<void>(uid_t)>& assign);

  bool contains(uid_t uid) const { return uid >= first_ && uid <= last_; }

private:
  struct run {
    uid_t next = 1;
    uid_t last = 0; ///< Empty if below `next`.
  };

  run read_run() const;
  run find_run() const;

  std::filesystem::path file_;
  uid_t first_;
  uid_t last_;
  std::function<std::set<uid_t>()> taken_;
  bool verified_ = false; ///< Guarded by the lock.
};

} // namespace corral::jail
