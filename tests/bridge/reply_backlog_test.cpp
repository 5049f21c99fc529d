// What waits for a client that takes its replies more slowly than they are made.

#include "bridge/reply_backlog.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace std::chrono_literals;

namespace {

struct fixture {
  reply_backlog backlog;
  reply_backlog::limits limits{100, 1000, 10s};
  reply_backlog::time_point now{1h};

  void push(const std::string& header, uint64_t under_way = 200) {
    zmq_loop::outgoing x;
    x.header = header;
    backlog.push(std::move(x), under_way, now);
  }
  std::string take(uint64_t under_way) {
    auto x = backlog.take(limits, under_way, now);
    return x ? x->header : "";
  }
  bool hopeless(uint64_t under_way = 200) { return backlog.hopeless(limits, under_way, now); }
};

} // namespace

TEST_SUITE("reply backlog") {
  TEST_CASE_FIXTURE(fixture, "what waits goes in order once there is room") {
    push("one");
    push("two");
    CHECK(backlog.bytes() == 6);
    CHECK(take(101) == "");
    CHECK(take(100) == "one");
    CHECK(take(0) == "two");
    CHECK(take(0) == "");
    CHECK(backlog.empty());
    CHECK(backlog.bytes() == 0);
  }

  TEST_CASE_FIXTURE(fixture, "a client that takes nothing is given up when its time is over") {
    push("one");
    now += 9s;
    push("two"); // More to take is no sign of life.
    CHECK_FALSE(hopeless());
    now += 1s;
    CHECK(hopeless());
  }

  TEST_CASE_FIXTURE(fixture, "a client that takes anything has all the time again") {
    push("one", 300);
    now += 9s;
    CHECK_FALSE(hopeless(299));
    now += 9s;
    CHECK_FALSE(hopeless(299));
    now += 1s;
    CHECK(hopeless(299));
  }

  TEST_CASE_FIXTURE(fixture, "giving it the next message is no sign that it took one") {
    push("one");
    push("two");
    CHECK(take(100) == "one");
    now += 10s;
    CHECK(hopeless(103));
  }

  TEST_CASE_FIXTURE(fixture, "the time counts from when something began to wait") {
    now += 1h;
    push("one");
    CHECK_FALSE(hopeless());
    CHECK(take(50) == "one");
    now += 1h;
    CHECK_FALSE(hopeless(53)); // Nothing waits.
    push("two", 53);
    CHECK_FALSE(hopeless(53));
  }

  TEST_CASE_FIXTURE(fixture, "where much waits there is less patience") {
    push(std::string(251, 'x'));
    now += 999ms;
    CHECK_FALSE(hopeless());
    now += 1ms;
    CHECK(hopeless());
  }

  TEST_CASE_FIXTURE(fixture, "too much to keep is given up at once") {
    push(std::string(1000, 'x'));
    CHECK_FALSE(hopeless());
    push("x");
    CHECK(hopeless());
    CHECK(backlog.take_all().size() == 2);
    CHECK(backlog.bytes() == 0);
    CHECK_FALSE(hopeless());
  }
}
