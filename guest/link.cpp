#include "guest/link.hpp"

#include "os/socket.hpp"

namespace corral::guest {

namespace {

/// Takes as long for any two secrets of one length.
bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

} // namespace

daemon_link::daemon_link(event_loop& loop, settings x, dispatcher& requests, outbox& out,
                         callbacks calls)
    : loop_{loop}, settings_{std::move(x)}, requests_{requests}, out_{out}, calls_{
                                                                                std::move(calls)} {
  await_daemon();
}

void daemon_link::dial() {
  if (auto connection = connect_unix(settings_.socket))
    return adopt(std::move(*connection));
  redial_ = loop_.after(redial_after, [this] { dial(); });
}

void daemon_link::adopt(unique_fd connection) {
  socket_.emplace(loop_, std::move(connection),
                  frame_socket::callbacks{[this](frame x) { return take(std::move(x)); },
                                          [this] { out_.pump(); }, [this] { lost(); }});
  say_hello();
}

void daemon_link::say_hello() {
  auto hello = calls_.describe();
  hello.set("op", "hello").set("id", settings_.id).set("secret", settings_.secret);
  hello.set("boot", settings_.boot);
  socket_->send(encode_frame_head(hello.dump(), 0));
}

result<void> daemon_link::take(frame x) {
  auto name = x.header.text("op");
  if (!proved_)
    return name == "hello" ? take_hello(x.header)
                           : failure(errc::unauthorized, "the daemon's first frame is no hello");
  if (name == "exit") {
    calls_.on_end();
    return {};
  }
  return requests_.take(std::move(x));
}

result<void> daemon_link::take_hello(const fields& x) {
  if (!is_same_secret(x.text("secret").value_or(""), settings_.secret))
    return failure(errc::unauthorized, "the daemon's hello proves nothing");
  proved_ = true;
  orphaned_.reset();
  calls_.on_limits(x.object("limits").value_or(fields{}));
  return {};
}

void daemon_link::write(std::string head, blob payload) {
  if (proved_)
    socket_->send(std::move(head), std::move(payload));
}

void daemon_link::lost() {
  auto was_proved = std::exchange(proved_, false);
  socket_.reset();
  if (was_proved)
    requests_.disconnected();
  if (settings_.socket.empty())
    return calls_.on_end();
  if (was_proved)
    await_daemon();
  redial_ = loop_.after(was_proved ? std::chrono::seconds{0} : redial_after, [this] { dial(); });
}

void daemon_link::await_daemon() {
  orphaned_ = loop_.after(settings_.orphan_timeout, [this] {
    if (calls_.describe().flag("running").value_or(false))
      await_daemon();
    else
      calls_.on_end();
  });
}

} // namespace corral::guest
