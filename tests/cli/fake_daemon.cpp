#include "tests/cli/fake_daemon.hpp"

namespace corral::test {

namespace {

std::vector<zmq::message_t> receive(zmq::socket_t& router) {
  std::vector<zmq::message_t> frames;
  do {
    zmq::message_t x;
    if (!router.recv(x, zmq::recv_flags::none))
      return {};
    frames.push_back(std::move(x));
  } while (frames.back().more());
  return frames;
}

void reply(zmq::socket_t& router, const zmq::message_t& to, const message& x) {
  auto payload = x.encode_payload();
  auto last = payload.empty() ? zmq::send_flags::none : zmq::send_flags::sndmore;
  router.send(zmq::buffer(to.to_string_view()), zmq::send_flags::sndmore);
  router.send(zmq::str_buffer("corral/1"), zmq::send_flags::sndmore);
  router.send(zmq::message_t{x.encode_header()}, last);
  if (!payload.empty())
    router.send(zmq::message_t{payload.view()}, zmq::send_flags::none);
}

} // namespace

fake_daemon::fake_daemon(script answer) : answer_{std::move(answer)} {
  zmq::socket_t router{context_, zmq::socket_type::router};
  router.set(zmq::sockopt::rcvtimeo, 20); // How long the end of a test may take.
  router.set(zmq::sockopt::linger, 0);
  router.bind(endpoint());
  thread_ = std::thread{[this, s = std::move(router)]() mutable { serve(std::move(s)); }};
}

fake_daemon::~fake_daemon() {
  stopped_ = true;
  thread_.join();
}

void fake_daemon::serve(zmq::socket_t router) {
  while (!stopped_) {
    auto frames = receive(router);
    if (frames.size() < 3)
      continue;
    auto bytes = frames.size() > 3 ? blob::copy_of(frames[3].to_string_view()) : blob{};
    auto x = message::decode(frames[2].to_string_view(), bytes).value();
    for (auto& answer : answer_(x)) {
      if (!answer.header.has("re"))
        answer.header.set("re", x.header.text("id").value_or(""));
      reply(router, frames[0], answer);
    }
  }
}

std::vector<message> greet(const message& x, std::string_view boot) {
  auto op = x.header.text("op");
  if (op != "hello" && op != "ping")
    return {};
  return {ok(fields{}.set("server", "corrald test").set("boot", boot))};
}

message ok(const fields& result) {
  return make_reply(result);
}

} // namespace corral::test
