<<<<<<< HEAD
// Who a client is, and what it leaves behind when it comes by another way or under another name.

=======
>>>>>>> main
#include "bridge/client_registry.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace std::chrono_literals;

namespace {

<<<<<<< HEAD
struct fixture {
  client_registry clients;
  client_registry::time_point now{1h};

  result<client_registry::farewell> hello(const std::string& connection, const std::string& name,
                                          const std::string& instance,
                                          client_registry::duration heartbeat = 1s) {
    return clients.hello(connection, name, instance, heartbeat, now);
  }
  std::vector<std::string> silent() {
    std::vector<std::string> names;
    for (auto& x : clients.take_silent(now, [](auto&) { return false; }))
      names.push_back(x.name);
    return names;
  }
=======
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
>>>>>>> main
};

} // namespace

<<<<<<< HEAD
TEST_SUITE("client registry") {
  TEST_CASE_FIXTURE(fixture, "a name belongs to one live instance") {
    REQUIRE(hello("c1", "worker", "1"));
    CHECK(hello("c2", "worker", "2").error().code == errc::busy);
    now += 3s;
    CHECK(hello("c2", "worker", "2"));
  }

  TEST_CASE_FIXTURE(fixture, "a client without heartbeats can't keep its name") {
    REQUIRE(hello("c1", "worker", "1", 0s));
    CHECK(hello("c2", "worker", "2"));
  }

  TEST_CASE_FIXTURE(fixture,
                    "a client on a new connection has left the old one, and its leases stay") {
    REQUIRE(hello("c1", "worker", "1"));
    auto left = hello("c2", "worker", "1");
    REQUIRE(left);
    CHECK(left->connections == std::vector<std::string>{"c1"});
    CHECK(left->key == "");
    CHECK(clients.find("c1") == nullptr);
    now += 2s;
    clients.touch("c2", now);
    now += 2s;
    CHECK(silent().empty()); // The old connection's silence ends nothing.
    now += 1s;
    CHECK(silent() == std::vector<std::string>{"worker"});
  }

  TEST_CASE_FIXTURE(fixture, "another name, or no heartbeats any more, gives up the leases") {
    REQUIRE(hello("c1", "before", "1"));
    auto key = clients.find("c1")->key;
    CHECK(hello("c1", "after", "1")->key == key);
    key = clients.find("c1")->key;
    CHECK(hello("c1", "after", "1")->key == "");
    CHECK(hello("c1", "after", "1", 0s)->key == key);
    CHECK(hello("c1", "last", "1")->key == "");
  }

  TEST_CASE_FIXTURE(fixture, "no name and instance read like another's") {
    REQUIRE(hello("c1", "a", "b\nc"));
    REQUIRE(hello("c2", "a\nb", "c"));
    CHECK(clients.find("c1")->key != clients.find("c2")->key);
    CHECK(clients.touch("c3", now).key != clients.touch("c4", now).key);
  }

  TEST_CASE_FIXTURE(fixture, "an open request is a sign of life") {
    REQUIRE(hello("c1", "worker", "1"));
    now += 1h;
    auto key = clients.find("c1")->key;
    CHECK(clients.take_silent(now, [&](auto& x) { return x == key; }).empty());
    CHECK(clients.size() == 1);
  }
=======
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

TEST_CASE_FIXTURE(fixture, "a connection that announced nothing is forgotten after an hour") {
  clients.touch("r1", start);
  CHECK(clients.take_silent(start + 1h - 1ns, idle).empty());
  CHECK(clients.take_silent(start + 1h, idle).size() == 1);
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
>>>>>>> main
}
