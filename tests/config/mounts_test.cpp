#include <doctest/doctest.h>

#include "config/paths.hpp"
#include "tests/config/support.hpp"

using namespace corral;
using namespace corral::testing;

namespace {

/// The errors of one mount on a machine that has /src.
std::string mount_errors(const std::string& source, const std::string& target) {
  machine m{.yaml = pool_yaml("mounts:\n    - source: " + source + "\n      target: " + target),
            .links = {{"/src", "/src"},
                      {"/", "/"},
                      {"/to-state", "/var/lib/corral-state/x"},
                      {"/var/lib", "/var/lib"},
                      {"/run/corral/links", "/run/corral/links"}}};
  return errors_of(m);
}

} // namespace

TEST_CASE("a mount has a source, a target and may be read-only") {
  machine m{.yaml = pool_yaml("mounts:\n    - {source: /src/, target: //a/b}\n"
                              "    - {source: /src, target: /mnt/data, read_only: true}"),
            .links = {{"/src", "/src"}}};
  CHECK(loaded_pool(m).mounts
        == std::vector<mount_config>{{"/src", "/a/b", false}, {"/src", "/mnt/data", true}});
}

TEST_CASE("a mount on or in what a sandbox has anyway is refused by name") {
  CHECK(mount_errors("/src", "/usr/share/x")
        == "corral.yaml:5: pools.default.mounts[0].target: expected a path outside the reserved "
           "/usr, found \"/usr/share/x\"");
  for (std::string tree :
       {"/usr", "/etc", "/proc", "/dev", "/sys", "/run", "/tmp", "/bin", "/sbin", "/lib", "/lib64",
        "/home", "/mnt/user-data", "/mnt/skills", "/mnt/acp-workspace"}) {
    CHECK_MESSAGE(reserved_for(tree) == tree, tree);
    CHECK_MESSAGE(reserved_for(tree + "/below/it") == tree, tree);
    CHECK_MESSAGE(reserved_for(tree + "-beside-it") == "", tree);
  }
  CHECK(reserved_for("/") == "/");
  CHECK(reserved_for("/mnt") == "/mnt");
  for (auto target : {"/data", "/mnt/data", "/opt/tools", "/srv"})
    CHECK_MESSAGE(mount_errors("/src", target) == "", target);
}

TEST_CASE("a target can't sneak into a reserved path") {
  for (auto target : {"/mnt/../usr", "/mnt/data/../user-data", "/./etc", "etc", "\"\"", "//usr//"})
    CHECK_MESSAGE(mount_errors("/src", target) != "", target);
}

TEST_CASE("two mounts can't share a target") {
  machine m{.yaml =
                pool_yaml("mounts:\n    - {source: /src, target: /a}\n"
                          "    - {source: /src, target: /b}\n    - {source: /src, target: /a/}"),
            .links = {{"/src", "/src"}}};
  CHECK(errors_of(m)
        == "corral.yaml:6: pools.default.mounts[2].target: expected another path than that of "
           "mounts[0], found \"/a/\"");
}

TEST_CASE("a source that is relative or missing is refused by name") {
  CHECK(mount_errors("src", "/data")
        == "corral.yaml:4: pools.default.mounts[0].source: expected an absolute path without . "
           "and .., found \"src\"");
  CHECK(mount_errors("/gone", "/data")
        == "corral.yaml:4: pools.default.mounts[0].source: expected an existing path, found "
           "\"/gone\"");
}

TEST_CASE("a source can't expose the daemon's own directories, through a link neither") {
  CHECK(mount_errors("/to-state", "/data")
        == "corral.yaml:4: pools.default.mounts[0].source: expected a path that does not share "
           "files with state_dir, found \"/to-state\"");
  CHECK(mount_errors("/", "/host").find("state_dir") != std::string::npos);
  CHECK(mount_errors("/var/lib", "/data").find("state_dir") != std::string::npos);
  CHECK(mount_errors("/run/corral/links", "/data").find("run_dir") != std::string::npos);
}

TEST_CASE("the daemon's directories are found behind links before they exist") {
  machine m{.yaml =
                "data_dir: /link/not/yet\n" + pool_yaml("mounts: [{source: /disk, target: /data}]"),
            .links = {{"/link", "/disk/corral"}, {"/disk", "/disk"}}};
  CHECK(errors_of(m)
        == "corral.yaml:4: pools.default.mounts[0].source: expected a path that does not share "
           "files with data_dir, found \"/disk\"");
  m.links["/link"] = "/other";
  CHECK(errors_of(m) == "");
}

TEST_CASE("a mount without source or target, or of another shape, is an error") {
  CHECK(errors_of({.yaml = pool_yaml("mounts: [{target: /a}]")})
        == "corral.yaml:3: pools.default.mounts[0].source: expected an absolute path without . "
           "and .., found nothing");
  CHECK(errors_of({.yaml = pool_yaml("mounts: [{source: /a}]")})
        == "corral.yaml:3: pools.default.mounts[0].target: expected an absolute path without . "
           "and .., found nothing");
  CHECK(errors_of({.yaml = pool_yaml("mounts: [/a]")})
        == "corral.yaml:3: pools.default.mounts[0]: expected a mapping of source, target and "
           "read_only, found \"/a\"");
  CHECK(errors_of({.yaml = pool_yaml("mounts: {}")})
        == "corral.yaml:3: pools.default.mounts: expected a list of mounts, found a mapping");
  CHECK(errors_of({.yaml = pool_yaml("mounts: [{source: /a, target: /b, read_only: maybe}]")})
        == "corral.yaml:3: pools.default.mounts[0].read_only: expected one of true, false, found "
           "\"maybe\"");
}

TEST_CASE("errors of mounts from elsewhere than the file have no line") {
  CHECK(
      errors_of({.overrides = {"pool.mounts=[{source: /gone, target: /usr, x: 1}, 7]"}})
      == "command line: pool.mounts[0].x: unknown key, the nearest known one is source\n"
         "command line: pool.mounts[1]: expected a mapping of source, target and read_only, found "
         "\"7\"");
  CHECK(errors_of({.variables = {{"CORRAL_POOL_MOUNTS", "[{source: $NO, target: /a}]"}}})
        == "environment: CORRAL_POOL_MOUNTS[0].source: expected the environment to have NO, which "
           "is not set");
  CHECK(errors_of({.overrides = {"pool.mounts=[{source: /gone, target: /a}]"}})
        == "command line: pool.mounts[0].source: expected an existing path, found \"/gone\"");
}
