#include "guest/input_pipe.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace corral::guest {

os_result<void> input_pipe::open(std::string path) {
  close();
  path_ = std::move(path);
  ::unlink(path_.c_str());
  if (::mkfifo(path_.c_str(), 0600) != 0)
    return last_os_error("make FIFO", path_);
  // Both ways, so that neither this open nor the command's has to wait for the other.
  fd_.reset(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd_)
    return last_os_error("open FIFO", path_);
  finished_ = reader_present_ = false;
  return {};
}

void input_pipe::preload(std::string_view bytes) {
  buffer_.erase(0, written_);
  written_ = 0;
  buffer_.append(bytes);
  write_some();
}

size_t input_pipe::offer(std::string_view bytes) {
  if (!fd_ || finished_)
    return 0;
  auto room = max_buffered - std::min(max_buffered, buffer_.size() - written_);
  auto n = std::min(room, bytes.size());
  preload(bytes.substr(0, n));
  return n;
}

void input_pipe::finish() {
  finished_ = true;
  write_some();
}

void input_pipe::reader_present() {
  reader_present_ = true;
  write_some();
}

void input_pipe::close() {
  watch_.reset();
  if (fd_)
    ::unlink(path_.c_str());
  fd_.reset();
  std::string{}.swap(buffer_);
  written_ = 0;
}

void input_pipe::write_some() {
  if (!fd_)
    return;
  while (written_ < buffer_.size()) {
    auto n = ::write(fd_.get(), buffer_.data() + written_, buffer_.size() - written_);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      if (!watch_)
        watch_ = loop_.watch_fd(fd_, EPOLLOUT, [this](uint32_t) { write_some(); });
      return;
    }
    written_ += static_cast<size_t>(n);
  }
  watch_.reset();
  buffer_.clear();
  written_ = 0;
  if (finished_ && reader_present_)
    close();
}

} // namespace corral::guest
