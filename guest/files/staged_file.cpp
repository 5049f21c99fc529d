#include "guest/files/staged_file.hpp"

#include "guest/files/open_beneath.hpp"
#include "os/files.hpp"
#include "os/random.hpp"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace corral::guest {

namespace {

constexpr size_t copy_bytes = 64 * 1024;

/// A name that searches pass over, should a kill leave it behind.
std::string temporary_name() {
  return ".corral-" + random_hex(8) + ".tmp";
}

result<void> make_parents(const file_call& call, const place& at) {
  auto names = components_of(at.beneath);
  for (auto known = names.size() - at.missing; known + 1 < names.size(); ++known) {
    std::vector<std::string> above{names.begin(), names.begin() + static_cast<ptrdiff_t>(known)};
    auto parent = open_beneath(at.root, join_components(above), O_PATH | O_DIRECTORY);
    if (!parent)
      return call.fail(parent.error().number);
    if (::mkdirat(parent->get(), names[known].c_str(), 0777) != 0 && errno != EEXIST)
      return call.fail(errno);
  }
  return {};
}

result<void> check_regular(const file_call& call, const struct stat& x) {
  if (S_ISLNK(x.st_mode))
    return call.fail(EAGAIN);
  if (S_ISDIR(x.st_mode))
    return call.fail(EISDIR);
  return S_ISREG(x.st_mode) ? result<void>{} : call.fail(ENXIO);
}

bool is_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_out_of_space(int number) {
  return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

} // namespace

result<destination> destination::open(const file_call& call) {
  auto open = [&](place& at) -> result<destination> {
    auto names = components_of(at.beneath);
    if (names.empty())
      return call.fail(EISDIR);
    if (auto made = make_parents(call, at); !made)
      return tl::unexpected{made.error()};
    destination to;
    to.name_ = std::move(names.back());
    names.pop_back();
    auto directory = open_beneath(at.root, join_components(names), O_PATH | O_DIRECTORY);
    if (!directory)
      return call.fail(directory.error().number);
    to.directory_ = std::move(*directory);
    if (auto looked = to.look(call); !looked)
      return tl::unexpected{looked.error()};
    return to;
  };
  return call.paths.settle(call.path, purpose::change, open);
}

result<std::optional<existing_file>> destination::look(const file_call& call) const {
  auto seen = open_beneath(directory_, name_, O_PATH);
  if (!seen && seen.error().number == ENOENT)
    return std::nullopt;
  auto status = seen ? stat_of(*seen) : tl::unexpected{seen.error()};
  if (!status)
    return call.fail(status.error().number);
  if (auto checked = check_regular(call, *status); !checked)
    return tl::unexpected{checked.error()};
  auto fd = open_beneath(directory_, name_, O_WRONLY);
  if (!fd && fd.error().number == ETXTBSY)
    return existing_file{{}, *status};
  auto opened = fd ? stat_of(*fd) : tl::unexpected{fd.error()};
  if (!opened)
    return call.fail(opened.error().number);
  if (!is_same_file(*status, *opened))
    return call.fail(EAGAIN);
  return existing_file{std::move(*fd), *opened};
}

result<staged_file> staged_file::create(const file_call& call, const destination& to) {
  staged_file x{call, to};
  if (auto opened = x.open_temporary(); !opened)
    return tl::unexpected{opened.error()};
  return x;
}

result<void> staged_file::open_temporary() {
  if (call_.settings.unnamed_temporaries) {
    auto fd = open_beneath(to_.directory(), ".", O_TMPFILE | O_RDWR, 0666);
    if (fd) {
      file_ = std::move(*fd);
      return {};
    }
    auto number = fd.error().number;
    if (number != EOPNOTSUPP && number != EINVAL && number != EISDIR && number != ENOENT)
      return open_elsewhere(number);
  }
  auto name = temporary_name();
  auto fd = open_beneath(to_.directory(), name, O_RDWR | O_CREAT | O_EXCL, 0666);
  if (!fd)
    return open_elsewhere(fd.error().number);
  name_ = std::move(name);
  file_ = std::move(*fd);
  return {};
}

/// A directory that takes no new files may still hold one that can be written in place.
result<void> staged_file::open_elsewhere(int refusal) {
  if (refusal != EACCES && refusal != EPERM)
    return call_.fail(refusal);
  auto existing = to_.look(call_);
  if (!existing || !*existing)
    return existing ? call_.fail(refusal) : tl::unexpected{existing.error()};
  auto directory = open_root(call_.settings.staging_directory);
  auto fd = directory ? open_beneath(*directory, ".", O_TMPFILE | O_RDWR, 0600)
                      : tl::unexpected{directory.error()};
  if (!fd)
    return call_.fail(fd.error().number);
  file_ = std::move(*fd);
  elsewhere_ = true;
  return {};
}

staged_file::~staged_file() {
  if (!name_.empty())
    ::unlinkat(to_.directory().get(), name_.c_str(), 0);
}

result<void> staged_file::write(std::string_view bytes) {
  if (auto written = write_all(file_, bytes); !written)
    return call_.fail(written.error().number);
  size_ += bytes.size();
  return {};
}

result<void> staged_file::commit() {
  auto old = to_.look(call_);
  if (!old)
    return tl::unexpected{old.error()};
  if (!*old && !elsewhere_)
    return publish(true);
  if (!*old)
    return call_.fail(EAGAIN);
  auto& status = (*old)->status;
  auto in_place = elsewhere_ || status.st_nlink > 1 || status.st_uid != ::geteuid();
  return in_place || !adopt(status) ? overwrite(**old) : publish(false);
}

result<void> staged_file::commit_append() {
  auto old = to_.look(call_);
  if (!old)
    return tl::unexpected{old.error()};
  if (!*old)
    return commit();
  auto& target = (*old)->fd;
  if (!target)
    return call_.fail(ETXTBSY);
  ::fcntl(target.get(), F_SETFL, O_APPEND);
  auto before = (*old)->status.st_size;
  auto copied = copy_to(target);
  if (copied)
    return {};
  // Only what was added here is cut off; if others have added to it, their part can't be told
  // apart.
  auto now = stat_of(target);
  if (now && now->st_size > before && now->st_size - before <= static_cast<off_t>(size_))
    if (::ftruncate(target.get(), before) != 0)
      return call_.fail(errno);
  return copied;
}

/// False if the new file can't have the group or the mode of the old one.
bool staged_file::adopt(const struct stat& old) const {
  auto mine = stat_of(file_);
  if (!mine)
    return false;
  if (mine->st_gid != old.st_gid && ::fchown(file_.get(), static_cast<uid_t>(-1), old.st_gid) != 0)
    return false;
  if (::fchmod(file_.get(), old.st_mode & 07777) != 0)
    return false;
  // The kernel drops the set-group-id bit without a word where it may not be set.
  mine = stat_of(file_);
  return mine && mine->st_mode == old.st_mode;
}

result<void> staged_file::publish(bool is_new) {
  if (!name_.empty()) {
    auto renamed = rename_from(name_);
    if (renamed)
      name_.clear();
    return renamed;
  }
  if (is_new) {
    auto linked = link_as(to_.name());
    if (linked || linked.error().code != errc::busy)
      return linked;
  }
  auto name = temporary_name();
  if (auto linked = link_as(name); !linked)
    return linked;
  auto renamed = rename_from(name);
  if (!renamed)
    ::unlinkat(to_.directory().get(), name.c_str(), 0);
  return renamed;
}

/// `busy` if there is something of that name.
result<void> staged_file::link_as(const std::string& name) const {
  auto directory = to_.directory().get();
  if (::linkat(file_.get(), "", directory, name.c_str(), AT_EMPTY_PATH) == 0)
    return {};
  // Without a capability that needs the way through /proc (open(2), O_TMPFILE).
  auto path = "/proc/self/fd/" + std::to_string(file_.get());
  if (::linkat(AT_FDCWD, path.c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
    return {};
  return call_.fail(errno == EEXIST ? EAGAIN : errno);
}

result<void> staged_file::rename_from(const std::string& name) const {
  auto directory = to_.directory().get();
  if (::renameat(directory, name.c_str(), directory, to_.name().c_str()) != 0)
    return call_.fail(errno);
  return {};
}

result<void> staged_file::overwrite(const existing_file& old) const {
  if (!old.fd)
    return call_.fail(ETXTBSY);
  auto size = static_cast<off_t>(size_);
  if (size > 0 && ::fallocate(old.fd.get(), 0, 0, size) != 0 && is_out_of_space(errno)) {
    auto number = errno;
    if (::ftruncate(old.fd.get(), old.status.st_size) != 0)
      number = errno;
    return call_.fail(number);
  }
  if (auto copied = copy_to(old.fd); !copied)
    return copied;
  if (::ftruncate(old.fd.get(), size) != 0)
    return call_.fail(errno);
  return {};
}

result<void> staged_file::copy_to(const unique_fd& target) const {
  auto buffer = std::make_unique_for_overwrite<char[]>(copy_bytes);
  for (off_t offset = 0; offset < static_cast<off_t>(size_);) {
    auto n = ::pread(file_.get(), buffer.get(), copy_bytes, offset);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return call_.fail(n < 0 ? errno : EIO);
    if (auto written = write_all(target, {buffer.get(), static_cast<size_t>(n)}); !written)
      return call_.fail(written.error().number);
    offset += n;
  }
  return {};
}

} // namespace corral::guest
