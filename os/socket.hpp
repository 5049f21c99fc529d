#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"

#include <sys/types.h>

#include <filesystem>
#include <utility>

namespace corral {

/// Listens on a stream socket at `path`, replacing a stale one, with the given mode and owner
/// (-1: unchanged). The path must be under 108 bytes (ENAMETOOLONG); anything there that is not a
/// socket stays (EADDRINUSE).
os_result<unique_fd> listen_unix(const std::filesystem::path& path, mode_t mode, uid_t uid = -1,
                                 gid_t gid = -1);

/// Connects to the stream socket at `path`. ECONNREFUSED or ENOENT if nobody listens.
os_result<unique_fd> connect_unix(const std::filesystem::path& path);

/// Two connected stream sockets.
os_result<std::pair<unique_fd, unique_fd>> socket_pair();

struct peer_credentials {
  pid_t pid; ///< As seen from our pid namespace; 0 if the peer is not visible here.
  uid_t uid;
  gid_t gid;
};

/// Who connected, as the kernel recorded it at connect time. `fd` stays the caller's.
os_result<peer_credentials> peer_of(int fd);

} // namespace corral
