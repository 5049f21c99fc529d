#include "apps/cli/client_keys.hpp"

namespace corral::cli {

void client_keys::set_on(zmq::socket_t& socket) const {
  socket.set(zmq::sockopt::curve_publickey, own.public_key);
  socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
  socket.set(zmq::sockopt::curve_serverkey, server);
}

cli_result<std::optional<client_keys>>
keys_for(const std::string& endpoint, const std::string& key_file, const std::string& server_key) {
  if (!endpoint.starts_with("tcp://") || (key_file.empty() && server_key.empty()))
    return std::nullopt;
  if (key_file.empty() || server_key.empty())
    return failed("usage", "give both --key and --server-key, or CORRAL_KEY_FILE and "
                           "CORRAL_SERVER_KEY");
  if (!is_curve_key(server_key))
    return failed("usage",
                  "--server-key: expected the 40 characters of the daemon's public key, as "
                  "corral keygen printed it; mind the shell's quotes");
  auto own = read_key_file(key_file);
  if (!own)
    return failed("usage", "--key: " + own.error());
  return client_keys{*own, server_key};
}

} // namespace corral::cli
