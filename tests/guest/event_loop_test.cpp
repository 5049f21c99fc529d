#include "guest/event_loop.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include <atomic>
#include <thread>

using namespace corral;
using namespace corral::guest;
using namespace std::chrono_literals;

namespace {

std::pair<unique_fd, unique_fd> pipe_pair() {
  int fds[2];
  REQUIRE(::pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
  return {unique_fd{fds[0]}, unique_fd{fds[1]}};
}

} // namespace

TEST_SUITE("event loop") {
  TEST_CASE("timers go off in the order of their times, once each") {
    event_loop loop;
    std::string order;
    auto now = loop.now();
    auto late = loop.at(now + 2ms, [&] { order += "b"; });
    auto early = loop.at(now, [&] { order += "a"; });
    auto never = loop.at(now, [&] { order += "x"; });
    never.reset();
    CHECK(loop.run_until([&] { return order.size() == 2; }, 5s));
    CHECK(order == "ab");
  }

  TEST_CASE("a timer may replace itself while it goes off") {
    event_loop loop;
    int count = 0;
    event_loop::timer again;
    std::function<void()> tick = [&] {
      if (++count < 3)
        again = loop.after({}, tick);
    };
    again = loop.after({}, tick);
    CHECK(loop.run_until([&] { return count == 3; }, 5s));
  }

  TEST_CASE("a handler may end another watch whose event is due already") {
    event_loop loop;
    auto [read_a, write_a] = pipe_pair();
    auto [read_b, write_b] = pipe_pair();
    int calls = 0;
    event_loop::watch a, b;
    a = loop.watch_fd(read_a, EPOLLIN, [&](uint32_t) { ++calls, a.reset(), b.reset(); });
    b = loop.watch_fd(read_b, EPOLLIN, [&](uint32_t) { ++calls, a.reset(), b.reset(); });
    REQUIRE(::write(write_a.get(), "x", 1) == 1);
    REQUIRE(::write(write_b.get(), "x", 1) == 1);
    CHECK(loop.run_until([&] { return calls > 0; }, 5s));
    loop.run_until([] { return false; }, 1ms);
    CHECK(calls == 1);
  }

  TEST_CASE("work posted by other threads runs in the loop's own, in order") {
    event_loop loop;
    std::vector<int> seen;
    std::thread other{[&] {
      for (int i = 0; i < 1000; ++i)
        loop.post([&, i] { seen.push_back(i); });
      loop.post([&] { loop.stop(); });
    }};
    loop.run();
    other.join();
    REQUIRE(seen.size() == 1000);
    CHECK(std::is_sorted(seen.begin(), seen.end()));
  }
}
