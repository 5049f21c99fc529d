#include "apps/cli/command_line.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace corral::cli;

TEST_CASE("an event is a line: when, what, where, whose, and what else it says") {
  fields x;
  x.set("event", "exec.finished").set("time", int64_t{1'700'000'000'042}).set("seq", 7);
  x.set("boot", "b").set("sandbox", "0123456789abcdef").set("user", "ann").set("thread", "t");
  x.set("pool", "default").set("exit_code", nullptr).set("duration_ms", 12).set("timed_out", true);
  CHECK(event_line(x)
        == "2023-11-14T22:13:20.042Z  exec.finished     0123456789abcdef  ann/t  duration_ms=12  "
           "exit_code=-  pool=default  timed_out=true");
}

TEST_CASE("what an event holds can't steer a terminal") {
  CHECK(event_line(fields{}.set("request", "a\x1b[2J")).find('\x1b') == std::string::npos);
}

TEST_CASE("events takes the beginnings of topics and a thread") {
  auto line = parse_command_line({"--json", "events", "exec.", "sandbox.lost", "-t", "demo"}, true);
  REQUIRE(line);
  auto& x = std::get<command_line>(*line);
  CHECK(x.json);
  auto& asked = std::get<events_options>(x.what);
  CHECK(asked.topics == std::vector<std::string>{"exec.", "sandbox.lost"});
  CHECK(asked.thread == "demo");
}
