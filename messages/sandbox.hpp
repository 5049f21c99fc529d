// Between the bridge, the actor of one sandbox and its link to the guest.

#pragma once

#include "messages/atoms.hpp"
#include "messages/errors.hpp"
#include "messages/wire/ops.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace corral {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;

/// Names one open request in the whole daemon; on a guest link it is the frame's `re`.
using ticket_id = uint64_t;

/// Names a client for leases and for the order of its requests: its hello name and instance, else
/// its connection.
using client_key = std::string;

using request_ptr = std::shared_ptr<const request>;
/// A message on its way: whoever receives it may take its content.
using message_ptr = std::shared_ptr<message>;
using fields_ptr = std::shared_ptr<const fields>;

/// A request on its way to a sandbox.
struct submission {
  ticket_id ticket = 0;
  client_key client;
  request_ptr what;
};

/// The answer to `retire`.
struct retirement {
  bool retired = false;
  bool in_use = false; ///< Something runs or waits.
  time_point used_at;  ///< When it was last used.
};

/// What `inspect` tells of a sandbox.
struct sandbox_usage {
  bool running = false; ///< An exec runs.
  size_t waiting = 0;   ///< Requests in the queue.
  size_t active = 0;    ///< Requests that the guest works on.
  uint64_t execs = 0;   ///< Finished since the start.
  time_point used_at;
  int64_t session = 0; ///< The number of its shell session.

  bool is_working() const { return running || active > 0 || waiting > 0; }
};

/// Where answers go: the bridge.
using answer_sink = caf::typed_actor<
    // The final reply to a request.
    caf::reacts_to<answer_atom, ticket_id, message_ptr>,
    // A stream event before it; its payload counts against the client's queue, and what the client
    // has taken comes back as `credit`.
    caf::reacts_to<data_atom, ticket_id, message_ptr>,
    // The sandbox had retired before this request came: ask the provider anew.
    caf::reacts_to<retired_atom, ticket_id>>;

/// Serialises access to one sandbox's single shell session.
using sandbox_actor = caf::typed_actor<
    // Queues or starts a request; every one is answered through the sink, exactly once.
    caf::reacts_to<submit_atom, submission, answer_sink>,
    // Cancels the exec `target` (0: the running one); answered as `ticket` when it has ended. As
    // ticket 0 the bridge itself cancels any request whose client can't be served any more.
    caf::reacts_to<cancel_atom, ticket_id, ticket_id, answer_sink>,
    // Bytes for the stdin of the exec `target`, or its end; answered as `ticket`.
    caf::reacts_to<send_atom, ticket_id, ticket_id, message_ptr, answer_sink>,
    // The next piece of a request's streamed payload, and whether it is the last.
    caf::reacts_to<data_atom, ticket_id, blob, bool>,
    // The client took so many bytes of the streamed reply of a ticket (seq < 0), or acknowledged
    // the exec chunk `seq`.
    caf::reacts_to<credit_atom, ticket_id, uint64_t, int64_t>,
    // Gives up for good if nothing runs, waits, or has happened since the time point.
    caf::replies_to<retire_atom, time_point>::with<retirement>,
    // The guest answered a ping.
    caf::replies_to<probe_atom>::with<bool>, caf::replies_to<inspect_atom>::with<sandbox_usage>,
    // Answers waiting requests with shutting_down and takes no more; running ones go on.
    caf::reacts_to<drain_atom>,
    // Ends it at once; its requests are answered with sandbox_lost.
    caf::reacts_to<kill_atom>,
    // Time stood still for so long: its last use is later by as much.
    caf::reacts_to<late_atom, duration>,
    // Ends the actor and leaves the guest to a later daemon, with what runs in it; its requests are
    // answered with shutting_down.
    caf::reacts_to<leave_atom>,
    // FROM THE LINK: the guest said hello.
    caf::reacts_to<up_atom, fields_ptr>,
    // FROM THE LINK: a message of the guest's.
    caf::reacts_to<answer_atom, message_ptr>,
    // INTERNAL: the timer with this epoch is due.
    caf::reacts_to<tick_atom, uint64_t>>;

/// The connection to a guest, as the rest of the daemon sees it.
using link_actor = caf::typed_actor<
    // Sends a message; its header names it with `re`. A header that states `parts` itself announces
    // a payload that follows as `data`.
    caf::reacts_to<send_atom, message_ptr>, caf::reacts_to<data_atom, ticket_id, blob, bool>,
    // Lets the guest send so many more bytes of the reply to a ticket.
    caf::reacts_to<credit_atom, ticket_id, uint64_t>>;

} // namespace corral

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::time_point)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::duration)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::blob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::request_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::message_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::fields_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::submission)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::retirement)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::sandbox_usage)
