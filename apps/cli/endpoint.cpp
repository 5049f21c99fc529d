#include "apps/cli/endpoint.hpp"

#include "os/socket.hpp"

#include <cerrno>

namespace corral::cli {

namespace {

constexpr std::string_view ipc = "ipc://";

std::string advice(int number) {
  switch (number) {
  case ENOENT:
    return "nothing is there. Start corrald, or name its socket with --endpoint or "
           "$CORRAL_ENDPOINT";
  case ECONNREFUSED:
    return "nobody listens on it. Start corrald";
  case EACCES:
  case EPERM:
    return "permission denied. Become a member of the daemon's ipc_group, run this as the daemon's "
           "own user, or start a corrald of your own";
  default:
    return "";
  }
}

} // namespace

std::string default_endpoint(uid_t uid, const variable_lookup& environment) {
  if (uid == 0)
    return "ipc:///run/corral/corral.sock";
  auto runtime = environment("XDG_RUNTIME_DIR").value_or("");
  if (runtime.starts_with('/'))
    return std::string{ipc} + runtime + "/corral/corral.sock";
  return std::string{ipc} + "/tmp/corral-" + std::to_string(uid) + "/corral.sock";
}

std::string to_endpoint(const std::string& text) {
  return text.starts_with('/') ? std::string{ipc} + text : text;
}

std::string on_host_of(const std::string& endpoint, const std::string& other) {
  if (other.find("://") == other.npos) // A socket in the same directory.
    return endpoint.substr(0, endpoint.rfind('/') + 1) + other;
  constexpr std::string_view tcp = "tcp://";
  if (!endpoint.starts_with(tcp) || !other.starts_with(tcp))
    return other;
  auto port = other.rfind(':');
  auto host = other.substr(tcp.size(), port - tcp.size());
  if (host != "*" && host != "0.0.0.0" && host != "[::]")
    return other;
  return endpoint.substr(0, endpoint.rfind(':')) + other.substr(port);
}

cli_result<void> check_endpoint(const std::string& endpoint) {
  if (!endpoint.starts_with(ipc))
    return {};
  auto connected = connect_unix(endpoint.substr(ipc.size()));
  if (connected)
    return {};
  auto& why = connected.error();
  auto text = advice(why.number);
  return failed("no_daemon",
                "no daemon at " + endpoint + ": " + (text.empty() ? why.what : text) + ".");
}

} // namespace corral::cli
