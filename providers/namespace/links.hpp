#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace corral::jail {

/// A guest's way to the daemon.
struct guest_link {
  unique_fd listener;
  unique_fd directory; ///< O_PATH; mounted read-only in this sandbox and in no other.
};

/// The directories `<run_dir>/links/<id>` with one socket each.
class link_dirs {
public:
  static os_result<link_dirs> open(const std::filesystem::path& run_dir);

  /// Makes the directory (0755) and listens in it; the socket (0600) is `uid`'s.
  os_result<guest_link> make(const std::string& id, uid_t uid) const;

  /// Gone already is success.
  os_result<void> remove(const std::string& id) const;

  std::vector<std::string> ids() const;

private:
  explicit link_dirs(std::filesystem::path top) : top_{std::move(top)} {}

  std::filesystem::path top_;
};

} // namespace corral::jail
