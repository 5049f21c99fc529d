#include "apps/cli/endpoint.hpp"

#include <doctest/doctest.h>

#include "os/socket.hpp"
#include "os/temp_dir.hpp"

#include <sys/stat.h>

using namespace corral;
using namespace corral::cli;

TEST_CASE("an endpoint for every address of a machine is looked for on the daemon's") {
  for (auto any : {"tcp://*:7701", "tcp://0.0.0.0:7701", "tcp://[::]:7701"})
    CHECK(on_host_of("tcp://[fe80::1]:7700", any) == "tcp://[fe80::1]:7701");
  CHECK(on_host_of("tcp://a:7700", "tcp://b:7701") == "tcp://b:7701");
  CHECK(on_host_of("ipc:///s", "ipc:///e") == "ipc:///e");
  CHECK(on_host_of("ipc:///run/s", "events.sock") == "ipc:///run/events.sock");
}

namespace {

variable_lookup with_runtime_dir(std::optional<std::string> value) {
  return [value](const std::string& name) {
    return name == "XDG_RUNTIME_DIR" ? value : std::optional<std::string>{};
  };
}

} // namespace

TEST_CASE("root's daemon is looked for in /run, a user's in its runtime directory or /tmp") {
  CHECK(default_endpoint(0, with_runtime_dir("/run/user/0")) == "ipc:///run/corral/corral.sock");
  CHECK(default_endpoint(1000, with_runtime_dir("/run/user/1000"))
        == "ipc:///run/user/1000/corral/corral.sock");
  CHECK(default_endpoint(1000, with_runtime_dir({})) == "ipc:///tmp/corral-1000/corral.sock");
  CHECK(default_endpoint(1000, with_runtime_dir("")) == "ipc:///tmp/corral-1000/corral.sock");
}

TEST_CASE("a path is an ipc endpoint and anything else stays") {
  CHECK(to_endpoint("/a/b") == "ipc:///a/b");
  CHECK(to_endpoint("ipc:///a/b") == "ipc:///a/b");
  CHECK(to_endpoint("tcp://h:1") == "tcp://h:1");
  CHECK(to_endpoint("") == "");
}

TEST_CASE("a socket that is not there, or that nobody listens on, is named with what to do") {
  auto dir = temp_dir::make("corral-cli-").value();
  auto path = (dir.path() / "s").native();
  auto missing = check_endpoint("ipc://" + path);
  REQUIRE(!missing);
  CHECK(missing.error().code == "no_daemon");
  CHECK(missing.error().message.find(path) != std::string::npos);
  CHECK(missing.error().message.find("nothing is there. Start corrald") != std::string::npos);
  {
    auto listener = listen_unix(path, 0600);
    REQUIRE(listener);
    CHECK(check_endpoint("ipc://" + path));
  }
  auto stale = check_endpoint("ipc://" + path);
  REQUIRE(!stale);
  CHECK(stale.error().message.find("nobody listens on it. Start corrald") != std::string::npos);
}
