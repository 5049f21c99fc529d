#include "guest/files/open_beneath.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <cerrno>

namespace corral::guest {

namespace {

long file_system_of(const unique_fd& fd) {
  struct statfs x {};
  return ::fstatfs(fd.get(), &x) == 0 ? static_cast<long>(x.f_type) : 0;
}

} // namespace

os_result<unique_fd> open_beneath(const unique_fd& root, const std::string& path, int flags,
                                  mode_t mode) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
  if (!(flags & O_PATH))
    how.flags |= O_NONBLOCK | O_NOCTTY;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0; attempt < 8; ++attempt) {
    unique_fd fd{
        static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how))};
    if (fd)
      return fd;
    auto changed = errno == ELOOP || (errno == ENOTDIR && (flags & O_DIRECTORY));
    if (errno != EINTR && errno != EAGAIN)
      return os_failure(changed ? EAGAIN : errno, "openat2", path);
  }
  return os_failure(EAGAIN, "openat2", path);
}

os_result<unique_fd> open_root(const std::string& path) {
  unique_fd fd{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!fd)
    return last_os_error("open", path);
  return fd;
}

os_result<struct stat> stat_of(const unique_fd& fd) {
  struct stat x {};
  if (::fstat(fd.get(), &x) != 0)
    return last_os_error("fstat");
  return x;
}

bool is_on_procfs(const unique_fd& fd) {
  return file_system_of(fd) == PROC_SUPER_MAGIC;
}

bool is_on_kernel_fs(const unique_fd& fd) {
  auto type = file_system_of(fd);
  return type == PROC_SUPER_MAGIC || type == SYSFS_MAGIC;
}

} // namespace corral::guest
