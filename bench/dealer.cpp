#include "bench/dealer.hpp"

#include <stdexcept>

namespace corral::bench {

namespace {

constexpr int patience_ms = 60'000;

} // namespace

std::string dealer::answer::string(std::string_view name) const {
  auto key = std::string{"\""}.append(name).append("\":\"");
  auto at = text().find(key);
  if (at == std::string_view::npos)
    return "";
  auto rest = text().substr(at + key.size());
  return std::string{rest.substr(0, rest.find('"'))};
}

dealer::dealer(zmq::context_t& context, const std::string& endpoint)
    : socket_{context, zmq::socket_type::dealer} {
  socket_.set(zmq::sockopt::linger, 0);
  socket_.set(zmq::sockopt::rcvhwm, 0);
  socket_.set(zmq::sockopt::rcvtimeo, patience_ms);
  socket_.connect(endpoint);
}

void dealer::send(std::string_view header, std::string_view payload) {
  auto last = payload.empty() ? zmq::send_flags::none : zmq::send_flags::sndmore;
  socket_.send(zmq::str_buffer("corral/1"), zmq::send_flags::sndmore);
  socket_.send(zmq::buffer(header), last);
  if (!payload.empty())
    socket_.send(zmq::buffer(payload), zmq::send_flags::none);
}

dealer::answer dealer::receive() {
  zmq::message_t protocol;
  answer x;
  if (!socket_.recv(protocol))
    throw std::runtime_error{"no answer within a minute"};
  [[maybe_unused]] auto got = socket_.recv(x.header);
  if (x.header.more())
    got = socket_.recv(x.payload);
  return x;
}

dealer::answer dealer::ask(std::string_view header, std::string_view payload) {
  send(header, payload);
  auto x = receive();
  if (!x.is_ok())
    throw std::runtime_error{"refused: " + std::string{x.text()}};
  return x;
}

std::string exec_header(std::string_view sandbox, size_t command_bytes) {
  return R"({"op":"exec","id":"1","sandbox":")" + std::string{sandbox} + R"(","parts":[["command",)"
         + std::to_string(command_bytes) + "]]}";
}

} // namespace corral::bench
