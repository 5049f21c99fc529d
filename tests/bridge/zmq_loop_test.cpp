#include "bridge/zmq_loop.hpp"

#include "os/temp_dir.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <fcntl.h>
#include <filesystem>
#include <thread>

using namespace corral;

#ifdef __SANITIZE_THREAD__
// libzmq itself is not instrumented: what it does is not looked at, what it calls of ours is.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libzmq.so\n";
}
#endif

namespace {

using frames = std::vector<std::string>;

constexpr auto patience = 10'000; // Milliseconds until a test gives up.

frames texts(std::vector<zmq::message_t>& x) {
  frames result;
  for (auto& f : x)
    result.push_back(f.to_string());
  return result;
}

struct client {
  zmq::context_t context;
  zmq::socket_t socket;

  client(const std::string& endpoint, zmq::socket_type type) : socket{context, type} {
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, patience);
    socket.connect(endpoint);
  }

  void send(const frames& x) {
    for (size_t i = 0; i < x.size(); ++i)
      socket.send(zmq::buffer(x[i]),
                  i + 1 < x.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }

  frames receive() {
    frames result;
    for (;;) {
      zmq::message_t m;
      REQUIRE_MESSAGE(socket.recv(m), "nothing came");
      result.push_back(m.to_string());
      if (!m.more())
        return result;
    }
  }
};

/// The loop on its thread. What its callbacks do is the test's.
struct fixture {
  temp_dir dir = std::move(*temp_dir::make("loop"));
  std::string endpoint = "ipc://" + (dir.path() / "s").string();
  zmq::context_t context;
  zmq_loop loop{context, {endpoint, 1 << 20}};
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::pair<uint64_t, uint64_t>> freed;
  int woken = 0;
  std::function<void()> on_wake;
  std::function<void(const std::string&, frames)> on_message = [this](auto& to, frames x) {
    loop.send({to, x[0].empty(), "head:" + x.back(), {}, {}, 0});
  };
  std::thread thread;

  /// Callbacks that a test sets itself come before this.
  void start() {
    thread = std::thread{[this] {
      loop.run({[this](std::string to, auto x) { on_message(to, texts(x)); },
                [this] {
                  if (on_wake)
                    on_wake();
                  note([this] { ++woken; });
                },
                [this](uint64_t tag, uint64_t bytes) {
                  note([&] { freed.emplace_back(tag, bytes); });
                }});
    }};
  }

  ~fixture() {
    loop.stop();
    thread.join();
  }

  void note(const std::function<void()>& x) {
    std::lock_guard guard{mutex};
    x();
    changed.notify_all();
  }
  bool wait_for(const std::function<bool()>& x) {
    std::unique_lock lock{mutex};
    return changed.wait_for(lock, std::chrono::milliseconds{patience}, x);
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "a message comes with its sender, and an answer finds the way back") {
  start();
  client a{endpoint, zmq::socket_type::dealer}, b{endpoint, zmq::socket_type::dealer};
  a.send({"corral/1", "from a"});
  b.send({"corral/1", "from b"});
  CHECK(a.receive() == frames{"corral/1", "head:from a"});
  CHECK(b.receive() == frames{"corral/1", "head:from b"});
}

TEST_CASE_FIXTURE(fixture, "a REQ socket gets its delimiter back") {
  start();
  client a{endpoint, zmq::socket_type::req};
  for (int i = 0; i < 3; ++i) {
    a.send({"corral/1", "x"});
    CHECK(a.receive() == frames{"corral/1", "head:x"});
  }
}

TEST_CASE_FIXTURE(fixture,
                  "a payload is a frame of its own, and its release is told with its tag") {
  on_message = [this](auto& to, frames) {
    loop.send({to, false, "head", blob::copy_of(std::string(100'000, 'p')), {}, 77});
    loop.send({to, false, "head", blob::copy_of("untold"), {}, 0});
  };
  start();
  client a{endpoint, zmq::socket_type::dealer};
  a.send({"corral/1", "x"});
  auto got = a.receive();
  REQUIRE(got.size() == 3);
  CHECK(got[2] == std::string(100'000, 'p'));
  CHECK(a.receive()[2] == "untold");
  CHECK(wait_for([&] { return !freed.empty(); }));
  std::lock_guard guard{mutex};
  CHECK(freed == std::vector<std::pair<uint64_t, uint64_t>>{{77, 100'000}});
}

TEST_CASE_FIXTURE(fixture, "an account holds what libzmq holds, and nothing in the end") {
  auto charge = std::make_shared<zmq_loop::account>();
  on_message = [this, charge](auto& to, frames) {
    loop.send({to, false, "1234", blob::copy_of("567890"), charge, 5});
  };
  start();
  client a{endpoint, zmq::socket_type::dealer};
  a.send({"corral/1", "x"});
  a.receive();
  CHECK(wait_for([&] { return !freed.empty(); }));
  CHECK(charge->queued == 0);
}

TEST_CASE_FIXTURE(fixture, "a message for nobody is refused and its bytes are let go") {
  std::atomic<int> sent = -1;
  auto charge = std::make_shared<zmq_loop::account>();
  std::weak_ptr<const void> bytes;
  on_message = [&](auto& to, frames) {
    auto payload = blob::copy_of("lost");
    bytes = payload.owner();
    sent = loop.send({"stranger", false, "head", std::move(payload), charge, 9});
    loop.send({to, false, "done", {}, {}, 0});
  };
  start();
  client a{endpoint, zmq::socket_type::dealer};
  a.send({"corral/1", "x"});
  a.receive();
  CHECK(sent == 0);
  CHECK(charge->queued == 0);
  CHECK(bytes.expired());
}

TEST_CASE_FIXTURE(fixture, "messages of many frames are read to their end and do not spill over") {
  std::vector<size_t> sizes;
  on_message = [&](auto& to, frames x) {
    note([&] { sizes.push_back(x.size()); });
    loop.send({to, false, "ok", {}, {}, 0});
  };
  start();
  client a{endpoint, zmq::socket_type::dealer};
  a.send(frames(100, "x"));
  a.receive();
  a.send({"corral/1", "y"});
  a.receive();
  std::lock_guard guard{mutex};
  REQUIRE(sizes.size() == 2);
  CHECK(sizes[0] <= 8);
  CHECK(sizes[1] == 2);
}

TEST_CASE_FIXTURE(fixture, "a frame beyond the limit ends that client's connection, not the loop") {
  start();
  client big{endpoint, zmq::socket_type::dealer}, small{endpoint, zmq::socket_type::dealer};
  big.send({"corral/1", std::string(2 << 20, 'x')});
  small.send({"corral/1", "x"});
  CHECK(small.receive() == frames{"corral/1", "head:x"});
}

TEST_CASE_FIXTURE(fixture, "no wake-up from any thread is lost") {
  std::atomic<int> queued = 0;
  std::atomic<int> seen = 0;
  on_wake = [&] { seen += queued.exchange(0); };
  start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        ++queued;
        loop.wake();
      }
    });
  for (auto& t : threads)
    t.join();
  CHECK(wait_for([&] { return queued == 0 && seen == 8000; }));
  std::lock_guard guard{mutex};
  CHECK(woken <= 8000);
}

TEST_CASE_FIXTURE(fixture, "a flood of messages does not keep the loop from waking") {
  client a{endpoint, zmq::socket_type::dealer};
  a.socket.set(zmq::sockopt::sndhwm, 0);
  on_message = [this](auto& to, frames x) {
    if (x.back() == "last")
      loop.send({to, false, "end", {}, {}, 0});
    else
      loop.wake();
  };
  start();
  for (int i = 0; i < 5000; ++i)
    a.send({"corral/1", "x"});
  a.send({"corral/1", "last"});
  CHECK(a.receive() == frames{"corral/1", "end"});
  std::lock_guard guard{mutex};
  CHECK(woken > 100);
}

TEST_CASE("a loop that is stopped before it runs ends at once") {
  auto dir = std::move(*temp_dir::make("loop"));
  zmq::context_t context;
  zmq_loop loop{context, {"ipc://" + (dir.path() / "s").string()}};
  loop.stop();
  loop.run({[](auto, auto) {}, [] {}, [](auto, auto) {}});
}

TEST_CASE("an endpoint that can't be bound is an exception") {
  zmq::context_t context;
  CHECK_THROWS_AS((zmq_loop{context, {"ipc:///nowhere/at/all"}}), zmq::error_t);
}

TEST_CASE("none of the loop's own descriptors is inherited by a program that is started") {
  auto own = [] {
    std::vector<int> result;
    for (auto& x : std::filesystem::directory_iterator{"/proc/self/fd"}) {
      std::error_code gone;
      auto target = std::filesystem::read_symlink(x.path(), gone).string();
      if (target.find("eventfd") != std::string::npos)
        result.push_back(std::stoi(x.path().filename()));
    }
    return result;
  };
  auto dir = std::move(*temp_dir::make("loop"));
  zmq::context_t context;
  zmq_loop loop{context, {"ipc://" + (dir.path() / "s").string()}};
  auto all = own();
  CHECK(all.size() >= 2);
  for (auto fd : all)
    CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
}
