#include "bridge/zmq_loop.hpp"

#include "bridge/zap_handler.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>

#include <cerrno>
#include <cstring>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace corral {

namespace {

constexpr int messages_a_turn = 64;
constexpr int wakes_a_turn = 16;
constexpr size_t busy_turns_a_look = 4; // At the other descriptors.
constexpr size_t max_frames = 8;
constexpr io_loop::watch_id zmq_id = 0;
constexpr io_loop::watch_id wake_id = 1;

// libzmq hands messages to its own thread by means that ThreadSanitizer can't see: these tell it.
#ifdef __SANITIZE_THREAD__
void given_to_libzmq(void* x) {
  __tsan_release(x);
}
void taken_from_libzmq(void* x) {
  __tsan_acquire(x);
}
#else
void given_to_libzmq(void*) {}
void taken_from_libzmq(void*) {}
#endif

} // namespace

/// What other threads have told the loop, and how they wake it. Outlives the loop, as messages may.
struct zmq_loop::mailbox {
  std::atomic<bool> pending = false;  // Something waits for `on_wake`.
  std::atomic<bool> sleeping = false; // A wake-up must write to `wake_fd`.
  unique_fd wake_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;
  std::vector<std::pair<uint64_t, uint64_t>> freed; // By libzmq, since the loop last looked.

  void wake() {
    pending = true;
    if (sleeping.exchange(false)) // If not, the loop looks at `pending` before it sleeps.
      ring();
  }

  void ring() {
    uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(wake_fd.get(), &one, sizeof one);
  }

  void add_freed(uint64_t tag, uint64_t bytes) {
    {
      std::lock_guard guard{mutex};
      freed.emplace_back(tag, bytes);
    }
    wake();
  }
};

/// Bytes that libzmq holds.
struct zmq_loop::lent {
  blob payload;
  account_ptr charge;
  uint64_t tag;
  std::shared_ptr<mailbox> told;
};

zmq_loop::zmq_loop(zmq::context_t& context, const settings& x)
    : router_{context, zmq::socket_type::router}, epoll_fd_{::epoll_create1(EPOLL_CLOEXEC)},
      mailbox_{std::make_shared<mailbox>()} {
  router_.set(zmq::sockopt::router_mandatory, true);
  router_.set(zmq::sockopt::sndhwm, 0);    // The bridge counts bytes itself; a ROUTER would drop.
  router_.set(zmq::sockopt::linger, 1000); // For the last replies of a shutdown.
  router_.set(zmq::sockopt::maxmsgsize, x.max_message_bytes);
  router_.bind(x.endpoint);
  add(router_.get(zmq::sockopt::fd), zmq_id);
  add(mailbox_->wake_fd.get(), wake_id);
}

zmq_loop::~zmq_loop() = default;

std::string zmq_loop::listen(const std::string& endpoint, const std::string& secret_key) {
  return listen_on(router_, endpoint, secret_key, zap_domain);
}

std::string_view zmq_loop::sender_of(zmq::message_t& frame) {
  auto name = ::zmq_msg_gets(frame.handle(), "User-Id"); // libzmq's own sets it over the peer's.
  return name != nullptr ? name : "";
}

void zmq_loop::run(const callbacks& on) {
  for (size_t turn = 0; !stopped_; ++turn) {
    // What was told mostly leads to more of it on this thread: that needs no look at the sockets.
    for (int i = 0; i < wakes_a_turn && mailbox_->pending.exchange(false); ++i) {
      on.on_wake();
      tell_freed(on);
    }
    auto busy = receive_some(on) || mailbox_->pending;
    if (busy && turn % busy_turns_a_look != 0)
      continue;
    // From here on a wake-up writes to the descriptor; one that came before is seen by the check.
    mailbox_->sleeping = !busy;
    wait(!busy && !mailbox_->pending && !stopped_);
    mailbox_->sleeping = false;
  }
}

/// Tells of ready descriptors, having slept until there are some if it may. ZeroMQ's descriptor
/// tells of changes only: it may sleep once the socket had nothing to give and nothing was sent
/// since, for sending can take such a change.
void zmq_loop::wait(bool may_sleep) {
  if (!may_sleep && watches_.empty())
    return;
  std::array<epoll_event, 64> ready;
  auto count = ::epoll_wait(epoll_fd_.get(), ready.data(), ready.size(), may_sleep ? -1 : 0);
  mailbox_->sleeping = false; // What the calls below tell the loop, it sees by itself.
  for (int i = 0; i < count; ++i) {
    if (ready[i].data.u64 == wake_id) {
      uint64_t n = 0;
      [[maybe_unused]] auto got = ::read(mailbox_->wake_fd.get(), &n, sizeof n);
      mailbox_->pending = true;
    } else if (auto x = watches_.find(ready[i].data.u64); x != watches_.end()) {
      auto call = x->second.ready;
      auto is = ready[i].events;
      (*call)({(is & EPOLLIN) != 0, (is & EPOLLOUT) != 0, (is & (EPOLLHUP | EPOLLERR)) != 0});
    }
  }
}

void zmq_loop::add(int fd, watch_id id) {
  epoll_event x{EPOLLIN, {}};
  x.data.u64 = id;
  ::epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, fd, &x);
}

io_loop::watch_id zmq_loop::watch(int fd, callback ready) {
  auto id = ++last_watch_;
  watches_.emplace(id, watched{fd, false, std::make_shared<callback>(std::move(ready))});
  add(fd, id);
  return id;
}

void zmq_loop::want_writable(watch_id id, bool wanted) {
  auto i = watches_.find(id);
  if (i == watches_.end() || i->second.wants_writable == wanted)
    return;
  i->second.wants_writable = wanted;
  epoll_event x{EPOLLIN | (wanted ? EPOLLOUT : 0u), {}};
  x.data.u64 = id;
  ::epoll_ctl(epoll_fd_.get(), EPOLL_CTL_MOD, i->second.fd, &x);
}

void zmq_loop::unwatch(watch_id id) {
  auto i = watches_.find(id);
  if (i == watches_.end())
    return;
  ::epoll_ctl(epoll_fd_.get(), EPOLL_CTL_DEL, i->second.fd, nullptr);
  watches_.erase(i);
}

bool zmq_loop::receive_some(const callbacks& on) {
  for (int i = 0; i < messages_a_turn; ++i) {
    zmq::message_t id;
    if (!router_.recv(id, zmq::recv_flags::dontwait))
      return i > 0;
    std::vector<zmq::message_t> frames;
    auto more = id.more();
    while (more) {
      zmq::message_t x;
      [[maybe_unused]] auto got = router_.recv(x, zmq::recv_flags::none);
      more = x.more();
      if (frames.size() < max_frames)
        frames.push_back(std::move(x));
    }
    on.on_message(id.to_string(), std::move(frames));
    if (mailbox_->pending)
      return true;
  }
  return true;
}

zmq::message_t zmq_loop::lend(blob bytes, const account_ptr& charge, uint64_t tag) {
  auto size = bytes.size();
  if (charge)
    charge->queued += size;
  auto data = const_cast<char*>(bytes.data());
  auto hint = new lent{std::move(bytes), charge, tag, mailbox_};
  given_to_libzmq(hint);
  return {data, size, &zmq_loop::release, hint};
}

bool zmq_loop::send(outgoing x) {
  auto has_payload = !x.payload.empty();
  try {
    auto more = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
    auto last = zmq::send_flags::dontwait;
    router_.send(zmq::buffer(x.routing_id), more);
    if (x.delimiter)
      router_.send(zmq::message_t{}, more);
    router_.send(zmq::buffer(protocol), more);
    router_.send(lend(blob::take(std::move(x.header)), x.charge, 0), has_payload ? more : last);
    if (has_payload)
      router_.send(lend(std::move(x.payload), x.charge, x.tag), last);
    return true;
  } catch (const zmq::error_t&) {
    return false; // EHOSTUNREACH: nobody has this routing id any more.
  }
}

void zmq_loop::release(void*, void* hint) {
  taken_from_libzmq(hint);
  std::unique_ptr<lent> x{static_cast<lent*>(hint)};
  auto bytes = x->payload.size();
  if (x->charge)
    x->charge->queued -= bytes;
  if (x->tag != 0 || (x->charge && x->charge->awaited))
    x->told->add_freed(x->tag, bytes);
}

void zmq_loop::tell_freed(const callbacks& on) {
  std::vector<std::pair<uint64_t, uint64_t>> items;
  {
    std::lock_guard guard{mailbox_->mutex};
    items.swap(mailbox_->freed);
  }
  for (auto& [tag, bytes] : items)
    on.on_freed(tag, bytes);
}

void zmq_loop::wake() {
  mailbox_->wake();
}

void zmq_loop::stop() {
  stopped_ = true;
  mailbox_->ring();
}

} // namespace corral
