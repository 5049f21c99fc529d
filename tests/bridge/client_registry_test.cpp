#include "bridge/client_registry.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace std::chrono_literals;

namespace {

const client_registry::time_point start{1h};
const auto idle = [](const std::string&) { return false; };

struct fixture {
  client_registry clients;

  result<void> hello(std::string route, std::string name, std::string instance,
                     client_registry::duration heartbeat = 1s,
                     client_registry::time_point now = start) {
    clients.touch(route, now);
    return clients.hello(route, name, instance, heartbeat, now);
  }
  std::string key(std::string route) { return clients.find(route)->key; }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "a connection is a client of its own until it says who it is") {
  clients.touch("r1", start);
  clients.touch("r2", start);
  CHECK(key("r1") != key("r2"));
  CHECK_FALSE(client_registry::may_lease(*clients.find("r1")));
  CHECK(clients.find("r3") == nullptr);
  REQUIRE(hello("r1", "ann", "1"));
  CHECK(client_registry::may_lease(*clients.find("r1")));
}

TEST_CASE_FIXTURE(fixture, "no name is taken for a connection's, nor for another name's") {
  clients.touch("x", start);
  for (auto [name, instance] : {std::pair{"x", ""}, {"\nx", ""}, {"a\nb", "c"}, {"a", "b\nc"}}) {
    clients.touch(std::string{name} + instance, start);
    REQUIRE(hello("r" + std::string{name} + "/" + instance, name, instance));
  }
  CHECK(key("ra\nb/c") != key("ra/b\nc"));
  CHECK(key("x") != key("rx/"));
}

TEST_CASE_FIXTURE(fixture, "a name belongs to one live instance") {
  REQUIRE(hello("r1", "ann", "1"));
  CHECK(hello("r2", "ann", "2").error().code == errc::busy);
  CHECK(hello("r3", "bob", "2"));
  CHECK(hello("r2", "ann", "2", 1s, start + 3s - 1ns).error().code == errc::busy);
  CHECK(hello("r2", "ann", "2", 1s, start + 3s)); // Three heartbeats late is not live.
}

TEST_CASE_FIXTURE(fixture, "without heartbeats a name is not kept") {
  REQUIRE(hello("r1", "ann", "1", 0s));
  CHECK(hello("r2", "ann", "2", 0s));
}

TEST_CASE_FIXTURE(fixture,
                  "a client that connects anew is the same client, by its new connection") {
  REQUIRE(hello("r1", "ann", "1"));
  auto before = key("r1");
  REQUIRE(hello("r2", "ann", "1", 1s, start + 1s));
  CHECK(key("r2") == before);
  CHECK(clients.route_of("r1", before) == "r2");
  CHECK(clients.route_of("r2", before) == "r2");
  CHECK_FALSE(clients.route_of("r9", "nobody"));
  // The old connection's silence says nothing.
  clients.touch("r2", start + 4s);
  CHECK(clients.take_silent(start + 4s, idle).empty());
  CHECK(clients.size() == 1);
}

TEST_CASE_FIXTURE(fixture, "three missed heartbeats make a client silent, to the instant") {
  REQUIRE(hello("r1", "ann", "1"));
  REQUIRE(hello("r2", "bob", "1", 10s));
  CHECK(clients.take_silent(start + 3s - 1ns, idle).empty());
  auto silent = clients.take_silent(start + 3s, idle);
  REQUIRE(silent.size() == 1);
  CHECK(silent[0].name == "ann");
  CHECK(clients.find("r1") == nullptr);
  CHECK(clients.take_silent(start + 3s, idle).empty());
}

TEST_CASE_FIXTURE(fixture, "any message counts as a heartbeat, and so does an open request") {
  REQUIRE(hello("r1", "ann", "1"));
  clients.touch("r1", start + 2s);
  CHECK(clients.take_silent(start + 4s, idle).empty());
  auto ann = key("r1");
  CHECK(clients.take_silent(start + 1h, [&](auto& k) { return k == ann; }).empty());
}

TEST_CASE_FIXTURE(fixture, "a connection that announced nothing is forgotten after a minute") {
  clients.touch("r1", start);
  CHECK(clients.take_silent(start + 1min - 1ns, idle).empty());
  CHECK(clients.take_silent(start + 1min, idle).size() == 1);
  CHECK(clients.size() == 0);
}

TEST_CASE_FIXTURE(fixture, "a hello takes a client back into service, a refused one does not") {
  REQUIRE(hello("r0", "bob", "1"));
  REQUIRE(hello("r1", "ann", "1"));
  clients.find("r1")->forgotten = true;
  CHECK_FALSE(hello("r1", "bob", "2"));
  CHECK(clients.find("r1")->forgotten);
  REQUIRE(hello("r1", "ann", "1"));
  CHECK_FALSE(clients.find("r1")->forgotten);
}

TEST_CASE_FIXTURE(fixture, "time in which nothing could be heard is no silence") {
  REQUIRE(hello("r1", "ann", "1"));
  clients.shift(1h);
  CHECK(clients.take_silent(start + 1h + 3s - 1ns, idle).empty());
  CHECK(clients.take_silent(start + 1h + 3s, idle).size() == 1);
}

TEST_CASE_FIXTURE(fixture, "last words of a connection that has been replaced change no route") {
  REQUIRE(hello("r1", "ann", "1"));
  auto ann = key("r1");
  REQUIRE(hello("r2", "ann", "1"));
  clients.touch("r1", start); // A ping that was under way when the new one said hello.
  CHECK(clients.route_of("r1", ann) == "r2");
  CHECK(clients.route_of("r1", key("r1")) == "r1");
}
