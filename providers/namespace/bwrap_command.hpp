#pragma once

#include "providers/namespace/root_layout.hpp"
#include "providers/namespace/settings.hpp"

#include <string>
#include <vector>

namespace corral::jail {

/// The descriptors that bwrap consumes, as numbered in its process; -1: not there.
struct bwrap_descriptors {
  int programs = -1; ///< Shown at /run/guest.
  int link = -1;     ///< The directory of the guest's socket, at /run/host.
  int workspace = -1;
  int uploads = -1;
  int outputs = -1;
  int acp_workspace = -1;
  int skills = -1;
  int resolver = -1;       ///< The host's resolv.conf.
  std::vector<int> mounts; ///< As many as settings.mounts.
  int seccomp = -1;
  int status = -1; ///< bwrap writes the pid of the sandbox's init to it.
};

/// The options of bwrap, without the program and its arguments. Depends on nothing but its
/// arguments.
std::vector<std::string> bwrap_options(const namespace_settings& settings,
                                       const root_layout& layout, const bwrap_descriptors& fds);

/// The guest's command line in the sandbox. `secret` and `uploads` are descriptors it inherits.
std::vector<std::string> guest_command(const namespace_settings& settings,
                                       const root_layout& layout, const std::string& id, int secret,
                                       int uploads);

/// Where the agent's data is seen in every sandbox.
inline constexpr auto workspace_path = "/mnt/user-data/workspace";

} // namespace corral::jail
