#include "actors/warm_pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

using namespace corral;
using namespace std::chrono_literals;

namespace {

using ids = std::vector<std::string>;

const warm_pool::time_point start{1h};

struct fixture {
  warm_pool pool;

  /// a, b and c, used a second apart; all warm.
  fixture() {
    for (auto id : {"a", "b", "c"}) {
      pool.add(id, start + std::chrono::seconds{pool.size()});
      pool.set_active(id, false);
    }
  }
};

} // namespace

TEST_CASE("a sandbox joins as active") {
  warm_pool pool;
  pool.add("a", start);
  CHECK(pool.active() == 1);
  CHECK(pool.warm() == 0);
  CHECK_FALSE(pool.least_recently_used());
  pool.set_active("a", false);
  pool.set_active("a", false);
  CHECK(pool.warm() == 1);
  CHECK(pool.least_recently_used() == "a");
}

TEST_CASE_FIXTURE(fixture, "the least recently used warm sandbox goes first") {
  CHECK(pool.least_recently_used() == "a");
  pool.touch("a", start + 10s);
  CHECK(pool.least_recently_used() == "b");
  pool.set_active("b", true);
  CHECK(pool.least_recently_used() == "c");
  CHECK(pool.least_recently_used({"c"}) == "a");
  CHECK_FALSE(pool.least_recently_used({"c", "a"}));
}

TEST_CASE_FIXTURE(fixture, "late news of a use puts a sandbox where that use was") {
  pool.touch("a", start + 1500ms);
  CHECK(pool.in_order() == ids{"b", "a", "c"});
  pool.touch("a", start + 1s); // Older news.
  CHECK(pool.used_at("a") == start + 1500ms);
  CHECK(pool.in_order() == ids{"b", "a", "c"});
}

TEST_CASE_FIXTURE(fixture, "sandboxes expire by the limit of their kind, to the instant") {
  pool.set_active("a", true);
  CHECK(pool.expired(start + 11s - 1ns, 10s, 1min).empty());
  CHECK(pool.expired(start + 11s, 10s, 1min) == ids{"b"});
  CHECK(pool.expired(start + 1min, 10s, 1min) == ids{"a", "b", "c"});
}

TEST_CASE_FIXTURE(fixture, "a limit of 0 never expires") {
  pool.set_active("a", true);
  CHECK(pool.expired(start + 10000h, 0s, 1min) == ids{"a"});
  CHECK(pool.expired(start + 10000h, 10s, 0s) == ids{"b", "c"});
  CHECK(pool.expired(start + 10000h, 0s, 0s).empty());
}

TEST_CASE_FIXTURE(fixture, "what is added twice or unknown changes nothing") {
  pool.add("a", start + 1h);
  CHECK(pool.size() == 3);
  CHECK(pool.used_at("a") == start);
  pool.touch("x", start);
  pool.set_active("x", true);
  pool.erase("x");
  CHECK(pool.size() == 3);
  CHECK(pool.warm() == 3);
  CHECK_FALSE(pool.used_at("x"));
}

TEST_CASE_FIXTURE(fixture, "an erased sandbox is neither evicted nor reaped nor counted") {
  pool.set_active("b", true);
  pool.erase("a");
  pool.erase("b");
  CHECK(pool.warm() == 1);
  CHECK(pool.active() == 0);
  CHECK(pool.least_recently_used() == "c");
  CHECK(pool.expired(start + 10000h, 1s, 1s) == ids{"c"});
}

TEST_CASE("any history leaves the order sorted by last use and the counts right") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng{seed};
    warm_pool pool;
    std::map<std::string, bool> active;
    for (int step = 0; step < 300; ++step) {
      std::string id(1, static_cast<char>('a' + rng() % 12));
      auto at = start + std::chrono::seconds{step} - std::chrono::seconds{rng() % 20};
      switch (rng() % 4) {
      case 0:
        pool.add(id, at);
        active.try_emplace(id, true);
        break;
      case 1:
        pool.touch(id, at);
        break;
      case 2:
        pool.set_active(id, rng() % 2);
        if (active.contains(id)) {
          pool.set_active(id, false);
          active[id] = false;
        }
        break;
      default:
        if (rng() % 8 == 0) {
          pool.erase(id);
          active.erase(id);
        }
      }
      REQUIRE(pool.size() == active.size());
      auto warm = std::count_if(active.begin(), active.end(), [](auto& x) { return !x.second; });
      REQUIRE(pool.warm() == static_cast<size_t>(warm));
      auto order = pool.in_order();
      for (size_t i = 1; i < order.size(); ++i)
        REQUIRE(*pool.used_at(order[i - 1]) <= *pool.used_at(order[i]));
    }
  }
}
