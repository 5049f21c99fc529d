#include "os/file_lock.hpp"

#include "os/files.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace corral {

namespace {

os_result<unique_fd> open_and_lock(const std::filesystem::path& path, int operation) {
  unique_fd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!fd)
    return last_os_error("open lock file", path.native());
  while (::flock(fd.get(), operation) != 0)
    if (errno != EINTR)
      return last_os_error("lock", path.native());
  // What an earlier holder said of itself no longer holds.
  if (::ftruncate(fd.get(), 0) != 0)
    return last_os_error("truncate lock file", path.native());
  return fd;
}

} // namespace

os_result<file_lock> file_lock::try_acquire(const std::filesystem::path& path) {
  return open_and_lock(path, LOCK_EX | LOCK_NB).map([](unique_fd&& fd) {
    return file_lock{std::move(fd)};
  });
}

os_result<file_lock> file_lock::acquire(const std::filesystem::path& path) {
  return open_and_lock(path, LOCK_EX).map([](unique_fd&& fd) { return file_lock{std::move(fd)}; });
}

std::string file_lock::holder_of(const std::filesystem::path& path) {
  auto text = read_small_file(path, 4096).value_or("");
  return text.substr(0, text.find('\n'));
}

os_result<void> file_lock::describe(std::string_view line) {
  if (::ftruncate(fd_.get(), 0) != 0)
    return last_os_error("truncate lock file");
  std::string text{line};
  text += '\n';
  if (::pwrite(fd_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return last_os_error("write lock file");
  return {};
}

} // namespace corral
