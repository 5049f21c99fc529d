// A pool as the daemon runs it.

#pragma once

#include "actors/provider.hpp"
#include "bridge/bridge.hpp"
#include "config/config.hpp"
#include "providers/claimed_backend.hpp"

#include <caf/actor_system.hpp>
#include <tl/expected.hpp>

#include <memory>
#include <string>
#include <vector>

namespace corral {

class loop_thread;

/// A pool whose backend has proved that it works here.
struct open_pool {
  const pool_config* config = nullptr; ///< Outlives it.
  std::shared_ptr<sandbox_backend> backend;
  std::shared_ptr<claimed_backend> claimed;
  std::vector<endpoint_ptr> found; ///< What an earlier run left in it.

  /// Opens the backend, takes over what is there, removes what can't be, and probes; warnings go to
  /// the log. The error says what to change.
  static tl::expected<open_pool, std::string> open(const corral::config& x, const pool_config& pool,
                                                   std::shared_ptr<const host_claims> claims);
};

/// What clients are told of it.
pool_facts facts_of(const open_pool& x);

/// Spawns its provider on the loop's thread, with what was found in it.
provider_actor start_pool(caf::actor_system& sys, loop_thread& edge, const config& x,
                          open_pool& pool, lifecycle_observer observe);

} // namespace corral
