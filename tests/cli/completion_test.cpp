#include "apps/cli/completion.hpp"

#include <doctest/doctest.h>

#include "apps/cli/command_table.hpp"
#include "tests/cli/fake_daemon.hpp"

#include <algorithm>

using namespace corral;
using namespace corral::cli;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

using words = std::vector<std::string>;

words words_at(const words& before) {
  return complete(before).words;
}

bool contains(const words& all, const char* one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::vector<message> two_sandboxes(const message& x) {
  if (x.header.text("op") == "hello")
    return {ok(fields{}.set("boot", "b").set("pools", std::vector<std::string>{"main"}))};
  if (x.header.text("op") != "list")
    return greet(x);
  auto reply = ok();
  reply.add_part("results", blob::copy_of(R"({"sandbox":"aa11","user":"default","thread":"demo"}
{"sandbox":"bb22","user":"alice","thread":"other"}
{"sandbox":"cc33","user":"default","thread":null}
)"));
  return {reply};
}

words asked(const words& before) {
  fake_daemon daemon{two_sandboxes};
  auto client = daemon_client::connect({daemon.endpoint(), 2s, 20ms});
  REQUIRE(client);
  return values_of(*client, complete(before)).value();
}

} // namespace

TEST_CASE("the first word is a command, and every command is offered") {
  auto all = words_at({""});
  CHECK(all.size() == command_table().size());
  for (auto& row : command_table())
    CHECK_MESSAGE(contains(all, row.name), row.name);
  CHECK(words_at({"re"}) == words{"release", "reset", "read", "reload"});
  CHECK(words_at({"--json", "exe"}) == words{"exec"});
}

TEST_CASE("options are the command's and the general ones, each once") {
  auto options = words_at({"exec", "-t", "a", "--"});
  for (auto name : {"--timeout", "--env", "--endpoint", "--json", "--help", "--"})
    CHECK_MESSAGE(contains(options, name), name);
  CHECK(!contains(options, "--thread"));
  CHECK(!contains(words_at({"ls", "-"}), "--thread"));
  CHECK(contains(words_at({"exec", "-e", "A=1", "--e"}), "--env"));
}

TEST_CASE("a value is completed after its option, in the next word or the same") {
  CHECK(words_at({"ls", "--state", "p"}) == words{"parked"});
  CHECK(words_at({"ls", "--state=p"}) == words{"--state=parked"});
  CHECK(words_at({"completion", ""}) == words{"bash", "zsh"});
  CHECK(complete({"write", "f", "--from", ""}).value == "FILE");
  CHECK(complete({"--endpoint", "/s", "exec", "--thread", ""}).given.at("--endpoint") == "/s");
}

TEST_CASE("positional arguments are told apart by their place") {
  CHECK(complete({"get", ""}).value == "SANDBOX");
  CHECK(complete({"cp", "a", ""}).value == "PLACE");
  CHECK(complete({"cp", "a", "b", ""}).value.empty());
}

TEST_CASE("what stands after -- is the sandbox's own") {
  auto x = complete({"exec", "--", "--th"});
  CHECK(x.words.empty());
  CHECK(x.value.empty());
}

TEST_CASE("the daemon's threads, sandboxes, users and pools are offered") {
  CHECK(asked({"exec", "-t", ""}) == words{"demo"});
  CHECK(asked({"exec", "-u", "alice", "-t", ""}) == words{"other"});
  CHECK(asked({"exec", "--thread=d"}) == words{"--thread=demo"});
  CHECK(asked({"get", "b"}) == words{"bb22"});
  CHECK(asked({"ls", "--user", ""}) == words{"alice", "default"});
  CHECK(asked({"exec", "--pool", ""}) == words{"main"});
  CHECK(asked({"cp", "d"}) == words{"demo:"});
}
