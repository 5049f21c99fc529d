#include "os/files.hpp"

#include "os/random.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstdio>

namespace corral {

os_result<std::string> read_small_file(const std::filesystem::path& path, size_t limit) {
  unique_fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd)
    return last_os_error("open", path.native());
  std::string result;
  char chunk[4096];
  for (;;) {
    auto n = ::read(fd.get(), chunk, sizeof chunk);
    if (n == 0)
      return result;
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return last_os_error("read", path.native());
    if (result.size() + static_cast<size_t>(n) > limit)
      return os_failure(EFBIG, "read", path.native());
    result.append(chunk, static_cast<size_t>(n));
  }
}

namespace {

os_result<void> replace(const std::filesystem::path& path, std::string_view content, mode_t mode,
                        bool synced) {
  auto temporary = path;
  temporary += "." + random_hex(8) + ".new";
  unique_fd fd{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)};
  if (!fd)
    return last_os_error("create", temporary.native());
  auto result = write_all(fd, content);
  if (result && synced && ::fsync(fd.get()) != 0)
    result = last_os_error("sync", temporary.native());
  if (result && ::rename(temporary.c_str(), path.c_str()) != 0)
    result = last_os_error("rename", path.native());
  if (!result)
    ::unlink(temporary.c_str());
  return result;
}

} // namespace

os_result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content,
                                      mode_t mode) {
  return replace(path, content, mode, true);
}

os_result<void> replace_file(const std::filesystem::path& path, std::string_view content,
                             mode_t mode) {
  return replace(path, content, mode, false);
}

os_result<void> write_knob(const std::filesystem::path& path, std::string_view content) {
  unique_fd fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (!fd)
    return last_os_error("open", path.native());
  if (::write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    return last_os_error("write", path.native());
  return {};
}

os_result<void> write_all(const unique_fd& fd, std::string_view data) {
  while (!data.empty()) {
    auto n = ::write(fd.get(), data.data(), data.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return last_os_error("write");
    data.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

os_result<void> make_directory(const std::filesystem::path& path, mode_t mode, uid_t uid,
                               gid_t gid) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
    return last_os_error("mkdir", path.native());
  unique_fd fd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!fd)
    return last_os_error("open", path.native());
  if ((uid != static_cast<uid_t>(-1) || gid != static_cast<gid_t>(-1))
      && ::fchown(fd.get(), uid, gid) != 0)
    return last_os_error("chown", path.native());
  // After the owner, because changing that clears the set-id bits.
  if (::fchmod(fd.get(), mode) != 0)
    return last_os_error("chmod", path.native());
  return {};
}

std::optional<file_identity> file_identity::of(const unique_fd& fd) {
  struct stat x {};
  return ::fstat(fd.get(), &x) == 0 ? std::optional{file_identity{x.st_dev, x.st_ino}}
                                    : std::nullopt;
}

std::optional<file_identity> file_identity::of(const std::string& path) {
  struct stat x {};
  return ::lstat(path.c_str(), &x) == 0 ? std::optional{file_identity{x.st_dev, x.st_ino}}
                                        : std::nullopt;
}

os_result<uint64_t> process_start_time(pid_t pid) {
  auto path = "/proc/" + std::to_string(pid) + "/stat";
  auto text = read_small_file(path);
  if (!text)
    return os_failure(ESRCH, "find process", std::to_string(pid));
  // The name in brackets may hold anything, so fields count from the last bracket: the start time
  // is field 22 of proc(5) and the state after the bracket is field 3.
  auto at = text->rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field)
    at = text->find(' ', at + 1);
  uint64_t ticks = 0;
  if (at == std::string::npos
      || std::from_chars(text->data() + at + 1, text->data() + text->size(), ticks).ec
             != std::errc{})
    return os_failure(EINVAL, "parse", path);
  return ticks;
}

} // namespace corral
