#include "bridge/zap_handler.hpp"

#include <array>

namespace corral {

namespace {

constexpr std::string_view version = "1.0";
constexpr size_t key_bytes = 32;

// Of a request: version, id, domain, address, routing id, mechanism, credentials.
enum frame : size_t { version_at, id_at, domain_at, mechanism_at = 5, key_at, curve_frames };

std::string to_z85(std::string_view key) {
  std::array<char, 41> text{};
  ::zmq_z85_encode(text.data(), reinterpret_cast<const uint8_t*>(key.data()), key.size());
  return text.data();
}

} // namespace

zap_handler::zap_handler(zmq::context_t& context, io_loop& loop, judge decide)
    : loop_{loop}, decide_{std::move(decide)}, socket_{context, zmq::socket_type::rep} {
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind(std::string{endpoint});
  watch_ = loop_.watch(socket_.get(zmq::sockopt::fd), [this](auto) { serve(); });
}

zap_handler::~zap_handler() {
  loop_.unwatch(watch_);
}

std::vector<std::string> zap_handler::answer(const std::vector<std::string>& request,
                                             const judge& decide) {
  auto id = request.size() > id_at ? request[id_at] : "";
  auto is_curve = request.size() == curve_frames && request[version_at] == version
                  && request[mechanism_at] == "CURVE" && request[key_at].size() == key_bytes;
  auto name = is_curve ? decide(request[domain_at], to_z85(request[key_at])) : std::nullopt;
  if (!name)
    return {std::string{version}, id, "400", "unknown key", "", ""};
  return {std::string{version}, id, "200", "OK", *name, ""};
}

std::string listen_on(zmq::socket_t& socket, const std::string& endpoint,
                      const std::string& secret_key, std::string_view domain) {
  constexpr int heartbeat_ms = 30'000; // A machine that vanished closes no connection.
  socket.set(zmq::sockopt::heartbeat_ivl, heartbeat_ms);
  socket.set(zmq::sockopt::ipv6, endpoint.find('[') != std::string::npos);
  if (!secret_key.empty()) {
    socket.set(zmq::sockopt::curve_server, true);
    socket.set(zmq::sockopt::curve_secretkey, secret_key);
    socket.set(zmq::sockopt::zap_domain, std::string{domain});
  }
  socket.bind(endpoint);
  return socket.get(zmq::sockopt::last_endpoint);
}

/// Until there is nothing more: the descriptor tells of changes only.
void zap_handler::serve() {
  zmq::message_t x;
  while (socket_.recv(x, zmq::recv_flags::dontwait)) {
    std::vector<std::string> request{x.to_string()};
    while (x.more()) {
      [[maybe_unused]] auto got = socket_.recv(x);
      request.push_back(x.to_string());
    }
    auto reply = answer(request, decide_);
    for (size_t i = 0; i < reply.size(); ++i)
      socket_.send(zmq::buffer(reply[i]),
                   i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
}

} // namespace corral
