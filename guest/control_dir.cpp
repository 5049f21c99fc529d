#include "guest/control_dir.hpp"

#include "os/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>

namespace corral::guest {

namespace {

constexpr int create_flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;

/// Agent code can have put anything there, or closed it to everyone.
void clear(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

os_result<void> write_file(const std::string& path, std::string_view text) {
  unique_fd fd{::open(path.c_str(), create_flags, 0600)};
  if (!fd)
    return last_os_error("create", path);
  return write_all(fd, text);
}

} // namespace

os_result<void> control_dir::create() {
  ::chmod(paths_.directory.c_str(), 0700);
  if (auto made = make_directory(paths_.directory, 0700); !made)
    return made;
  for (auto& [path, text] :
       std::array{std::pair{paths_.code, code_text()}, std::pair{paths_.abort, abort_text(paths_)},
                  std::pair{paths_.dump, dump_text(paths_)}, std::pair{paths_.enter, std::string{}},
                  std::pair{paths_.leave, std::string{}}, std::pair{paths_.saved, std::string{}}}) {
    clear(path);
    if (auto written = write_file(path, text); !written)
      return written;
  }
  clear(paths_.command);
  command_.reset(::open(paths_.command.c_str(), create_flags, 0600));
  if (!command_)
    return last_os_error("create", paths_.command);
  return {};
}

os_result<void> control_dir::write_command(std::string_view text) {
  size_t done = 0;
  while (done < text.size()) {
    auto n =
        ::pwrite(command_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return last_os_error("write", paths_.command);
    done += static_cast<size_t>(n);
  }
  if (::ftruncate(command_.get(), static_cast<off_t>(text.size())) != 0)
    return last_os_error("truncate", paths_.command);
  return {};
}

os_result<void> control_dir::write_scope(std::string_view enter, std::string_view leave) {
  scope_written_ = true;
  if (auto written = write_file(paths_.enter, enter); !written)
    return written;
  return write_file(paths_.leave, leave);
}

void control_dir::clear_scope() {
  if (!std::exchange(scope_written_, false))
    return;
  // `leave` first: run once more without what it restores from, it would lose the variables.
  for (auto* path : {&paths_.leave, &paths_.enter, &paths_.saved})
    ::truncate(path->c_str(), 0);
}

std::optional<std::string> control_dir::adopt_dump() {
  for (auto* path : {&paths_.fresh, &paths_.where})
    ::chmod(path->c_str(), 0600); // Made under the session's umask.
  unique_fd fd{::open(paths_.fresh.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  std::array<char, dump_end.size()> end;
  auto size = fd ? ::lseek(fd.get(), 0, SEEK_END) : -1;
  if (size < static_cast<off_t>(end.size())
      || ::pread(fd.get(), end.data(), end.size(), size - static_cast<off_t>(end.size()))
             != static_cast<ssize_t>(end.size())
      || std::string_view{end.data(), end.size()} != dump_end)
    return std::nullopt;
  if (::rename(paths_.fresh.c_str(), paths_.state.c_str()) != 0)
    return std::nullopt;
  return read_small_file(paths_.where, 64 * 1024).value_or("");
}

bool control_dir::has_state() const {
  return ::access(paths_.state.c_str(), R_OK) == 0;
}

void control_dir::forget_state() {
  ::unlink(paths_.fresh.c_str());
  ::unlink(paths_.state.c_str());
}

os_result<void> start_mark::arm() {
  if (reader_ && !was_opened() && in_place())
    return {};
  reader_.reset(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat found {};
  if (reader_ && ::fstat(reader_.get(), &found) == 0 && S_ISFIFO(found.st_mode) && !was_opened())
    return {};
  clear(path_);
  if (::mkfifo(path_.c_str(), 0600) != 0)
    return last_os_error("make FIFO", path_);
  reader_.reset(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!reader_)
    return last_os_error("open FIFO", path_);
  return {};
}

void start_mark::discard() {
  reader_.reset();
  clear(path_);
}

bool start_mark::in_place() const {
  auto there = file_identity::of(path_);
  return there && there == file_identity::of(reader_);
}

bool start_mark::was_opened() const {
  pollfd p{reader_.get(), POLLIN, 0};
  if (::poll(&p, 1, 0) > 0)
    return true;
  // Nothing is there to read; a writer that still holds it turns the end into EAGAIN.
  char byte;
  return ::read(reader_.get(), &byte, 1) < 0;
}

bool start_mark::is_set() const {
  if (was_opened())
    return true;
  // Started, the command would have made it anew.
  return file_identity::of(path_) && !in_place();
}

} // namespace corral::guest
