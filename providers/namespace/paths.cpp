#include "providers/namespace/paths.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace corral::jail {

namespace {

os_result<unique_fd> open_at(int base, const std::string& path, uint64_t flags, uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  for (;;) {
    unique_fd fd{static_cast<int>(::syscall(SYS_openat2, base, path.c_str(), &how, sizeof how))};
    if (fd)
      return fd;
    // EAGAIN: a rename ran beside the lookup, so the kernel could not vouch for it.
    if (errno != EINTR && errno != EAGAIN)
      return last_os_error("open", path);
  }
}

bool is_below(std::string_view path, std::string_view top) {
  return path.size() > top.size() && path.substr(0, top.size()) == top && path[top.size()] == '/';
}

// Whole trees that the sandbox is made of.
constexpr std::string_view taken[] = {
    "/bin",   "/dev",    "/etc",           "/home/agent", "/lib",  "/lib32",
    "/lib64", "/libx32", "/proc",          "/run",        "/sbin", "/sys",
    "/tmp",   "/usr",    "/mnt/user-data", "/mnt/skills", "/var",  "/mnt/acp-workspace"};

} // namespace

os_result<unique_fd> open_source(const std::filesystem::path& path) {
  return open_at(AT_FDCWD, path.native(), O_PATH, RESOLVE_NO_SYMLINKS);
}

os_result<unique_fd> open_beneath(const unique_fd& base, const std::string& relative) {
  return open_at(base.get(), relative, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

os_result<unique_fd> reopen_directory(const unique_fd& fd) {
  return open_at(fd.get(), ".", O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

std::string self_fd_path(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

bool is_reserved(std::string_view target, std::string& why) {
  auto normal = std::filesystem::path{target}.lexically_normal().native();
  if (target.size() < 2 || target[0] != '/' || normal != target || target.back() == '/'
      || target.find('\0') != target.npos) {
    why = "it must be an absolute path without '.', '..', '//' or a final '/'";
    return true;
  }
  for (auto top : taken)
    if (target == top || is_below(target, top) || is_below(top, target)) {
      why = "the sandbox itself uses " + std::string{top};
      return true;
    }
  return false;
}

} // namespace corral::jail
