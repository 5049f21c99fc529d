// What changes between two configurations while the daemon runs.

#pragma once

#include "config/config.hpp"

#include <string>
#include <vector>

namespace corral {

struct config_change {
  config effective; ///< The old one with what can change taken from the new one.
  std::vector<std::string>
      applied; ///< Full names, "pools.default.replicas", of what changed in it.
  std::vector<std::string> restart; ///< What differs in the new one and needs a restart.
};

/// Compares option by option. A pool that only one of them has needs a restart: "pools.NAME".
config_change change_config(const config& old, const config& next);

} // namespace corral
