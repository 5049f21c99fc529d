#include "actors/exec_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

using namespace corral;
using namespace std::chrono_literals;

namespace {

using tickets = std::vector<uint64_t>;

constexpr bool exec = true;
constexpr bool file = false;

const exec_queue::time_point start{1h};

struct fixture {
  exec_queue queue{{.waiting = 4, .parallel = 2}};

  bool add(uint64_t ticket, std::string client, bool serial) {
    return queue.add({ticket, std::move(client), serial, {}});
  }

  bool add_until(uint64_t ticket, exec_queue::time_point deadline) {
    return queue.add({ticket, "a", exec, deadline});
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "execs run one at a time, in the order they came") {
  for (uint64_t i = 1; i <= 3; ++i)
    REQUIRE(add(i, "client " + std::to_string(i), exec));
  CHECK(queue.take_startable() == tickets{1});
  CHECK(queue.running_exec() == 1);
  CHECK(queue.take_startable().empty());
  queue.finish(1);
  CHECK(queue.take_startable() == tickets{2});
  queue.finish(2);
  CHECK(queue.take_startable() == tickets{3});
  queue.finish(3);
  CHECK(queue.idle());
  CHECK_FALSE(queue.running_exec());
}

TEST_CASE_FIXTURE(fixture, "file operations run beside a running exec, up to their limit") {
  add(1, "a", exec);
  add(2, "b", file);
  add(3, "c", file);
  add(4, "d", file);
  CHECK(queue.take_startable() == tickets{1, 2, 3});
  CHECK(queue.running() == 3);
  queue.finish(1);
  CHECK(queue.take_startable().empty()); // An exec's end frees no place for a file operation.
  queue.finish(3);
  CHECK(queue.take_startable() == tickets{4});
}

TEST_CASE_FIXTURE(fixture, "an exec needs none of the file operations' places") {
  add(1, "a", file);
  add(2, "b", file);
  add(3, "c", exec);
  CHECK(queue.take_startable() == tickets{1, 2, 3});
}

TEST_CASE_FIXTURE(fixture,
                  "a client's file operation waits for its own exec to start, not to end") {
  add(1, "a", exec);
  add(2, "b", exec);
  add(3, "b", file);
  CHECK(queue.take_startable() == tickets{1});
  queue.finish(1);
  CHECK(queue.take_startable() == tickets{2, 3});
}

TEST_CASE_FIXTURE(fixture, "a client's file operation does not wait for another client's exec") {
  add(1, "a", exec);
  add(2, "b", exec);
  add(3, "c", file);
  CHECK(queue.take_startable() == tickets{1, 3});
}

TEST_CASE_FIXTURE(fixture, "an exec that waits behind its client's file operation keeps its turn") {
  add(1, "x", file);
  add(2, "y", file);
  REQUIRE(queue.take_startable() == tickets{1, 2});
  add(3, "a", file);
  add(4, "a", exec);
  add(5, "b", exec);
  CHECK(queue.take_startable().empty());
  queue.finish(1);
  CHECK(queue.take_startable() == tickets{3, 4});
}

TEST_CASE_FIXTURE(fixture, "a full queue refuses what would wait") {
  add(1, "a", exec);
  REQUIRE(queue.take_startable() == tickets{1});
  for (uint64_t i = 2; i <= 5; ++i)
    REQUIRE(add(i, "a", exec));
  CHECK_FALSE(add(6, "b", exec));
  CHECK(queue.waiting() == 4);
}

TEST_CASE_FIXTURE(fixture, "a full queue takes what starts at once") {
  add(1, "a", exec);
  REQUIRE(queue.take_startable() == tickets{1});
  for (uint64_t i = 2; i <= 5; ++i)
    REQUIRE(add(i, "a", exec));
  REQUIRE(add(6, "b", file));
  CHECK(queue.take_startable() == tickets{6});
  CHECK_FALSE(add(7, "a", file)); // It would wait behind its client's execs.
}

TEST_CASE_FIXTURE(fixture, "a request that is taken out never starts, and frees its place") {
  add(1, "a", exec);
  REQUIRE(queue.take_startable() == tickets{1});
  add(2, "a", exec);
  add(3, "a", exec);
  CHECK(queue.remove(2));
  CHECK_FALSE(queue.remove(2));
  CHECK_FALSE(queue.remove(1)); // It runs.
  CHECK(queue.waiting() == 1);
  queue.finish(1);
  CHECK(queue.take_startable() == tickets{3});
}

TEST_CASE_FIXTURE(fixture, "a deadline is the last instant that a request does not wait for") {
  add(1, "a", exec);
  REQUIRE(queue.take_startable() == tickets{1});
  add_until(2, start + 2s);
  add_until(3, start + 1s);
  add(4, "a", exec);
  CHECK(queue.next_deadline() == start + 1s);
  CHECK(queue.take_expired(start + 1s - 1ns).empty());
  CHECK(queue.take_expired(start + 1s) == tickets{3});
  CHECK(queue.next_deadline() == start + 2s);
  CHECK(queue.take_expired(start + 1h) == tickets{2});
  CHECK_FALSE(queue.next_deadline());
  CHECK(queue.waiting() == 1);
}

TEST_CASE_FIXTURE(fixture, "a request that runs has no deadline any more") {
  add_until(1, start + 1s);
  REQUIRE(queue.take_startable() == tickets{1});
  CHECK_FALSE(queue.next_deadline());
  CHECK(queue.take_expired(start + 1h).empty());
  CHECK(queue.running_exec() == 1);
}

TEST_CASE_FIXTURE(fixture, "taking all that wait leaves what runs") {
  add(1, "a", exec);
  REQUIRE(queue.take_startable() == tickets{1});
  add(2, "b", exec);
  add(3, "a", file);
  CHECK(queue.take_waiting() == tickets{2, 3});
  CHECK(queue.waiting() == 0);
  CHECK(queue.running() == 1);
  CHECK_FALSE(queue.idle());
}

TEST_CASE_FIXTURE(fixture, "the end of a request that never ran changes nothing") {
  add(1, "a", exec);
  REQUIRE(queue.take_startable() == tickets{1});
  queue.finish(99);
  CHECK(queue.running_exec() == 1);
  CHECK(queue.running() == 1);
}

TEST_CASE("any mix keeps one exec, the limits, and every client's order") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng{seed};
    exec_queue queue{{.waiting = 16, .parallel = 3}};
    std::map<uint64_t, std::pair<std::string, bool>> accepted;
    std::map<std::string, uint64_t> last_started;
    tickets running;
    size_t started = 0;
    for (uint64_t ticket = 1; ticket <= 300; ++ticket) {
      std::string client(1, static_cast<char>('a' + rng() % 4));
      auto serial = rng() % 2 == 0;
      if (queue.add({ticket, client, serial, {}}))
        accepted[ticket] = {client, serial};
      if (!running.empty() && rng() % 2) {
        auto i = running.begin() + static_cast<long>(rng() % running.size());
        queue.finish(*i);
        running.erase(i);
      }
      for (auto x : queue.take_startable()) {
        auto& last = last_started[accepted.at(x).first];
        REQUIRE(x > last);
        last = x;
        running.push_back(x);
        ++started;
      }
      auto execs = std::count_if(running.begin(), running.end(),
                                 [&](auto x) { return accepted.at(x).second; });
      REQUIRE(execs <= 1);
      REQUIRE(running.size() - static_cast<size_t>(execs) <= 3);
      REQUIRE(queue.waiting() <= 16);
    }
    while (!running.empty()) {
      queue.finish(running.back());
      running.pop_back();
      for (auto x : queue.take_startable()) {
        running.push_back(x);
        ++started;
      }
    }
    REQUIRE(started == accepted.size()); // Nobody starves.
    REQUIRE(queue.idle());
  }
}
