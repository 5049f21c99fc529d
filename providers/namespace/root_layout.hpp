// What a sandbox's root file system is made of.

#pragma once

#include "os/error.hpp"
#include "providers/namespace/settings.hpp"

#include <string>
#include <vector>

namespace corral::jail {

/// An entry of the sandbox's root directory.
struct root_entry {
  std::string name;             ///< Such as "usr".
  std::filesystem::path source; ///< Bound read-only; empty for a link.
  std::string link;             ///< Where a link leads, as written in it.
};

struct root_layout {
  std::vector<root_entry> entries;
  std::string shell;         ///< The bash that the guest runs, as the sandbox sees it.
  bool own_resolver = false; ///< /etc/resolv.conf is a file that the host's can be bound over.
};

/// The host's programs and libraries, with an /etc made for sandboxes in `etc`: what compilers,
/// interpreters and git read, an account for the agent instead of the host's, and no secrets.
os_result<root_layout> host_layout(const std::filesystem::path& etc);

/// A root file system in a directory: whatever it has at its top, but for the places where the
/// sandbox has its own.
os_result<root_layout> directory_layout(const std::filesystem::path& rootfs);

} // namespace corral::jail
