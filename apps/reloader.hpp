// Reads the configuration anew while the daemon runs.

#pragma once

#include "actors/pools.hpp"
#include "config/config.hpp"
#include "config/config_error.hpp"
#include "messages/reload.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <tl/expected.hpp>

#include <functional>
#include <mutex>
#include <vector>

namespace corral {

/// Reads the configuration from where the daemon was told to.
using config_reader = std::function<tl::expected<config, config_errors>()>;

/// The configuration in effect. Safe to use from several threads.
class live_config {
public:
  live_config(config first, config_reader read)
      : current_{std::move(first)}, read_{std::move(read)} {}

  config current() const {
    std::lock_guard lock{mutex_};
    return current_;
  }

  /// Reads it anew and takes over what can change; tells which options those are, and which need a
  /// restart. `invalid_request` with every error, without the file's path, if it is not valid.
  result<fields> reload();

private:
  mutable std::mutex mutex_;
  config current_;
  config_reader read_;
};

/// What can change of a pool while it runs.
pool_limits limits_of(const config& x, const pool_config& pool);

/// Spawn detached: it reads files. Tells the pools and the log what has changed.
reload_actor::behavior_type reloader(reload_actor::pointer self,
                                     std::shared_ptr<live_config> config,
                                     std::vector<named_pool> pools);

} // namespace corral
