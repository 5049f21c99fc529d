#include "providers/namespace/file_copies.hpp"

#include "os/files.hpp"
#include "os/random.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace corral::jail {

namespace {

namespace fs = std::filesystem;

fs::path temporary_for(const fs::path& to) {
  return to.parent_path() / (".new." + random_hex(4));
}

os_result<void> put_in_place(const fs::path& temporary, const fs::path& to) {
  if (::rename(temporary.c_str(), to.c_str()) == 0)
    return {};
  auto failure = last_os_error("rename", to.native());
  ::unlink(temporary.c_str());
  return failure;
}

/// Makes the file and lets `fill` write it.
template <class Fill>
os_result<void> replace(const fs::path& to, mode_t mode, Fill fill) {
  auto temporary = temporary_for(to);
  unique_fd out{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (!out)
    return last_os_error("create", temporary.native());
  os_result<void> filled = fill(out);
  if (filled && ::fchmod(out.get(), mode) != 0)
    filled = last_os_error("chmod", temporary.native());
  if (!filled) {
    ::unlink(temporary.c_str());
    return filled;
  }
  return put_in_place(temporary, to);
}

os_result<void> copy_link(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  auto target = fs::read_symlink(from, failure);
  if (failure)
    return os_failure(failure.value(), "read link", from.native());
  std::error_code ignored;
  if (fs::read_symlink(to, ignored) == target)
    return {};
  auto temporary = temporary_for(to);
  if (::symlink(target.c_str(), temporary.c_str()) != 0)
    return last_os_error("make link", temporary.native());
  return put_in_place(temporary, to);
}

} // namespace

os_result<void> copy_file(const fs::path& from, const fs::path& to, mode_t mode) {
  unique_fd in{::open(from.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!in)
    return last_os_error("open", from.native());
  return replace(to, mode, [&](const unique_fd& out) -> os_result<void> {
    for (;;) {
      auto n = ::sendfile(out.get(), in.get(), nullptr, 1 << 20);
      if (n == 0)
        return {};
      if (n < 0 && errno != EINTR)
        return last_os_error("copy", from.native());
    }
  });
}

os_result<void> put_file(const fs::path& to, std::string_view content, mode_t mode) {
  return replace(to, mode, [&](const unique_fd& out) { return write_all(out, content); });
}

os_result<void> copy_public(const fs::path& from, const fs::path& to) {
  // Two thirds of Debian's alternatives lead to manual pages.
  if (from.native().ends_with(".gz"))
    return {};
  struct stat s {};
  if (::lstat(from.c_str(), &s) != 0)
    return errno == ENOENT ? os_result<void>{} : last_os_error("stat", from.native());
  if (S_ISLNK(s.st_mode))
    return copy_link(from, to);
  if (S_ISREG(s.st_mode) && (s.st_mode & 0004))
    return copy_file(from, to, s.st_mode & 0755);
  if (!S_ISDIR(s.st_mode) || (s.st_mode & 0005) != 0005)
    return {};
  auto result = make_directory(to, 0755);
  std::error_code failure;
  for (fs::directory_iterator i{from, failure}, end; result && i != end; i.increment(failure))
    result = copy_public(i->path(), to / i->path().filename());
  return failure ? os_failure(failure.value(), "read directory", from.native()) : result;
}

} // namespace corral::jail
