#pragma once

#include "apps/reloader.hpp"
#include "config/config.hpp"

#include <tl/expected.hpp>

#include <string>

namespace corral {

/// Serves until SIGTERM or SIGINT, then drains: queued requests are refused, running ones get
/// `drain_timeout` (none after a second signal), every sandbox is destroyed, or left as it is with
/// `on_shutdown: keep`. SIGHUP reads the configuration anew. Returns the process's exit status, or
/// why it could not start and what to change. Signals must be blocked in the caller.
tl::expected<int, std::string> run_daemon(const config& x, const config_reader& read);

} // namespace corral
