#include "config/load.hpp"

#include <doctest/doctest.h>

#include "tests/config/support.hpp"

using namespace corral;
using namespace corral::testing;
using namespace std::chrono_literals;

TEST_CASE("without a file root gets system directories and one pool of defaults") {
  auto sources = machine{}.sources();
  sources.file.reset();
  auto x = load_config(sources).value();
  CHECK(x.data_dir == "/var/lib/corral");
  CHECK(x.state_dir == "/var/lib/corral-state");
  CHECK(x.run_dir == "/run/corral");
  CHECK(x.socket == "/run/corral/corral.sock");
  REQUIRE(x.pools.size() == 1);
  CHECK(x.pools[0].name == "default");
  CHECK(x.pools[0].replicas == 64);
  CHECK(x.pools[0].max_sandboxes == 256);
}

TEST_CASE("a user's directories are below home and the session's runtime directory") {
  machine m{.is_root = false};
  CHECK(loaded(m).data_dir == "/home/ada/.local/share/corral");
  CHECK(loaded(m).state_dir == "/home/ada/.local/state/corral");
  CHECK(loaded(m).run_dir == "/tmp/corral-1000");
  m.variables["XDG_RUNTIME_DIR"] = "relative";
  CHECK(loaded(m).run_dir == "/tmp/corral-1000");
  m.variables["XDG_RUNTIME_DIR"] = "/run/user/1000/";
  CHECK(loaded(m).run_dir == "/run/user/1000/corral");
  CHECK(loaded(m).socket == "/run/user/1000/corral/corral.sock");
}

TEST_CASE("a user without home has to name the directories") {
  machine m{.is_root = false, .home = ""};
  CHECK(errors_of(m)
        == "data_dir: expected a path, since there is no home directory to put it in\n"
           "state_dir: expected a path, since there is no home directory to put it in");
  m.yaml = "data_dir: /d\nstate_dir: /s\n";
  CHECK(errors_of(m) == "");
}

TEST_CASE("the file sets options of the daemon, of a pool and of its groups") {
  machine m{.yaml = "queue: 100\nlog_format: json\nrun_dir: /r\n"
                    "pools:\n  main:\n    replicas: 8\n    idle_timeout: 2s\n"
                    "    limits: {memory: 1GiB, cpus: 0.5}\n    environment: {A: 1, B: \"x y\"}\n"};
  auto x = loaded(m);
  CHECK(x.queue == 100);
  CHECK(x.log_format == log_format::json);
  CHECK(x.socket == "/r/corral.sock");
  const auto& pool = x.pools.at(0);
  CHECK(pool.name == "main");
  CHECK(pool.idle_timeout == 2s);
  CHECK(pool.limits.memory == gib);
  CHECK(pool.limits.cpus == 0.5);
  CHECK(pool.environment == std::map<std::string, std::string>{{"A", "1"}, {"B", "x y"}});
  CHECK(pool.max_sandboxes == 32);
}

TEST_CASE("mappings that are left empty change nothing") {
  auto defaults = loaded({});
  for (std::string yaml : {"", "pools:\n", "pools: {}\n", "pools:\n  default:\n",
                           "pools:\n  default:\n    limits:\n    mounts:\n    environment:\n"})
    CHECK_MESSAGE(loaded({.yaml = yaml}) == defaults, yaml);
}

TEST_CASE("the command line wins over the environment, that over the file, that over the default") {
  machine m;
  CHECK(loaded_pool(m).replicas == 64);
  m.yaml = pool_yaml("replicas: 1");
  CHECK(loaded_pool(m).replicas == 1);
  m.variables["CORRAL_POOL_REPLICAS"] = "2";
  CHECK(loaded_pool(m).replicas == 2);
  m.overrides = {"pools.default.replicas=3"};
  CHECK(loaded_pool(m).replicas == 3);
  m.overrides.push_back("pool.replicas=4");
  CHECK(loaded_pool(m).replicas == 4);
}

TEST_CASE("variables and overrides reach the pool whatever it is called") {
  machine m{.yaml = "pools: {main: {}}\n",
            .variables = {{"CORRAL_POOL_LIMITS_PIDS", "9"}, {"CORRAL_QUEUE", "7"}},
            .overrides = {"pools.main.guest.keys=5", "log_level=debug"}};
  CHECK(loaded_pool(m).limits.pids == 9);
  CHECK(loaded_pool(m).guest.keys == 5);
  CHECK(loaded(m).queue == 7);
  CHECK(loaded(m).log_level == log_level::debug);
}

TEST_CASE("a variable that is empty counts as not set") {
  CHECK(loaded({.variables = {{"CORRAL_QUEUE", ""}}}).queue == 4096);
}

TEST_CASE("lists and mappings outside the file are YAML and replace the whole value") {
  machine m{.yaml = pool_yaml("environment: {A: a}"),
            .variables = {{"CORRAL_POOL_MOUNTS", "[{source: /src, target: /data}]"}},
            .overrides = {"pool.environment={B: \"1=2\"}"},
            .links = {{"/src", "/src"}}};
  CHECK(loaded_pool(m).mounts == std::vector<mount_config>{{"/src", "/data", false}});
  CHECK(loaded_pool(m).environment == std::map<std::string, std::string>{{"B", "1=2"}});
}

TEST_CASE("an override may hold an equals sign, and only the first one ends the name") {
  machine m{.overrides = {"pool.rootfs=/a=b"}, .links = {{"/a=b", "/a=b"}}};
  CHECK(loaded_pool(m).rootfs == "/a=b");
}

TEST_CASE("each pool has its own options, and the first is meant where none is named") {
  machine m{.yaml = "pools:\n  cpu:\n    replicas: 3\n  gpu:\n    network: host\n",
            .overrides = {"pool.max_sandboxes=7", "pools.gpu.replicas=5"}};
  auto x = loaded(m);
  REQUIRE(x.pools.size() == 2);
  CHECK(x.pools[0].name == "cpu");
  CHECK(x.pools[0].replicas == 3);
  CHECK(x.pools[0].max_sandboxes == 7);
  CHECK(x.pools[0].network == network_access::none);
  CHECK(x.pools[1].name == "gpu");
  CHECK(x.pools[1].replicas == 5);
  CHECK(x.pools[1].max_sandboxes == 20);
  CHECK(x.pools[1].network == network_access::host);
}
