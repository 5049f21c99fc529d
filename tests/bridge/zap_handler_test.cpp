// Who may connect, with real sockets of both kinds on one ROUTER.

#include "bridge/key_pair.hpp"
#include "bridge/zap_handler.hpp"
#include "bridge/zmq_loop.hpp"
#include "os/temp_dir.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace corral;

namespace {

constexpr int patience = 10'000; // Milliseconds.

struct client {
  zmq::context_t context;
  zmq::socket_t socket{context, zmq::socket_type::dealer};

  client() {
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, patience);
  }
  void use(const key_pair& own, const std::string& server) {
    socket.set(zmq::sockopt::curve_publickey, own.public_key);
    socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
    socket.set(zmq::sockopt::curve_serverkey, server);
  }
  /// Who the daemon takes it for.
  std::string ask(const std::string& endpoint) {
    socket.connect(endpoint);
    socket.send(zmq::str_buffer("corral/1"), zmq::send_flags::sndmore);
    socket.send(zmq::str_buffer("{}"), zmq::send_flags::none);
    zmq::message_t protocol, x;
    if (!socket.recv(protocol) || !socket.recv(x))
      return "nothing came";
    return x.to_string();
  }
};

struct fixture {
  temp_dir dir = std::move(*temp_dir::make("zap"));
  std::string ipc = "ipc://" + (dir.path() / "s").string();
  zmq::context_t context;
  key_pair server = key_pair::make(), ann = key_pair::make();
  zmq_loop loop{context, {ipc, 1 << 20}};
  std::atomic<int> asked = 0;
  zap_handler zap{context, loop, [this](auto domain, auto key) -> std::optional<std::string> {
                    ++asked;
                    return domain == zmq_loop::zap_domain && key == ann.public_key
                               ? std::optional<std::string>{"ann"}
                               : std::nullopt;
                  }};
  std::string tcp = loop.listen("tcp://127.0.0.1:*", server.secret_key);
  std::thread thread{[this] {
    loop.run({[this](std::string to, auto frames) {
                auto who = zmq_loop::sender_of(frames.front());
                loop.send({to, false, who.empty() ? "ipc" : std::string{who}, {}, {}, 0});
              },
              [] {}, [](auto, auto) {}});
  }};

  ~fixture() {
    loop.stop();
    thread.join();
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "whoever holds a known key is known by its name, on each message") {
  client x;
  x.use(ann, server.public_key);
  CHECK(x.ask(tcp) == "ann");
}

TEST_CASE_FIXTURE(fixture, "IPv6 does as well, where the machine has it") {
  zmq::socket_t probe{context, zmq::socket_type::router};
  try {
    auto own = listen_on(probe, "tcp://[::1]:*", server.secret_key, zmq_loop::zap_domain);
    CHECK(own.starts_with("tcp://[::1]:"));
  } catch (const zmq::error_t& e) {
    CHECK_MESSAGE((e.num() == EADDRNOTAVAIL || e.num() == EAFNOSUPPORT || e.num() == ENODEV),
                  e.what());
  }
}

TEST_CASE_FIXTURE(fixture, "the socket needs no key beside a TCP endpoint that does") {
  client x;
  CHECK(x.ask(ipc) == "ipc");
  CHECK(asked == 0);
}

TEST_CASE_FIXTURE(fixture, "an unknown key is refused, and so is none") {
  client stranger, bare;
  stranger.use(key_pair::make(), server.public_key);
  for (auto x : {&stranger, &bare}) {
    x->socket.set(zmq::sockopt::rcvtimeo, 500);
    CHECK(x->ask(tcp) == "nothing came");
  }
  CHECK(asked > 0);
  client x;
  x.use(ann, server.public_key);
  CHECK(x.ask(tcp) == "ann"); // Nobody else is hurt.
}

TEST_CASE_FIXTURE(fixture, "a client doesn't speak to a server with another key") {
  client x;
  x.use(ann, key_pair::make().public_key);
  x.socket.set(zmq::sockopt::rcvtimeo, 500);
  CHECK(x.ask(tcp) == "nothing came");
}

TEST_CASE("what is asked in another way than CURVE is refused") {
  auto all = [](auto, auto) { return std::optional<std::string>{"x"}; };
  std::string key(32, 'k');
  std::vector<std::string> good{"1.0", "7", "d", "1.2.3.4", "", "CURVE", key};
  CHECK(zap_handler::answer(good, all)
        == std::vector<std::string>{"1.0", "7", "200", "OK", "x", ""});
  auto code = [&](auto change) {
    auto x = good;
    change(x);
    return zap_handler::answer(x, all).at(2);
  };
  CHECK(code([](auto& x) { x[5] = "NULL"; }) == "400");
  CHECK(code([](auto& x) { x[6] = "short"; }) == "400");
  CHECK(code([](auto& x) { x.pop_back(); }) == "400");
  CHECK(code([](auto& x) { x[0] = "2.0"; }) == "400");
  CHECK(code([](auto& x) { x.clear(); }) == "400");
}
