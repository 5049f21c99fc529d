#include "actors/lease_table.hpp"

#include <doctest/doctest.h>

using namespace corral;

namespace {

struct fixture {
  lease_table leases;

  fixture() {
    leases.add({"1", "ann", "red"});
    leases.add({"2", "ann", "red"});
    leases.add({"3", "bob", "red"});
    leases.add({"4", "ann", "blue"});
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "leases count by sandbox, several of one client's too") {
  CHECK(leases.count("red") == 3);
  CHECK(leases.count("blue") == 1);
  CHECK(leases.count("green") == 0);
  CHECK(leases.size() == 4);
}

TEST_CASE_FIXTURE(fixture, "a lease is dropped by its holder only, and only once") {
  CHECK_FALSE(leases.release("bob", "red", "1"));
  CHECK_FALSE(leases.release("ann", "blue", "1"));
  auto dropped = leases.release("ann", "red", "1");
  REQUIRE(dropped);
  CHECK(dropped->id == "1");
  CHECK(leases.count("red") == 2);
  CHECK_FALSE(leases.release("ann", "red", "1"));
}

TEST_CASE_FIXTURE(fixture, "without a lease id a client's only lease is meant, never one of two") {
  CHECK_FALSE(leases.release("ann", "red", ""));
  CHECK(leases.count("red") == 3);
  REQUIRE(leases.release("ann", "blue", ""));
  CHECK(leases.count("blue") == 0);
  CHECK_FALSE(leases.release("cat", "red", ""));
}

TEST_CASE_FIXTURE(fixture, "a client that goes takes all of its leases and nobody else's") {
  CHECK(leases.release_client("ann").size() == 3);
  CHECK(leases.count("red") == 1);
  CHECK(leases.count("blue") == 0);
  CHECK(leases.release_client("ann").empty());
}

TEST_CASE_FIXTURE(fixture, "a sandbox that ends takes its leases along") {
  leases.erase_sandbox("red");
  CHECK(leases.count("red") == 0);
  CHECK(leases.size() == 1);
  CHECK_FALSE(leases.release("bob", "red", "3"));
  leases.erase_sandbox("green");
  CHECK(leases.size() == 1);
}

TEST_CASE_FIXTURE(fixture, "a sandbox is held by others if anyone else has a lease on it") {
  CHECK(leases.held_by_others("red", "ann"));
  CHECK(leases.held_by_others("red", "cat"));
  CHECK_FALSE(leases.held_by_others("blue", "ann"));
  CHECK_FALSE(leases.held_by_others("green", "ann"));
}
