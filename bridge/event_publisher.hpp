#pragma once

#include "actors/io_loop.hpp"
#include "messages/wire/fields.hpp"

#include <zmq.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace corral {

/// Tells whoever has subscribed what becomes of sandboxes and execs. Subscribers only observe: one
/// that doesn't read loses what is beyond its queue, and nothing ever waits for it. Belongs to the
/// loop's thread, as the loop does.
class event_publisher {
public:
  static constexpr std::string_view zap_domain = "corral.events";

  struct settings {
    std::string boot;  ///< Of the daemon: another one at every start.
    int queued = 1000; ///< Events that wait for one subscriber; what comes then, it never gets.
  };

  event_publisher(zmq::context_t& context, io_loop& loop, settings x);
  ~event_publisher();

  event_publisher(const event_publisher&) = delete;
  event_publisher& operator=(const event_publisher&) = delete;

  /// Where subscribers connect; before the loop runs; returns the endpoint in full. Throws
  /// zmq::error_t if it can't be bound.
  std::string bind(const std::string& endpoint);

  /// The same on TCP, after every `bind`. With a secret key, in Z85, only those get through whose
  /// own key the context's zap_handler lets into `zap_domain`.
  std::string listen(const std::string& endpoint, const std::string& secret_key = {});

  /// Sends `subject` and `more` under the topic, such as "sandbox.created", with seq, time and
  /// boot. The number is taken even if nobody listens, so a gap tells a subscriber of its loss.
  void publish(std::string_view topic, const fields& subject, const fields& more = {});

private:
  void look_at_subscriptions();

  io_loop& loop_;
  settings settings_;
  zmq::socket_t socket_;
  io_loop::watch_id watch_;
  int64_t seq_ = 0;
  int64_t subscriptions_ = 0; // Different ones.
};

} // namespace corral
