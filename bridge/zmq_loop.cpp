#include "bridge/zmq_loop.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>

namespace corral {

namespace {

constexpr int messages_a_turn = 64;
constexpr size_t max_frames = 8;

} // namespace

/// What libzmq has freed since the loop last looked. Outlives the loop, as messages may.
struct zmq_loop::freed_list {
  std::mutex mutex;
  std::vector<std::pair<uint64_t, uint64_t>> items;
  unique_fd wake_fd;

  void add(uint64_t tag, uint64_t bytes) {
    std::lock_guard guard{mutex};
    items.emplace_back(tag, bytes);
    uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(wake_fd.get(), &one, sizeof one);
  }
};

/// Bytes that libzmq holds.
struct zmq_loop::lent {
  blob payload;
  account_ptr charge;
  uint64_t tag;
  std::shared_ptr<freed_list> freed;
};

zmq_loop::zmq_loop(zmq::context_t& context, const settings& x)
    : router_{context, zmq::socket_type::router},
      wake_fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, freed_{std::make_shared<freed_list>()} {
  freed_->wake_fd = unique_fd{::dup(wake_fd_.get())};
  router_.set(zmq::sockopt::router_mandatory, true);
  router_.set(zmq::sockopt::sndhwm, 0);    // The bridge counts bytes itself; a ROUTER would drop.
  router_.set(zmq::sockopt::linger, 1000); // For the last replies of a shutdown.
  router_.set(zmq::sockopt::maxmsgsize, x.max_message_bytes);
  router_.bind(x.endpoint);
}

zmq_loop::~zmq_loop() = default;

void zmq_loop::run(const callbacks& on) {
  while (!stopped_) {
    if (woken_.load()) {
      clear_wake();
      on.on_wake();
      tell_freed(on);
    }
    if (receive_some(on))
      continue;
    if (woken_.load())
      continue;
    zmq::pollitem_t items[] = {{router_.handle(), 0, ZMQ_POLLIN, 0},
                               {nullptr, wake_fd_.get(), ZMQ_POLLIN, 0}};
    try {
      zmq::poll(items, 2, std::chrono::milliseconds{-1});
    } catch (const zmq::error_t& e) {
      if (e.num() != EINTR)
        throw;
    }
    if (items[1].revents)
      woken_ = true;
  }
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
    if (woken_.load())
      return true;
  }
  return true;
}

zmq::message_t zmq_loop::lend(blob bytes, const account_ptr& charge, uint64_t tag) {
  auto size = bytes.size();
  if (charge)
    charge->queued += size;
  auto data = const_cast<char*>(bytes.data());
  auto hint = new lent{std::move(bytes), charge, tag, freed_};
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
  std::unique_ptr<lent> x{static_cast<lent*>(hint)};
  auto bytes = x->payload.size();
  if (x->charge)
    x->charge->queued -= bytes;
  if (x->tag != 0 || (x->charge && x->charge->awaited))
    x->freed->add(x->tag, bytes);
}

void zmq_loop::tell_freed(const callbacks& on) {
  std::vector<std::pair<uint64_t, uint64_t>> items;
  {
    std::lock_guard guard{freed_->mutex};
    items.swap(freed_->items);
  }
  for (auto& [tag, bytes] : items)
    on.on_freed(tag, bytes);
}

void zmq_loop::wake() {
  if (woken_.exchange(true))
    return;
  uint64_t one = 1;
  [[maybe_unused]] auto n = ::write(wake_fd_.get(), &one, sizeof one);
}

void zmq_loop::clear_wake() {
  uint64_t count = 0;
  [[maybe_unused]] auto n = ::read(wake_fd_.get(), &count, sizeof count);
  woken_ = false; // Before the work is looked at, so that work added meanwhile wakes again.
}

void zmq_loop::stop() {
  stopped_ = true;
  uint64_t one = 1;
  [[maybe_unused]] auto n = ::write(wake_fd_.get(), &one, sizeof one);
}

} // namespace corral
