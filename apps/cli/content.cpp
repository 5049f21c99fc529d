#include "apps/cli/content.hpp"

#include "os/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

namespace corral::cli {

namespace {

constexpr size_t copy_bytes = 256 * 1024;

tl::unexpected<cli_error> os_failed(std::string_view operation, std::string_view object) {
  return tl::unexpected{cli_error::from_os(last_os_error(operation, object).value())};
}

cli_result<void> check_size(uint64_t size, uint64_t limit) {
  if (size > limit)
    return failed("file_too_large", "the content is larger than the daemon's limit of "
                                        + std::to_string(limit)
                                        + " bytes (transfer_max_bytes in its configuration)");
  return {};
}

cli_result<unique_fd> nameless_file() {
  auto parent = std::getenv("TMPDIR");
  std::string path = parent != nullptr && *parent != '\0' ? parent : "/tmp";
  unique_fd fd{::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  if (!fd)
    return os_failed("make a temporary file in", path);
  return fd;
}

/// Copies until the end, at most `limit` bytes; how many it were.
cli_result<uint64_t> collect(const unique_fd& from, const unique_fd& to, uint64_t limit) {
  std::vector<char> buffer(copy_bytes);
  for (uint64_t total = 0;;) {
    auto n = ::read(from.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return os_failed("read", "the content");
    if (n == 0)
      return total;
    total += static_cast<uint64_t>(n);
    if (auto fits = check_size(total, limit); !fits)
      return tl::unexpected{fits.error()};
    if (auto ok = write_all(to, {buffer.data(), static_cast<size_t>(n)}); !ok)
      return tl::unexpected{cli_error::from_os(ok.error())};
  }
}

} // namespace

cli_result<content> content::open(const std::string& path, uint64_t limit) {
  auto name = path.empty() ? std::string{"stdin"} : path;
  unique_fd fd{path.empty() ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat s {};
  if (!fd || ::fstat(fd.get(), &s) != 0)
    return os_failed("open", name);
  if (S_ISDIR(s.st_mode))
    return tl::unexpected{cli_error::from_os(os_failure(EISDIR, "read", name).value())};
  auto start = ::lseek(fd.get(), 0, SEEK_CUR);
  if (S_ISREG(s.st_mode) && start >= 0) {
    auto size = static_cast<uint64_t>(std::max<off_t>(s.st_size - start, 0));
    if (auto fits = check_size(size, limit); !fits)
      return tl::unexpected{fits.error()};
    return content{std::move(fd), static_cast<uint64_t>(start), size};
  }
  auto copy = nameless_file();
  if (!copy)
    return tl::unexpected{copy.error()};
  auto size = collect(fd, *copy, limit);
  if (!size)
    return tl::unexpected{size.error()};
  return content{std::move(*copy), 0, *size};
}

cli_result<blob> content::read(uint64_t offset, uint64_t count) const {
  std::string bytes(std::min(count, size_ - std::min(offset, size_)), '\0');
  for (size_t done = 0; done < bytes.size();) {
    auto n = ::pread(fd_.get(), bytes.data() + done, bytes.size() - done,
                     static_cast<off_t>(start_ + offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return os_failed("read", "the content");
    if (n == 0)
      return failed("input_output", "the file became shorter while it was being sent");
    done += static_cast<size_t>(n);
  }
  return blob::take(std::move(bytes));
}

} // namespace corral::cli
