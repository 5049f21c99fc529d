#include <doctest/doctest.h>

#include "tests/config/support.hpp"

using namespace corral;
using namespace corral::testing;

TEST_CASE("replicas may not exceed max_sandboxes, and the error is where it was written") {
  CHECK(errors_of({.yaml = pool_yaml("replicas: 10\n    max_sandboxes: 10")}) == "");
  CHECK(errors_of({.yaml = pool_yaml("replicas: 10\n    max_sandboxes: 9")})
        == "corral.yaml:3: pools.default.replicas: expected at most max_sandboxes (9), found 10");
  CHECK(errors_of({.yaml = pool_yaml("max_sandboxes: 9")})
        == "corral.yaml:3: pools.default.max_sandboxes: expected at least replicas (64), found 9");
}

TEST_CASE("no check speaks of a value that is wrong already") {
  CHECK(errors_of({.yaml = pool_yaml("replicas: many\n    max_sandboxes: 9")})
        == "corral.yaml:3: pools.default.replicas: expected a whole number from 1 to 100000, found "
           "\"many\"");
}

TEST_CASE("a socket's path fits into its address") {
  std::string longest = "/" + std::string(106, 's');
  CHECK(errors_of({.yaml = "socket: " + longest + "\n"}) == "");
  CHECK(errors_of({.yaml = "socket: " + longest + "s\n"})
        == "corral.yaml:1: socket: expected at most 107 bytes, found 108");
  std::string run_dir = "/" + std::string(71, 'r');
  CHECK(errors_of({.yaml = "run_dir: " + run_dir + "\n"}) == "");
  CHECK(errors_of({.yaml = "run_dir: " + run_dir + "r\n"})
        == "corral.yaml:1: run_dir: expected at most 72 bytes, found 73");
}

TEST_CASE("directories that sandboxes enter lie outside the state directory") {
  auto refused = "expected a directory outside state_dir, which only the daemon may enter";
  CHECK(errors_of({.yaml = "data_dir: /a/b\nstate_dir: /a\n"})
        == std::string{"corral.yaml:1: data_dir: "} + refused);
  CHECK(errors_of({.yaml = "run_dir: /a\nstate_dir: /a\n"})
        == std::string{"corral.yaml:1: run_dir: "} + refused);
  CHECK(errors_of({.yaml = "data_dir: /a\nrun_dir: /a\n"})
        == "corral.yaml:2: run_dir: expected a directory other than data_dir");
  CHECK(errors_of({.yaml = "data_dir: /ab\nstate_dir: /a\n"}) == "");
}

TEST_CASE("run as root there is a user id for every sandbox") {
  machine m{.yaml = "uid_range: 70000-70255\n"};
  CHECK(errors_of(m) == "");
  m.yaml = "uid_range: 70000-70254\n";
  CHECK(errors_of(m)
        == "corral.yaml:1: uid_range: expected at least one id for each of "
           "pools.default.max_sandboxes (256), found 255");
  m.is_root = false;
  CHECK(errors_of(m) == "");
}

TEST_CASE("kept results fit into a sandbox's memory") {
  machine m{.overrides = {"pool.limits.memory=64MiB"}};
  CHECK(errors_of(m)
        == "pools.default.guest.result_memory: expected less than limits.memory (64MiB), found "
           "64MiB");
  m.overrides.push_back("pool.guest.result_memory=32MiB");
  CHECK(errors_of(m) == "");
  CHECK(errors_of({.overrides = {"pool.limits.memory=0"}}) == "");
}

TEST_CASE("the directories of rootfs and skills exist") {
  machine m{.yaml = pool_yaml("rootfs: /image\n    skills: /skills")};
  CHECK(errors_of(m)
        == "corral.yaml:3: pools.default.rootfs: expected an existing directory\n"
           "corral.yaml:4: pools.default.skills: expected an existing directory");
  m.links = {{"/image", "/image"}, {"/skills", "/srv/skills"}};
  CHECK(errors_of(m) == "");
}
