// Who a client is, and what it leaves behind when it comes by another way or under another name.

#include "bridge/client_registry.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace std::chrono_literals;

namespace {

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
};

} // namespace

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
}
