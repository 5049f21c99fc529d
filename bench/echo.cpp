#include "bench/echo.hpp"

#include "bench/children.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace corral::bench {

namespace {

/// The sizes of the answer stand at the start of the request's header, whose rest is blank.
constexpr size_t sizes_width = 18;

std::string request_header(const frame_sizes& x) {
  char text[sizes_width + 1];
  std::snprintf(text, sizeof text, "%08zu %08zu ", x.answer_header, x.answer_payload);
  std::string header{text, sizes_width};
  header.resize(std::max(x.request_header, sizes_width), ' ');
  return header;
}

std::string endpoint_in(const temp_dir& dir) {
  return "ipc://" + (dir.path() / "s").native();
}

} // namespace

echo::echo(zmq::context_t& context)
    : dir_{temp_dir::make("corral-echo-").value()},
      process_{spawn_self({"--echo", endpoint_in(dir_)})}, dealer_{context, endpoint_in(dir_)} {}

void echo::exchange(const frame_sizes& x) {
  send(x);
  receive();
}

void echo::send(const frame_sizes& x) {
  payload_.resize(x.request_payload, 'x');
  dealer_.send(request_header(x), payload_);
}

size_t echo::receive() {
  return dealer_.receive().payload.size();
}

int serve_echo(const std::string& endpoint) {
  zmq::context_t context{1};
  zmq::socket_t router{context, zmq::socket_type::router};
  router.set(zmq::sockopt::sndhwm, 0);
  router.bind(endpoint);
  std::string filler(1 << 20, 'y');
  for (;;) {
    zmq::message_t id, protocol, header, payload;
    [[maybe_unused]] auto got = router.recv(id);
    got = router.recv(protocol);
    got = router.recv(header);
    if (header.more())
      got = router.recv(payload);
    auto text = header.to_string();
    auto head = std::strtoul(text.c_str(), nullptr, 10);
    auto body = std::strtoul(text.c_str() + 9, nullptr, 10);
    router.send(id, zmq::send_flags::sndmore);
    router.send(protocol, zmq::send_flags::sndmore);
    auto last = body > 0 ? zmq::send_flags::sndmore : zmq::send_flags::none;
    router.send(zmq::buffer(filler.data(), std::min(head, filler.size())), last);
    if (body > 0)
      router.send(zmq::buffer(filler.data(), std::min(body, filler.size())), zmq::send_flags::none);
  }
}

} // namespace corral::bench
