#include <doctest/doctest.h>

#include "config/option.hpp"
#include "tests/config/support.hpp"

#include <fstream>
#include <sstream>

using namespace corral;
using namespace corral::testing;

namespace {

std::string printed(const machine& x) {
  return print_config(x.sources()).value();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("corral.yaml in the tree is what the table gives") {
  std::ifstream file{CORRAL_YAML};
  std::ostringstream text;
  text << file.rdbuf();
  CHECK_MESSAGE(text.str() == default_config_file(), "run `ninja config_yaml`");
}

TEST_CASE("corral.yaml names every option and means the defaults") {
  auto text = default_config_file();
  for (const auto& x : option_table())
    CHECK_MESSAGE(has(text, x.name.substr(x.name.rfind('.') + 1) + ": "), x.name);
  for (bool is_root : {true, false})
    CHECK(loaded({.yaml = text, .is_root = is_root}) == loaded({.is_root = is_root}));
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(line.size() <= 100, line);
}

TEST_CASE("the samples of defaults that depend on other things are root's defaults") {
  auto x = loaded({});
  for (const auto& o : option_table())
    if (!o.computed.empty())
      CHECK_MESSAGE(o.get({x, x.pools.front()}).text == o.computed, o.name);
}

TEST_CASE("the printed configuration says where each value came from") {
  auto text = printed({.yaml = "log_level: warn\n" + pool_yaml("limits: {pids: 64}"),
                       .variables = {{"CORRAL_POOL_REPLICAS", "9"}},
                       .overrides = {"queue=5"}});
  CHECK(has(text, "\nlog_level: warn # file corral.yaml:1\n"));
  CHECK(has(text, "\n      pids: 64 # file corral.yaml:4\n"));
  CHECK(has(text, "\n    replicas: 9 # environment CORRAL_POOL_REPLICAS\n"));
  CHECK(has(text, "\nqueue: 5 # command line\n"));
  CHECK(has(text, "\n    max_sandboxes: 36 # default\n"));
  CHECK(has(text, "\ndata_dir: /var/lib/corral # default\n"));
}

TEST_CASE("the printed configuration loads as the same one") {
  machine m{.yaml =
                "queue: $Q\npools:\n  main:\n    idle_timeout: 90s\n"
                "    environment: {A: $TOKEN, B: \"a: #$$b\", C: \"null\", D: \"\", E: $$TOKEN}\n"
                "    mounts: [{source: /s p, target: /data, read_only: true}]\n",
            .variables = {{"Q", "3"}, {"TOKEN", "hunter2"}},
            .overrides = {"pool.limits.cpus=1.5"},
            .links = {{"/s p", "/s p"}}};
  auto text = printed(m);
  machine again{.yaml = text, .variables = m.variables, .links = m.links};
  CHECK(errors_of(again) == "");
  CHECK(loaded(again) == loaded(m));
}

TEST_CASE("a value of $NAME is printed as $NAME and never as what it stands for") {
  auto text = printed({.yaml = pool_yaml("environment: {A: $TOKEN, B: $$TOKEN}"),
                       .variables = {{"TOKEN", "hunter2"}, {"CORRAL_QUEUE", "$Q"}, {"Q", "77"}}});
  CHECK(has(text, "environment: {A: $TOKEN, B: $$TOKEN} # file corral.yaml:3\n"));
  CHECK(has(text, "queue: $Q # environment CORRAL_QUEUE\n"));
  CHECK(!has(text, "hunter2"));
  CHECK(!has(text, "77"));
}

TEST_CASE("a configuration with errors is not printed") {
  CHECK(!print_config(machine{.yaml = "queue: a\n"}.sources()));
}

TEST_CASE("each pool is printed with its own values") {
  auto text = printed({.yaml = "pools:\n  cpu:\n    replicas: 3\n  gpu:\n    replicas: 5\n"});
  auto cpu = text.find("\n  cpu:"), gpu = text.find("\n  gpu:");
  CHECK(cpu < gpu);
  CHECK(text.find("    replicas: 3 # file corral.yaml:3", cpu) < gpu);
  CHECK(text.find("    replicas: 5 # file corral.yaml:5", gpu) != text.npos);
}
