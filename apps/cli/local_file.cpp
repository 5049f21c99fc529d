#include "apps/cli/local_file.hpp"

#include "os/files.hpp"
#include "os/random.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>

namespace corral::cli {

namespace {

tl::unexpected<cli_error> os_failed(std::string_view operation, const std::string& object) {
  return tl::unexpected{cli_error::from_os(last_os_error(operation, object).value())};
}

std::string directory_of(const std::string& path) {
  auto parent = std::filesystem::path{path}.parent_path().native();
  return parent.empty() ? "." : parent;
}

std::string temporary_beside(const std::string& path) {
  return directory_of(path) + "/.corral-" + random_hex(8);
}

/// Where `path` leads to at last.
std::string follow_links(const std::string& path) {
  std::error_code failed;
  auto target = std::filesystem::canonical(path, failed);
  return failed ? path : target.native();
}

} // namespace

cli_result<local_file> local_file::create(const std::string& given) {
  auto path = follow_links(given);
  std::optional<struct stat> old{std::in_place};
  if (::stat(path.c_str(), &*old) != 0)
    old.reset();
  if (old && !S_ISREG(old->st_mode)) {
    local_file x{unique_fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC)}, path};
    x.direct_ = true;
    if (!x.fd_)
      return os_failed("open", given);
    return x;
  }
  local_file x{
      unique_fd{::open(directory_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666)}, path};
  if (!x.fd_
      && (errno == EOPNOTSUPP || errno == EISDIR)) { // The file system has no nameless files.
    x.temporary_ = temporary_beside(path);
    x.fd_.reset(::open(x.temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
  }
  if (!x.fd_) {
    auto why = os_failed("make a file in", directory_of(given));
    x.temporary_.clear();
    return why;
  }
  if (old)
    (void)::fchmod(x.fd_.get(), old->st_mode & 0777);
  return x;
}

local_file::local_file(local_file&& other) noexcept
    : fd_{std::move(other.fd_)}, path_{std::move(other.path_)},
      temporary_{std::exchange(other.temporary_, {})}, direct_{other.direct_} {}

local_file::~local_file() {
  if (!temporary_.empty())
    ::unlink(temporary_.c_str());
}

cli_result<void> local_file::write(std::string_view bytes) {
  if (auto written = write_all(fd_, bytes); !written) {
    auto why = cli_error::from_os(written.error());
    why.message += " (" + path_ + ")";
    return tl::unexpected{why};
  }
  return {};
}

cli_result<void> local_file::give_temporary_name() {
  if (!temporary_.empty())
    return {};
  auto name = temporary_beside(path_);
  auto self = "/proc/self/fd/" + std::to_string(fd_.get());
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return os_failed("make a file in", directory_of(path_));
  temporary_ = name;
  return {};
}

cli_result<void> local_file::commit() {
  if (direct_)
    return {};
  if (auto named = give_temporary_name(); !named)
    return named;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return os_failed("replace", path_);
  temporary_.clear();
  return {};
}

} // namespace corral::cli
