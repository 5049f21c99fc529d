#include "os/files.hpp"
#include "os/temp_dir.hpp"
#include "providers/namespace/cgroup.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace corral;
using namespace corral::jail;

namespace fs = std::filesystem;

namespace {

constexpr auto hybrid_mounts = R"(27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
)";

constexpr auto hybrid_self = R"(4:memory:/limits/a
1:cpu,cpuacct:/
9:name=systemd:/x
0::/
)";

/// A made-up cgroup of version 2: plain files with the kernel's names.
void make_v2(const fs::path& at, const std::string& controllers, const std::string& enabled,
             const std::string& processes) {
  fs::create_directories(at);
  for (auto& [name, text] :
       {std::pair{"cgroup.controllers", controllers}, std::pair{"cgroup.subtree_control", enabled},
        std::pair{"cgroup.procs", processes}})
    REQUIRE(write_file_atomically(at / name, text + "\n"));
}

std::vector<std::string> controllers_of(const std::vector<cgroup_root>& roots) {
  std::vector<std::string> result;
  for (auto& root : roots)
    result.push_back(root.controller);
  return result;
}

using words = std::vector<std::string>;

} // namespace

TEST_CASE("hierarchies of both versions are found with our place in them") {
  auto found = parse_hierarchies(hybrid_mounts, hybrid_self);
  REQUIRE(found.size() == 4);
  CHECK(found[0].version == 1);
  CHECK(found[0].own == "/sys/fs/cgroup/memory/limits/a");
  CHECK(found[1].controllers[0] == "rw");
  CHECK(found[1].mount == "/sys/fs/cgroup/cpu,cpuacct");
  CHECK(found[3].version == 2);
  CHECK(found[3].own.lexically_normal() == "/sys/fs/cgroup/unified/");
}

TEST_CASE("a container that sees a part of a hierarchy counts paths from there") {
  auto mount = "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
  auto found = parse_hierarchies(mount, "0::/docker/abc/child\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].own == "/sys/fs/cgroup/child");
  CHECK(parse_hierarchies(mount, "0::/elsewhere\n").empty());
  CHECK(parse_hierarchies(mount, "0::/../..\n").empty());
}

TEST_CASE("malformed descriptions give no hierarchy") {
  for (auto text : {"", "\n\n", "a b c", "1 2 3 4 5 6 - cgroup", "1 2 3:4 / /x rw - cgroup2"})
    CHECK(parse_hierarchies(text, "0::/\n").empty());
  CHECK(parse_hierarchies(hybrid_mounts, "").empty());
  CHECK(parse_hierarchies(hybrid_mounts, "nonsense\n0:\n:::\n").empty());
}

TEST_CASE("version 1 is used where its directory is writable") {
  auto dir = temp_dir::make("cgroup-").value();
  cgroup_hierarchy memory{1, {"rw", "memory"}, dir.path(), dir.path()};
  cgroup_hierarchy freezer{1, {"rw", "freezer"}, dir.path(), dir.path()};
  cgroup_hierarchy pids{1, {"rw", "pids"}, "/nonexistent", "/nonexistent"};
  auto roots = find_cgroup_roots({memory, freezer, pids, memory}, "corral-x");
  CHECK(controllers_of(roots) == words{"memory"});
  CHECK(roots[0].parent == dir.path() / "corral-x");
  CHECK(fs::is_directory(roots[0].parent));
}

TEST_CASE("version 2 is used at the top where controllers are handed on") {
  auto dir = temp_dir::make("cgroup-").value();
  make_v2(dir.path(), "cpu memory pids", "memory pids", "1");
  make_v2(dir.path() / "corral-x", "memory pids", "", "");
  make_v2(dir.path() / "session", "memory", "", std::to_string(::getpid()) + "\n1");
  auto roots = find_cgroup_roots({{2, {}, dir.path(), dir.path() / "session"}}, "corral-x");
  CHECK(controllers_of(roots) == words{"memory", "pids"});
  CHECK(roots[0].version == 2);
  CHECK(roots[0].parent == dir.path() / "corral-x");
}

TEST_CASE("a service that is alone in its cgroup moves aside and uses it") {
  auto dir = temp_dir::make("cgroup-").value();
  auto own = dir.path() / "corrald.service";
  make_v2(dir.path(), "memory pids", "memory pids", "1");
  make_v2(own, "memory pids", "", std::to_string(::getpid()));
  make_v2(own / "daemon", "", "", "");
  make_v2(own / "corral-x", "memory pids", "", "");
  auto roots = find_cgroup_roots({{2, {}, dir.path(), own}}, "corral-x");
  CHECK(controllers_of(roots) == words{"memory", "pids"});
  CHECK(roots[0].parent == own / "corral-x");
  CHECK(read_small_file(own / "daemon/cgroup.procs")
            .value_or("")
            .starts_with(std::to_string(::getpid())));
}

TEST_CASE("limits that nothing enforces are named") {
  namespace_settings::limit_set limits;
  cgroup_tree none{{}, limits};
  auto lines = none.warnings();
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]
        == "the cgroup controller 'memory' isn't writable here: limits.memory isn't "
           "enforced");
  limits.cpus = 0;
  limits.pids = 0;
  CHECK(cgroup_tree{{}, limits}.warnings().size() == 1);
  CHECK(none.memory_events("0123456789abcdef") == std::nullopt);
}

TEST_CASE("memory counters are read in both versions") {
  auto dir = temp_dir::make("cgroup-").value();
  std::string id = "0123456789abcdef";
  fs::create_directories(dir.path() / id);
  auto put = [&](const char* name, const char* text) {
    REQUIRE(write_file_atomically(dir.path() / id / name, text));
  };
  put("memory.events", "low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\n");
  put("memory.max", "1000\n");
  put("memory.peak", "900\n");
  put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  put("memory.limit_in_bytes", "2000\n");
  put("memory.max_usage_in_bytes", "1900\n");
  auto two = cgroup_tree{{{"memory", 2, dir.path()}}, {}}.memory_events(id);
  REQUIRE(two);
  CHECK(two->kills == 3);
  CHECK(two->limit == 1000);
  CHECK(two->peak == 900);
  auto one = cgroup_tree{{{"memory", 1, dir.path()}}, {}}.memory_events(id);
  REQUIRE(one);
  CHECK(one->kills == 4);
  CHECK(one->limit == 2000);
  CHECK(one->peak == 1900);
}

TEST_CASE("only directories named by an id count as sandboxes") {
  auto dir = temp_dir::make("cgroup-").value();
  for (auto name : {"0123456789abcdef", "0123456789ABCDEF", "x", "0123"})
    fs::create_directories(dir.path() / name);
  CHECK(cgroup_tree{{{"memory", 1, dir.path()}}, {}}.ids() == words{"0123456789abcdef"});
}

TEST_CASE("a process must be in all of a sandbox's cgroups") {
  cgroup_tree tree{{{"memory", 1, "/m/corral-x"}, {"pids", 1, "/p/corral-x"}}, {}};
  std::string id = "0123456789abcdef";
  CHECK(tree.holds(id, "8:pids:/corral-x/" + id + "\n4:memory:/own/corral-x/" + id + "\n"));
  CHECK_FALSE(tree.holds(id, "8:pids:/corral-x/" + id + "\n4:memory:/\n"));
  CHECK_FALSE(tree.holds(id, "8:pids:/corral-x/" + id + "0\n4:memory:/corral-x/" + id + "/a\n"));
  CHECK(cgroup_tree{{}, {}}.holds(id, "0::/\n"));
}
