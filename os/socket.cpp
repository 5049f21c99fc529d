#include "os/socket.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace corral {

namespace {

os_result<sockaddr_un> address_of(const std::filesystem::path& path) {
  sockaddr_un result{};
  result.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof result.sun_path)
    return os_failure(ENAMETOOLONG, "use socket path", path.native());
  std::memcpy(result.sun_path, path.c_str(), path.native().size() + 1);
  return result;
}

bool holds_socket(const std::filesystem::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

} // namespace

os_result<unique_fd> listen_unix(const std::filesystem::path& path, mode_t mode, uid_t uid,
                                 gid_t gid) {
  auto address = address_of(path);
  if (!address)
    return tl::unexpected{address.error()};
  unique_fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd)
    return last_os_error("create socket");
  if (holds_socket(path))
    ::unlink(path.c_str());
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&*address), sizeof *address) != 0)
    return last_os_error("bind", path.native());
  if ((uid != static_cast<uid_t>(-1) || gid != static_cast<gid_t>(-1))
      && ::lchown(path.c_str(), uid, gid) != 0)
    return last_os_error("chown", path.native());
  if (::chmod(path.c_str(), mode) != 0)
    return last_os_error("chmod", path.native());
  if (::listen(fd.get(), 16) != 0)
    return last_os_error("listen", path.native());
  return fd;
}

os_result<unique_fd> connect_unix(const std::filesystem::path& path) {
  auto address = address_of(path);
  if (!address)
    return tl::unexpected{address.error()};
  unique_fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!fd)
    return last_os_error("create socket");
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&*address), sizeof *address) != 0)
    return last_os_error("connect", path.native());
  return fd;
}

os_result<std::pair<unique_fd, unique_fd>> socket_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return last_os_error("create socket pair");
  return std::pair{unique_fd{fds[0]}, unique_fd{fds[1]}};
}

os_result<peer_credentials> peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return last_os_error("read peer credentials");
  return peer_credentials{credentials.pid, credentials.uid, credentials.gid};
}

} // namespace corral
