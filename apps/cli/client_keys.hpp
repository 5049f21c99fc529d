#pragma once

#include "apps/cli/cli_error.hpp"
#include "bridge/key_pair.hpp"

#include <zmq.hpp>

#include <optional>
#include <string>

namespace corral::cli {

/// With what this client proves over TCP who it is, and knows the daemon.
struct client_keys {
  key_pair own;
  std::string server; ///< The daemon's public key, in Z85.

  void set_on(zmq::socket_t& socket) const;
};

/// The keys that an endpoint needs: none for a socket, nor where none were given. `usage` if only
/// one of the two was, or if one is no key.
cli_result<std::optional<client_keys>>
keys_for(const std::string& endpoint, const std::string& key_file, const std::string& server_key);

} // namespace corral::cli
