#include "guest/frame_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace corral::guest {

frame_socket::frame_socket(event_loop& loop, unique_fd fd, callbacks calls)
    : loop_{loop}, fd_{std::move(fd)}, calls_{std::move(calls)} {
  ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
  // Whole frames fit in, up to the system's limit: the writer wakes up less often.
  int room = 2 * max_frame_payload;
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  watch_ = loop_.watch_fd(fd_, EPOLLIN, [this](uint32_t events) { on_ready(events); });
}

void frame_socket::send(std::string head, blob payload) {
  if (closed_)
    return;
  queue_.push_back(blob::take(std::move(head)));
  if (!payload.empty())
    queue_.push_back(std::move(payload));
  if (!writing_ && !write_some())
    close();
}

void frame_socket::on_ready(uint32_t events) {
  auto fine = true;
  if ((events & EPOLLOUT) != 0)
    fine = write_some();
  if (fine && (events & ~uint32_t{EPOLLOUT}) != 0)
    fine = read_some();
  if (!fine)
    return close();
  if (writing_ && idle()) {
    writing_ = false;
    watch_.want(EPOLLIN);
    calls_.on_idle();
  }
}

bool frame_socket::read_some() {
  auto n = ::read(fd_.get(), buffer_.data(), buffer_.size());
  if (n < 0)
    return errno == EAGAIN || errno == EINTR;
  if (n == 0)
    return false;
  decoder_.feed(blob::copy_of({buffer_.data(), static_cast<size_t>(n)}));
  return take_frames();
}

bool frame_socket::take_frames() {
  while (!closed_) {
    auto next = decoder_.next();
    if (!next)
      return false;
    if (!*next)
      return true;
    if (!calls_.on_frame(std::move(**next)))
      return false;
  }
  return true;
}

bool frame_socket::write_some() {
  while (!queue_.empty()) {
    std::array<iovec, 8> pieces;
    size_t count = 0;
    for (auto i = queue_.begin(); i != queue_.end() && count < pieces.size(); ++i, ++count)
      pieces[count] = {const_cast<char*>(i->data()), i->size()};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    auto n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN) {
      writing_ = true;
      watch_.want(EPOLLIN | EPOLLOUT);
      return true;
    }
    if (n < 0)
      return false;
    consume(static_cast<size_t>(n));
  }
  return true;
}

void frame_socket::consume(size_t bytes) {
  while (bytes > 0) {
    auto& first = queue_.front();
    auto n = std::min(bytes, first.size());
    bytes -= n;
    if (n == first.size())
      queue_.pop_front();
    else
      first = first.slice(n);
  }
}

void frame_socket::close() {
  if (std::exchange(closed_, true))
    return;
  watch_.reset();
  queue_.clear();
  // Later, for the caller may be in the midst of sending.
  close_timer_ = loop_.after({}, [on_close = calls_.on_close] { on_close(); });
}

} // namespace corral::guest
