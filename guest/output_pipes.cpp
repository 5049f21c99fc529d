#include "guest/output_pipes.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace corral::guest {

namespace {

constexpr std::array<output_stream, 2> both{output_stream::out, output_stream::err};

size_t index(output_stream which) {
  return static_cast<size_t>(which);
}

char kind(output_stream which) {
  return which == output_stream::out ? 'o' : 'e';
}

/// More than a pipe can hold: whoever still writes after that is in the background.
constexpr size_t most_in_a_pipe = 1024 * 1024;

} // namespace

void output_drain::adopt(unique_fd fd) {
  auto at = readers_.insert(readers_.end(), reader{std::move(fd), {}});
  at->watch = loop_.watch_fd(at->fd, EPOLLIN, [this, at](uint32_t) {
    static std::array<char, 64 * 1024> dropped;
    auto n = ::read(at->fd.get(), dropped.data(), dropped.size());
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
      readers_.erase(at);
  });
}

os_result<void> output_pipes::prepare() {
  if (ready())
    return {};
  ++number_;
  for (auto which : both)
    if (auto opened = open(streams_[index(which)], kind(which)); !opened) {
      discard();
      return opened;
    }
  return {};
}

os_result<void> output_pipes::open(stream& s, char kind) {
  auto path = paths_.fifo(kind, number_);
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored); // Agent code can have put anything there.
  if (::mkfifo(path.c_str(), 0600) != 0)
    return last_os_error("make FIFO", path);
  s = stream{};
  s.reader.reset(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!s.reader)
    return last_os_error("open FIFO", path);
  s.identity = file_identity::of(s.reader);
  return {};
}

void output_pipes::listen(handler on_output) {
  for (auto which : both) {
    auto& s = streams_[index(which)];
    s.own_writer.reset(
        ::open(paths_.fifo(kind(which), number_).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    s.watch = loop_.watch_fd(s.reader, EPOLLIN, [this, which, on_output](uint32_t) {
      if (!read_once(which, on_output) && streams_[index(which)].ended)
        streams_[index(which)].watch.reset();
    });
  }
}

bool output_pipes::collect(const handler& on_output) {
  stop_listening();
  for (auto which : both) {
    size_t total = 0;
    auto count = [&](output_stream w, std::string_view bytes) {
      total += bytes.size();
      on_output(w, bytes);
    };
    while (total < most_in_a_pipe && read_once(which, count)) {
    }
  }
  return all_ended();
}

void output_pipes::await_end(handler on_output, event_loop::task on_end) {
  for (auto which : both) {
    auto& s = streams_[index(which)];
    if (s.ended)
      continue;
    s.watch = loop_.watch_fd(s.reader, EPOLLIN, [this, which, on_output, on_end](uint32_t) {
      if (read_once(which, on_output) || !streams_[index(which)].ended)
        return;
      streams_[index(which)].watch.reset();
      if (all_ended())
        on_end();
    });
  }
}

void output_pipes::release(output_drain& drain) {
  stop_listening();
  if (all_ended() && in_place(output_stream::out) && in_place(output_stream::err)) {
    for (auto& s : streams_)
      s.ended = false;
    return;
  }
  for (auto& s : streams_)
    if (s.reader && !s.ended)
      drain.adopt(std::move(s.reader));
  discard();
}

void output_pipes::discard() {
  for (auto which : both) {
    ::unlink(paths_.fifo(kind(which), number_).c_str());
    streams_[index(which)] = stream{};
  }
}

bool output_pipes::read_once(output_stream which, const handler& on_output) {
  auto& s = streams_[index(which)];
  if (s.ended)
    return false;
  auto n = ::read(s.reader.get(), buffer_.data(), buffer_.size());
  if (n > 0)
    on_output(which, {buffer_.data(), static_cast<size_t>(n)});
  else
    s.ended = n == 0;
  return n > 0;
}

bool output_pipes::in_place(output_stream which) const {
  auto& ours = streams_[index(which)].identity;
  return ours && file_identity::of(paths_.fifo(kind(which), number_)) == ours;
}

void output_pipes::stop_listening() {
  for (auto& s : streams_) {
    s.watch.reset();
    s.own_writer.reset();
  }
}

} // namespace corral::guest
