#include "config/reload.hpp"

#include <doctest/doctest.h>

#include "tests/config/support.hpp"

using namespace corral;
using namespace corral::testing;
using namespace std::chrono_literals;

namespace {

using names = std::vector<std::string>;

config_change change(const std::string& before, const std::string& after) {
  return change_config(loaded({.yaml = before}), loaded({.yaml = after}));
}

} // namespace

TEST_CASE("nothing has changed between two equal configurations") {
  auto x = change("queue: 9\n", "queue: 9\nlog_level: info\n");
  CHECK(x.applied.empty());
  CHECK(x.restart.empty());
}

TEST_CASE("what can change does, and the rest stays and is named") {
  auto x = change("queue: 9\npools: {a: {replicas: 3}}",
                  "queue: 8\nlog_level: debug\n"
                  "pools: {a: {replicas: 5, idle_timeout: 0, network: host}}");
  CHECK(x.applied
        == names{"log_level", "pools.a.replicas", "pools.a.max_sandboxes", "pools.a.max_per_user",
                 "pools.a.idle_timeout"});
  CHECK(x.restart == names{"queue", "pools.a.network"});
  CHECK(x.effective.queue == 9);
  CHECK(x.effective.log_level == log_level::debug);
  auto& pool = x.effective.pools.front();
  CHECK(pool.replicas == 5);
  CHECK(pool.max_sandboxes == 20);
  CHECK(pool.idle_timeout == 0ms);
  CHECK(pool.network == network_access::none);
}

TEST_CASE("pools that come or go need a restart, the others change") {
  auto x = change("pools: {a: {}, b: {replicas: 2}}", "pools: {a: {}, c: {}, b: {replicas: 4}}");
  CHECK(x.restart == names{"pools.c"});
  CHECK(x.effective.pools[1].replicas == 4);
  CHECK(change("pools: {a: {}, b: {}}", "pools: {a: {}}").restart == names{"pools.b"});
}
