// The start-up probe, and the checks before it.

#include "messages/wire/errc.hpp"
#include "os/files.hpp"
#include "providers/namespace/launcher.hpp"
#include "tests/support/namespace_pool.hpp"
#include "tests/support/traces.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace corral;
using namespace corral::test;

namespace fs = std::filesystem;

namespace {

/// Why a pool with these settings isn't opened.
std::string refusal(const namespace_settings& settings) {
  auto backend = namespace_backend::open(settings);
  return backend ? "" : backend.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

} // namespace

TEST_CASE("the probe passes on this machine and leaves nothing") {
  namespace_pool pool;
  auto backend = pool.open();
  auto before = open_descriptors();
  auto probed = backend->probe();
  CHECK_MESSAGE(probed, (probed ? std::string{} : probed.error().message));
  CHECK(backend->list().empty());
  CHECK(open_descriptors() == before);
  CHECK(fs::is_empty(pool.path() / "data/anonymous"));
}

TEST_CASE("outside of a sandbox the probe's checks fail") {
  namespace_pool pool;
  auto settings = pool.settings();
  auto output = jail::make_pipe().value();
  auto go = jail::make_pipe().value();
  REQUIRE(write_all(go.write, "!"));
  spawn_options options;
  options.argv = {settings.launch.native(), "--go", "3", "--last", "3"};
  // Never as root: it would be allowed what it tries.
  if (::geteuid() == 0)
    options.argv.insert(options.argv.end(), {"--ids", "640999"});
  options.argv.insert(options.argv.end(), {"--", settings.probe.native(), "--max-size", "1"});
  options.argv.insert(options.argv.end(), {"--hidden", "/etc/passwd"});
  options.descriptors = {{output.write.get(), 1}, {go.read.get(), 3}};
  auto process = child_process::spawn(options);
  REQUIRE(process);
  output.write.reset();
  std::string report;
  char chunk[4096];
  for (ssize_t n = 0; (n = ::read(output.read.get(), chunk, sizeof chunk)) > 0;)
    report.append(chunk, static_cast<size_t>(n));
  for (auto check : {"descriptors", "hidden files", "capabilities", "processes", "read-only parts",
                     "bounded mounts", "seccomp", "denied calls"})
    CHECK_MESSAGE(contains(report, std::string{"FAIL "} + check), report);
}

TEST_CASE("a probe that doesn't come to its end fails") {
  namespace_pool pool;
  auto settings = pool.settings();
  settings.probe = "/usr/bin/bash-static";
  auto probed = pool.open(settings)->probe();
  REQUIRE_FALSE(probed);
  CHECK(contains(probed.error().message, "ended before its last check"));
}

TEST_CASE("a bubblewrap that is too old or missing is refused with what to install") {
  namespace_pool pool;
  auto settings = pool.settings();
  settings.bwrap = "/nonexistent/bwrap";
  CHECK(contains(refusal(settings), "apt-get install bubblewrap"));
  settings.bwrap = "/bin/echo";
  auto probed = pool.open(settings)->probe();
  REQUIRE_FALSE(probed);
  CHECK(contains(probed.error().message, "apt-get install bubblewrap"));
}

TEST_CASE("a bubblewrap that can't isolate stops the start with what it said") {
  namespace_pool pool;
  auto settings = pool.settings();
  settings.bwrap = pool.path() / "bwrap";
  REQUIRE(put(settings.bwrap,
              "#!/bin/sh\nif [ \"$1\" = --help ]; then exec /usr/bin/bwrap --help; fi\n"
              "echo 'bwrap: Creating new namespace failed: Operation not permitted' >&2; exit 1\n",
              0755));
  auto probed = pool.open(settings)->probe();
  REQUIRE_FALSE(probed);
  CHECK(contains(probed.error().message, "Creating new namespace failed"));
  CHECK(contains(probed.error().message, "seccomp profile"));
}

TEST_CASE("mounts that can't be are refused by name") {
  namespace_pool pool;
  auto source = pool.path() / "source";
  REQUIRE(make_directory(source, 0755));
  fs::create_directory_symlink(source, pool.path() / "link");
  auto with = [&](const fs::path& from, const std::string& target) {
    auto settings = pool.settings();
    settings.mounts = {{from, target, true}};
    return refusal(settings);
  };
  CHECK(with(source, "/mnt/extra") == "");
  CHECK(contains(with(source, "/mnt/user-data/workspace"), "'/mnt/user-data/workspace'"));
  CHECK(contains(with(source, "/usr/local"), "reserved"));
  CHECK(contains(with(pool.path() / "gone", "/mnt/extra"), "/gone"));
  CHECK(contains(with(pool.path() / "link", "/mnt/extra"), "symbolic link"));
  CHECK(contains(with(pool.path() / "state", "/mnt/extra"), "state_dir"));
  CHECK(contains(with(pool.path(), "/mnt/extra"), "data_dir"));
}

TEST_CASE("settings that can't work are refused by name") {
  namespace_pool pool;
  auto settings = pool.settings();
  SUBCASE("a run_dir too long for sockets") {
    settings.run_dir = pool.path() / std::string(80, 'r');
    CHECK(contains(refusal(settings), "run_dir"));
  }
  SUBCASE("an unbounded file system") {
    settings.limits.tmp_size = 0;
    CHECK(contains(refusal(settings), "can't be 0"));
  }
  SUBCASE("no uids") {
    settings.last_uid = settings.first_uid - 1;
    CHECK(contains(refusal(settings), "uid_range"));
  }
}

TEST_CASE("a data_dir that owners can't pass is refused"
          * doctest::skip(skip_unless(::geteuid() == 0, "a data_dir that owners can't pass",
                                      "an ordinary user's sandboxes run as itself"))) {
  namespace_pool pool;
  auto settings = pool.settings();
  REQUIRE(make_directory(pool.path() / "closed", 0700));
  settings.data_dir = pool.path() / "closed/data";
  CHECK(contains(refusal(settings), "chmod o+x"));
}
