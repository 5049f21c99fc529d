#pragma once

#include "actors/link_protocol.hpp"
#include "messages/provider.hpp"

#include <caf/io/system_messages.hpp>
#include <caf/io/typed_broker.hpp>
#include <caf/stateful_actor.hpp>

namespace corral {

/// The link's handlers for its own socket, beside those of `link_actor`.
using guest_link_broker = link_actor::extend<
  caf::reacts_to<caf::io::new_connection_msg>, caf::reacts_to<caf::io::acceptor_closed_msg>,
  caf::reacts_to<caf::io::new_data_msg>, caf::reacts_to<caf::io::connection_closed_msg>>;

/// The connection to one guest. Moves bytes between the socket and `link_protocol`; whatever ends the
/// connection ends the actor.
class guest_link_state {
public:
  static constexpr const char* name = "guest-link";
  using pointer = guest_link_broker::stateful_broker_pointer<guest_link_state>;

  guest_link_broker::behavior_type make_behavior(pointer self, const endpoint_ptr& where,
                                                 fields limits, sandbox_actor owner);

private:
  void accept(caf::io::connection_handle connection);
  void receive(caf::io::new_data_msg& x);
  void apply(link_protocol::outcome out);
  void write(const blob& bytes);

  pointer self_ = nullptr;
  std::optional<link_protocol> protocol_;
  sandbox_actor owner_;
  pid_t guest_pid_ = 0;
  caf::io::accept_handle door_;
  caf::io::connection_handle guest_; // Invalid until the guest has dialled.
  std::vector<blob> early_;          // Written before it dialled.
  size_t read_limit_ = 0;
};

/// Spawn with `sys.middleman().spawn_broker(guest_link, endpoint, limits, owner)`. Takes over a duplicate
/// of the endpoint's listener, accepts the guest and no second peer.
guest_link_broker::behavior_type guest_link(guest_link_state::pointer self, endpoint_ptr where,
                                            fields limits, sandbox_actor owner);

} // namespace corral
