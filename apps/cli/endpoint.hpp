#pragma once

#include "apps/cli/cli_error.hpp"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace corral::cli {

using variable_lookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Where a daemon of this user listens unless told otherwise: root's in /run/corral, a user's in
/// $XDG_RUNTIME_DIR/corral or else /tmp/corral-UID.
std::string default_endpoint(uid_t uid, const variable_lookup& environment);

/// A path becomes an ipc endpoint; anything with a scheme stays.
std::string to_endpoint(const std::string& text);

/// `other` as seen from a client of `endpoint`: where it stands for every address of the daemon's
/// machine (*, 0.0.0.0, [::]), that machine is the endpoint's.
std::string on_host_of(const std::string& endpoint, const std::string& other);

/// Whether someone listens there, as far as that can be known without speaking to it: libzmq itself
/// would wait for ever and tell no cause.
cli_result<void> check_endpoint(const std::string& endpoint);

} // namespace corral::cli
