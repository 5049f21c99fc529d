#pragma once

#include "bridge/bridge.hpp"

#include <thread>

namespace corral {

/// Owns the ZeroMQ context, the loop and its thread, and the bridge that lives there.
class bridge_thread {
public:
  /// Binds and starts serving. Throws zmq::error_t if the endpoint can't be bound.
  bridge_thread(caf::actor_system& sys, const zmq_loop::settings& where, bridge_settings settings,
                provider_actor provider, bridge_observer observe);

  /// Ends the bridge, sends what libzmq still holds for at most a second, and joins the thread.
  ~bridge_thread();

  bridge_thread(const bridge_thread&) = delete;
  bridge_thread& operator=(const bridge_thread&) = delete;

  const bridge_actor& actor() const { return actor_; }

private:
  zmq::context_t context_{1};
  zmq_loop loop_;
  loop_unit unit_;
  bridge_actor actor_;
  std::thread thread_;
};

} // namespace corral
