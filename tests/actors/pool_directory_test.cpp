#include "actors/pool_directory.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace std::chrono_literals;

namespace {

struct fixture {
  pool_directory pools;
  pool_directory::time_point now{};

  size_t ask(const std::string& id, std::optional<size_t> wanted = {}) {
    return pools.ask(id, wanted).value_or(99);
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture,
                  "a thread that nobody has is made in the pool asked for, else in the default") {
  CHECK(ask("a1") == 0);
  CHECK(ask("b1", 1) == 1);
}

TEST_CASE_FIXTURE(fixture, "a thread lives in one pool, from the first wish on") {
  CHECK(ask("a1", 1) == 1);
  CHECK(ask("a1") == 1);
  CHECK(pools.ask("a1", 0).error().code == errc::identity_collision);
  pools.there("a1", 1);
  pools.answered("a1");
  pools.answered("a1");
  CHECK(pools.ask("a1", 0).error().code == errc::identity_collision);
  pools.gone("a1", 1, now);
  CHECK(ask("a1", 0) == 0);
}

TEST_CASE_FIXTURE(fixture, "a wish that came to nothing binds nobody") {
  CHECK(ask("a1", 1) == 1);
  pools.answered("a1");
  CHECK(ask("a1", 0) == 0);
}

TEST_CASE_FIXTURE(fixture, "a sandbox that ends while it is asked for stays where it is") {
  pools.there("a1", 1);
  CHECK(ask("a1") == 1);
  pools.gone("a1", 1, now);
  CHECK(pools.ask("a1", 0).error().code == errc::identity_collision);
  pools.gone("a1", 0, now); // Not that pool's.
  pools.there("a1", 1);
  pools.answered("a1");
  CHECK(pools.find("a1").value() == 1);
}

TEST_CASE_FIXTURE(fixture, "a sandbox is found by prefix, one that ended for an hour too") {
  pools.there("aaaa0001", 1);
  pools.there("aaaa0002", 1);
  pools.there("aaab0001", 0);
  CHECK(pools.find("aaaa").value() == 1); // Which of the two, its pool has to say.
  CHECK(pools.find("aaa").error().code == errc::invalid_request);
  CHECK(pools.find("aaaa0001").value() == 1);
  CHECK(pools.find("cccc").value() == 0);
  pools.gone("aaaa0001", 1, now);
  CHECK(pools.find("aaaa0001").value() == 1);
  pools.forget_ended(now + 1h);
  CHECK(pools.find("aaaa0001").value() == 0);
}
