#include "config/load.hpp"

#include <doctest/doctest.h>

#include "messages/wire/names.hpp"
#include "tests/config/support.hpp"

#include <algorithm>

using namespace corral;
using namespace corral::testing;

TEST_CASE("an error names file, line, key, what was expected and what was found") {
  machine m{.yaml = "# one\n\npools:\n  default:\n    replicas: many\n"};
  auto errors = load_config(m.sources()).error();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].file == "corral.yaml");
  CHECK(errors[0].line == 5);
  CHECK(errors[0].key == "pools.default.replicas");
  CHECK(to_string(errors[0])
        == "corral.yaml:5: pools.default.replicas: expected a whole number from 1 to 100000, "
           "found \"many\"");
}

TEST_CASE("errors of the environment and the command line name the variable and the override") {
  machine m{.variables = {{"CORRAL_POOL_IDLE_TIMEOUT", "soon"}}, .overrides = {"queue=-1"}};
  CHECK(errors_of(m)
        == "environment: CORRAL_POOL_IDLE_TIMEOUT: expected 0 (off) or a duration from 100ms to "
           "365d (such as 30s or 10m), found \"soon\"\n"
           "command line: queue: expected a whole number from 1 to 1000000, found \"-1\"");
}

TEST_CASE("all errors are reported, also those of values that something else overrides") {
  machine m{.yaml = "queue: a\nlog_level: b\nwrong: c\npools: {default: {replicas: d}}\n",
            .overrides = {"queue=5"}};
  auto errors = load_config(m.sources()).error();
  REQUIRE(errors.size() == 4);
  CHECK(errors[0].key == "queue");
  CHECK(errors[1].key == "log_level");
  CHECK(errors[2].key == "wrong");
  CHECK(errors[3].key == "pools.default.replicas");
}

TEST_CASE("an unknown option is an error with the nearest known one") {
  CHECK(errors_of({.yaml = "data_dri: /x\n"})
        == "corral.yaml:1: data_dri: unknown option, the nearest known one is data_dir");
  CHECK(errors_of({.yaml = "pool: {}\n"})
        == "corral.yaml:1: pool: unknown option, the nearest known one is pools");
  CHECK(errors_of({.yaml = pool_yaml("replica: 3")})
        == "corral.yaml:3: pools.default.replica: unknown option, the nearest known one is "
           "pools.default.replicas");
  CHECK(errors_of({.yaml = pool_yaml("limits: {memroy: 1GiB}")})
        == "corral.yaml:3: pools.default.limits.memroy: unknown option, the nearest known one is "
           "pools.default.limits.memory");
  CHECK(errors_of({.yaml = pool_yaml("limit: {}")})
        == "corral.yaml:3: pools.default.limit: unknown option, the nearest known one is "
           "pools.default.limits");
}

TEST_CASE("a known option at the wrong place is an error with the right place") {
  CHECK(errors_of({.yaml = "replicas: 3\n"})
        == "corral.yaml:1: replicas: unknown option, the nearest known one is "
           "pools.default.replicas");
  CHECK(errors_of({.yaml = pool_yaml("memory: 1GiB")})
        == "corral.yaml:3: pools.default.memory: unknown option, the nearest known one is "
           "pools.default.limits.memory");
  CHECK(errors_of({.yaml = pool_yaml("limits.memory: 1GiB")})
        == "corral.yaml:3: pools.default.limits.memory: expected mappings within mappings, not "
           "dots");
}

TEST_CASE("names of the predecessor lead to today's") {
  CHECK(errors_of({.yaml = pool_yaml("bash_command_timeout: 600")})
        == "corral.yaml:3: pools.default.bash_command_timeout: unknown option, the nearest known "
           "one is pools.default.exec_timeout");
  CHECK(errors_of({.yaml = pool_yaml("mounts: [{host_path: /a, container_path: /b}]")})
        == "corral.yaml:3: pools.default.mounts[0].host_path: unknown key, the nearest known one "
           "is source\n"
           "corral.yaml:3: pools.default.mounts[0].container_path: unknown key, the nearest known "
           "one is target");
}

TEST_CASE("an unknown override is an error with the nearest known one") {
  CHECK(errors_of({.overrides = {"qeue=1"}})
        == "command line: qeue: unknown option, the nearest known one is queue");
  CHECK(errors_of({.overrides = {"pool.limits.memry=1"}})
        == "command line: pool.limits.memry: unknown option, the nearest known one is "
           "pools.default.limits.memory");
  CHECK(errors_of({.overrides = {"pools.other.replicas=1"}})
        == "command line: pools.other.replicas: expected one of the pools default");
  CHECK(errors_of({.overrides = {"queue"}})
        == "command line: queue: expected NAME=VALUE, found no =");
  CHECK(errors_of({.overrides = {""}}) == "command line: expected NAME=VALUE, found no =");
}

TEST_CASE("an error in the second of several pools is named there") {
  CHECK(errors_of({.yaml = "pools:\n  default:\n    replicas: 3\n  gpu:\n    replicas: x\n"})
            .starts_with("corral.yaml:5: pools.gpu.replicas: expected a whole number"));
  CHECK(errors_of({.yaml = "pools: {a: {}, b: {}}", .overrides = {"pools.c.replicas=1"}})
        == "command line: pools.c.replicas: expected one of the pools a, b");
}

TEST_CASE("a pool's name has up to 64 letters, digits, underscores and dashes") {
  auto with_name = [](const std::string& name) {
    return machine{.yaml = "pools: {" + name + ": {}}"};
  };
  CHECK(errors_of(with_name(std::string(64, 'a'))) == "");
  CHECK(errors_of(with_name(std::string(65, 'a'))) != "");
  CHECK(errors_of(with_name("Ab_9-")) == "");
  CHECK(errors_of(with_name("a.b"))
        == "corral.yaml:1: pools: expected a name of 1 to 64 letters, digits, _ and -, found "
           "\"a.b\"");
  CHECK(errors_of(with_name("\"\"")) != "");
}

TEST_CASE("what is no mapping where one belongs is an error") {
  CHECK(errors_of({.yaml = "[1]\n"})
        == "corral.yaml:1: expected a mapping of options, found a list");
  CHECK(errors_of({.yaml = "pools: 3\n"})
        == "corral.yaml:1: pools: expected a mapping of options, found \"3\"");
  CHECK(errors_of({.yaml = pool_yaml("limits: [a]")})
        == "corral.yaml:3: pools.default.limits: expected a mapping of options, found a list");
  CHECK(errors_of({.yaml = "queue:\n"})
        == "corral.yaml:1: queue: expected a whole number from 1 to 1000000, found nothing");
}

TEST_CASE("a file that cannot be read is an error with the reason") {
  auto sources = machine{}.sources();
  sources.read_file = [](const std::string&) {
    return tl::unexpected{std::string{"no such file"}};
  };
  CHECK(to_string(load_config(sources).error()) == "corral.yaml: no such file\n");
}

TEST_CASE("broken YAML outside the file is an error that names its place") {
  CHECK(errors_of({.overrides = {"pool.environment={A: "}})
            .starts_with("command line: pool.environment: expected YAML for a mapping of names"));
}

TEST_CASE("what is found is shown without control characters and not at any length") {
  auto text = errors_of({.overrides = {"queue=\x1b[31m\"" + std::string(1000, 'x')}});
  CHECK(text.find("found \"\\x1b[31m\\\"xxx") != std::string::npos);
  CHECK(text.size() < 250);
  CHECK(text.ends_with("xxx...\""));
}

TEST_CASE("keys of any length and content are shown cut and escaped, as values are") {
  auto text = errors_of({.yaml = std::string(1000, 'k') + ": 1\n"});
  CHECK(text.size() < 250);
  CHECK(errors_of({.overrides = {"\x1b[31m=1"}}).find('\x1b') == std::string::npos);
}

TEST_CASE("edit distance counts insertions, deletions and replacements") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("queue", "queue") == 0);
  CHECK(nearest("quue", {"use", "queue", "keys"}) == "queue");
  CHECK(nearest("x", {}) == "");
}
