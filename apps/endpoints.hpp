// Where the daemon listens, and whom it lets in.

#pragma once

#include "bridge/principals.hpp"
#include "config/config.hpp"
#include "os/file_lock.hpp"

#include <tl/expected.hpp>

#include <string>
#include <sys/types.h>
#include <vector>

namespace corral {

class loop_thread;

/// The group that may use the sockets; -1, which changes nothing, where that is the daemon's own.
gid_t ipc_group_of(const config& x);

/// Holds a file for this process; else says who does and that it is used for `what`.
tl::expected<file_lock, std::string> lock_for(const std::string& path, const std::string& what);

/// Those of the sockets, which a second bind would steal.
tl::expected<std::vector<file_lock>, std::string> lock_sockets(const config& x);

/// The principals that the configuration names.
principals principals_of(const config& x);

/// Opens the two sockets for their group, and the TCP endpoints, encrypted unless `insecure`. Says
/// which could not be opened and what to change.
tl::expected<void, std::string> open_endpoints(const config& x, loop_thread& edge);

/// Removes the sockets.
void remove_sockets(const config& x);

} // namespace corral
