// A client on a socket of its own, which speaks the wire and nothing more.

#pragma once

#include "messages/wire/message.hpp"

#include <doctest/doctest.h>
#include <zmq.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace corral::test {

constexpr std::chrono::milliseconds patience{10'000}; ///< After which a test gives up.

class wire_client {
public:
  explicit wire_client(const std::string& endpoint,
                       zmq::socket_type type = zmq::socket_type::dealer,
                       const std::function<void(zmq::socket_t&)>& prepare = {})
      : socket_{context_, type} {
    if (prepare)
      prepare(socket_);
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvhwm, 2); // A client that doesn't read is soon full.
    socket_.connect(endpoint);
  }

  void send(const message& x) {
    auto payload = x.encode_payload();
    send_raw(x.encode_header(), payload.view());
  }
  void send(fields header) { send(message{std::move(header), {}}); }

  void send_raw(std::string_view header, std::string_view payload = {}) {
    socket_.send(zmq::str_buffer("corral/1"), zmq::send_flags::sndmore);
    socket_.send(zmq::buffer(header),
                 payload.empty() ? zmq::send_flags::none : zmq::send_flags::sndmore);
    if (!payload.empty())
      socket_.send(zmq::buffer(payload), zmq::send_flags::none);
  }

  /// The next message; nothing after `limit`.
  std::optional<message> try_receive(std::chrono::milliseconds limit) {
    zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
    zmq::poll(&item, 1, limit);
    if (!item.revents)
      return std::nullopt;
    std::vector<std::string> frames;
    for (bool more = true; more;) {
      zmq::message_t m;
      [[maybe_unused]] auto got = socket_.recv(m);
      frames.push_back(m.to_string());
      more = m.more();
    }
    REQUIRE((frames.size() == 2 || frames.size() == 3));
    REQUIRE(frames[0] == "corral/1");
    auto x =
        message::decode(frames[1], frames.size() == 3 ? blob::take(std::move(frames[2])) : blob{});
    REQUIRE(x);
    return std::move(*x);
  }

  message receive() {
    auto x = try_receive(patience);
    REQUIRE_MESSAGE(x, "no message came");
    return std::move(*x);
  }

  /// Sends a request and returns the next message, which must be its final reply.
  message ask(message x) {
    auto id = x.header.text("id").value();
    send(x);
    auto reply = receive();
    CHECK(reply.header.text("re") == id);
    CHECK(reply.header.has("ok"));
    return reply;
  }
  message ask(fields header) { return ask(message{std::move(header), {}}); }

private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

/// The code of a reply's error; empty for a success.
inline std::string code_of(const message& reply) {
  auto failed = reply.header.object("error");
  return failed ? failed->text("code").value_or("?") : "";
}

} // namespace corral::test
