#pragma once

#include "actors/io_loop.hpp"

#include <zmq.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral {

/// Answers libzmq's question, by ZAP (rfc.zeromq.org/spec/27), who may connect: the holders of
/// known keys, and nobody else. Sockets bound before it, without CURVE, never ask.
class zap_handler {
public:
  static constexpr std::string_view endpoint = "inproc://zeromq.zap.01";

  /// The name of a key's holder, if it may connect to a socket of that domain; the key in Z85.
  using judge =
      std::function<std::optional<std::string>(std::string_view domain, std::string_view key)>;

  /// Throws zmq::error_t if the context has a handler already.
  zap_handler(zmq::context_t& context, io_loop& loop, judge decide);
  ~zap_handler();

  zap_handler(const zap_handler&) = delete;
  zap_handler& operator=(const zap_handler&) = delete;

  /// The frames of a reply to the frames of a request.
  static std::vector<std::string> answer(const std::vector<std::string>& request,
                                         const judge& decide);

private:
  void serve();

  io_loop& loop_;
  judge decide_;
  zmq::socket_t socket_;
  io_loop::watch_id watch_;
};

/// Binds a TCP endpoint; returns it in full. With a secret key, in Z85, what is bound from now on
/// asks for keys: the context must have its handler by then, as libzmq lets everyone in where there
/// is none. Peers that have gone silent are dropped. Throws zmq::error_t.
std::string listen_on(zmq::socket_t& socket, const std::string& endpoint,
                      const std::string& secret_key, std::string_view domain);

} // namespace corral
