#pragma once

#include "actors/io_loop.hpp"
#include "actors/link_protocol.hpp"
#include "messages/provider.hpp"
#include "os/unique_fd.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <sys/types.h>

namespace corral {

/// The link's own handler beside those of `link_actor`.
using guest_link_actor = link_actor::extend<
    // INTERNAL: the connection has ended.
    caf::reacts_to<gone_atom>>;

/// The connection to one guest. Moves bytes between the socket and `link_protocol`; whatever ends
/// the connection ends the actor. Runs on the loop's thread, where reads and writes never block;
/// keeps no buffer while it is idle.
class guest_link_state {
public:
  static constexpr const char* name = "guest-link";

  explicit guest_link_state(guest_link_actor::pointer self) : self_{self} {}
  ~guest_link_state();

  guest_link_actor::behavior_type make_behavior(io_loop& loop, const endpoint_ptr& where,
                                                fields limits, sandbox_actor owner);

private:
  /// A descriptor that the loop watches.
  struct watched {
    unique_fd fd;
    io_loop::watch_id id = 0;
  };

  void watch(watched& x, unique_fd fd, void (guest_link_state::*ready)(io_loop::readiness));
  void close(watched& x);
  void accept(io_loop::readiness);
  void ready(io_loop::readiness x);
  bool receive();
  void apply(link_protocol::outcome out);
  void flush();
  void end() { self_->send(self_, gone_atom::value); }

  guest_link_actor::pointer self_;
  io_loop* loop_ = nullptr;
  std::optional<link_protocol> protocol_;
  sandbox_actor owner_;
  pid_t guest_pid_ = 0;
  watched door_;
  watched guest_;
  std::deque<blob> unsent_;
  size_t written_ = 0; // Of the first one in `unsent_`.
};

/// Spawn on the loop's unit: `spawn_on(sys, unit, guest_link, &loop, endpoint, limits, owner)`.
/// Takes a duplicate of the endpoint's listener, accepts the guest and no second peer.
guest_link_actor::behavior_type
guest_link(guest_link_actor::stateful_pointer<guest_link_state> self, io_loop* loop,
           endpoint_ptr where, fields limits, sandbox_actor owner);

} // namespace corral
