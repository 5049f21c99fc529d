// Between the bridge, the provider of a pool, and the workers of its backend.

#pragma once

#include "messages/sandbox.hpp"
#include "messages/wire/owner.hpp"
#include "providers/contract.hpp"

#include <optional>
#include <vector>

namespace corral {

/// What to do when a pool is at `replicas` and nothing is warm.
enum class when_full : uint8_t {
  burst, ///< Create all the same and say so, up to `max_sandboxes`.
  wait,  ///< Until there is room, one turn a client.
  reject,
};

/// What a pool may hold and for how long; can be changed while it runs.
struct pool_limits {
  size_t replicas = 64;
  size_t max_sandboxes = 256;
  size_t max_per_user = 64; ///< Of a named user: `default` is whoever says no name.
  when_full overflow = when_full::burst;
  duration wait_timeout = std::chrono::seconds{60};    ///< Of an order that doesn't say.
  duration idle_timeout = std::chrono::seconds{600};   ///< 0: never.
  duration lease_idle_timeout = std::chrono::hours{4}; ///< 0: never.
  bool keep_on_drain = false; ///< A drain leaves sandboxes to a later daemon.
};

/// A wish for a sandbox.
struct acquire_order {
  owner who; ///< Without a thread: an anonymous sandbox.
  client_key client;
  bool lease = false; ///< Else the sandbox is borrowed: parked whenever nothing uses it.
  std::optional<duration> wait{}; ///< For room in the pool; nothing: as long as that lets it.
  std::string pool{};             ///< By name; empty: the one that has it, else the default.
  client_key turn{};              ///< Whose turn it takes in the queue, if not the client's.
};

/// A sandbox that answers.
struct grant {
  std::string id;
  owner who;
  sandbox_actor sandbox;
  std::string lease;  ///< Empty if borrowed.
  std::string origin; ///< active, warm, discovered or created.
  int64_t session = 0;
  std::string pool; ///< Its name.
};

using endpoint_ptr = std::shared_ptr<const endpoint>;

/// Owns the table of one pool: who has which sandbox, leases, LRU order, capacity. Errors are the
/// wire's (messages/errors.hpp).
using provider_actor = caf::typed_actor<
    // The owner's sandbox: active, warm or made now. Concurrent acquires of one owner share one
    // attempt.
    caf::replies_to<acquire_atom, acquire_order>::with<grant>,
    // The sandbox with this id or unique prefix of it; sandbox_not_found, or sandbox_lost if it
    // ended within the last hour.
    caf::replies_to<find_atom, std::string>::with<grant>,
    // Whose the sandbox with this whole id is, or was within the last hour; else sandbox_not_found.
    caf::replies_to<owner_atom, std::string>::with<owner>,
    // State, leases and usage of a sandbox; `found: false` for an unknown one.
    caf::replies_to<inspect_atom, std::string>::with<fields_ptr>,
    // A row for each sandbox; an empty pool, state or user matches all.
    caf::replies_to<list_atom, std::string, std::string, std::string>::with<std::vector<fields>>,
    // Drops a lease of the client's on a sandbox; without a lease id its only one.
    caf::replies_to<release_atom, client_key, std::string, std::string>::with<fields_ptr>,
    // Drops all leases of the client's.
    caf::replies_to<release_atom, client_key>::with<fields_ptr>,
    // Ends a sandbox: id, client, force, purge. `busy` where others use it and not force.
    caf::replies_to<destroy_atom, std::string, client_key, bool, bool>::with<fields_ptr>,
    // Its figures, in the only element.
    caf::replies_to<stats_atom>::with<std::vector<fields>>,
    // Other limits from now on.
    caf::reacts_to<configure_atom, pool_limits>,
    // Retires what has been idle for too long.
    caf::reacts_to<reap_atom>,
    // Takes no more orders, lets running work end within the time, then destroys every sandbox.
    caf::replies_to<drain_atom, duration>::with<caf::ok_atom>,
    // FROM A SANDBOX: its guest is there; the number of its shell session.
    caf::reacts_to<up_atom, std::string, int64_t>,
    // INTERNAL: the timer with this epoch is due.
    caf::reacts_to<tick_atom, uint64_t>>;

/// Does a backend's blocking work on a thread of its own.
using backend_worker_actor = caf::typed_actor<
    // Discovers an environment that is there already, else creates one; true if discovered.
    caf::replies_to<create_atom, sandbox_spec>::with<endpoint_ptr, bool>,
    // Destroys one, with its data if the flag says so.
    caf::replies_to<destroy_atom, std::string, bool>::with<caf::ok_atom>>;

} // namespace corral

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::owner)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::acquire_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::pool_limits)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::grant)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::endpoint_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::sandbox_spec)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<corral::fields>)
