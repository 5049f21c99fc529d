#include "bridge/event_publisher.hpp"

#include "bridge/zap_handler.hpp"

#include <chrono>

namespace corral {

namespace {

constexpr int64_t max_topic_bytes = 1024; // Of a subscription.

int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

} // namespace

// An XPUB is a PUB that tells of subscriptions: without any, an event costs a number.
event_publisher::event_publisher(zmq::context_t& context, io_loop& loop, settings x)
    : loop_{loop}, settings_{std::move(x)}, socket_{context, zmq::socket_type::xpub} {
  socket_.set(zmq::sockopt::sndhwm, settings_.queued);
  socket_.set(zmq::sockopt::linger, 1000); // For the last events of a shutdown.
  socket_.set(zmq::sockopt::maxmsgsize, max_topic_bytes);
  watch_ = loop_.watch(socket_.get(zmq::sockopt::fd), [this](auto) { look_at_subscriptions(); });
}

event_publisher::~event_publisher() {
  loop_.unwatch(watch_);
}

std::string event_publisher::bind(const std::string& endpoint) {
  socket_.bind(endpoint);
  return socket_.get(zmq::sockopt::last_endpoint);
}

std::string event_publisher::listen(const std::string& endpoint, const std::string& secret_key) {
  return listen_on(socket_, endpoint, secret_key, zap_domain);
}

void event_publisher::publish(std::string_view topic, const fields& subject, const fields& more) {
  ++seq_;
  look_at_subscriptions();
  if (subscriptions_ == 0)
    return;
  auto x = subject;
  x.merge(more).set("event", topic).set("boot", settings_.boot);
  x.set("seq", seq_).set("time", unix_ms());
  auto dont_wait = zmq::send_flags::dontwait; // It never would: what a queue has no room for is
                                              // dropped.
  socket_.send(zmq::buffer(topic), zmq::send_flags::sndmore | dont_wait);
  socket_.send(zmq::message_t{x.dump()}, dont_wait);
  look_at_subscriptions(); // Sending may have taken the descriptor's sign that there are new ones.
}

/// Counts the first subscription to a topic and the end of the last.
void event_publisher::look_at_subscriptions() {
  zmq::message_t x;
  while (socket_.recv(x, zmq::recv_flags::dontwait))
    if (auto text = x.to_string_view(); text.starts_with('\1'))
      ++subscriptions_;
    else if (text.starts_with('\0'))
      --subscriptions_;
}

} // namespace corral
