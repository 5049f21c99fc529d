#include "os/range_lock.hpp"

#include <fcntl.h>

#include <cerrno>

namespace corral {

namespace {

struct flock byte_at(uint64_t offset) {
  struct flock x {};
  x.l_type = F_WRLCK;
  x.l_whence = SEEK_SET;
  x.l_start = static_cast<off_t>(offset & ~(uint64_t{1} << 63));
  x.l_len = 1;
  return x;
}

os_result<unique_fd> open_file(const std::filesystem::path& path) {
  unique_fd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!fd)
    return last_os_error("open lock file", path.native());
  return fd;
}

} // namespace

os_result<range_lock> range_lock::try_acquire(const std::filesystem::path& path, uint64_t offset) {
  auto fd = open_file(path);
  if (!fd)
    return tl::unexpected{fd.error()};
  auto byte = byte_at(offset);
  while (::fcntl(fd->get(), F_OFD_SETLK, &byte) != 0) {
    if (errno == EACCES)
      errno = EWOULDBLOCK;
    if (errno != EINTR)
      return last_os_error("lock", path.native());
  }
  return range_lock{std::move(*fd)};
}

bool range_lock::is_held(const std::filesystem::path& path, uint64_t offset) {
  auto fd = open_file(path);
  auto byte = byte_at(offset);
  // What can't be asked counts as held: a living holder must not be taken for a dead one.
  return !fd || ::fcntl(fd->get(), F_OFD_GETLK, &byte) != 0 || byte.l_type != F_UNLCK;
}

} // namespace corral
