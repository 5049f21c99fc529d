#include "apps/cli/client_keys.hpp"
#include "apps/cli/command_line.hpp"
#include "os/temp_dir.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace corral::cli;

namespace {

struct fixture {
  temp_dir dir = temp_dir::make("corral-cli-").value();
  std::string file = (dir.path() / "k").string();
  std::string server = key_pair::make().public_key;
  std::string tcp = "tcp://host:7700";

  std::string code(const std::string& endpoint, const std::string& key, const std::string& of) {
    auto x = keys_for(endpoint, key, of);
    return x ? (*x ? "keys" : "none") : x.error().code;
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "only a TCP endpoint takes keys, and it takes both") {
  REQUIRE(write_key_file(file, key_pair::make()));
  CHECK(code(tcp, file, server) == "keys");
  CHECK(code(tcp, "", "") == "none");
  CHECK(code("ipc:///s", file, server) == "none");
  CHECK(code(tcp, file, "") == "usage");
  CHECK(code(tcp, "", server) == "usage");
  CHECK(code(tcp, file, "short") == "usage");
  CHECK(code(tcp, file + "x", server) == "usage");
}

TEST_CASE_FIXTURE(fixture, "keygen takes a file, a name, users and ops that there are") {
  auto line = parse_command_line(
      {"keygen", file, "--name", "web", "--user", "ann", "--user", "bob", "--op", "exec"}, true);
  REQUIRE(line);
  auto& x = std::get<keygen_options>(std::get<command_line>(*line).what);
  CHECK(x.file == file);
  CHECK(x.name == "web");
  CHECK(x.users == std::vector<std::string>{"ann", "bob"});
  CHECK(x.ops == std::vector<std::string>{"exec"});
  CHECK_FALSE(parse_command_line({"keygen", file, "--op", "fly"}, true));
  CHECK_FALSE(parse_command_line({"keygen"}, true));
}
