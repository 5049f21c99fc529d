#include "apps/cli/command_table.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace corral::cli;
using namespace std::chrono_literals;

namespace {

command_line parse(std::vector<std::string> words, bool terminal = true) {
  auto x = parse_command_line(std::move(words), terminal);
  REQUIRE(x);
  return std::get<command_line>(*x);
}

std::string complaint(std::vector<std::string> words) {
  auto x = parse_command_line(std::move(words), true);
  REQUIRE(!x);
  CHECK(x.error().code == "usage");
  return x.error().message;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("exec takes its options before -- and the command after it, whatever it looks like") {
  auto x =
      std::get<exec_options>(parse({"exec",      "-t",    "a",  "--user", "u",  "--pool", "p",
                                    "--timeout", "10m",   "-e", "A=1",    "-e", "B=",     "--cwd",
                                    "/w",        "--key", "k",  "--",     "ls", "--json", "exec"})
                                 .what);
  CHECK(x.to.thread == "a");
  CHECK(x.to.user == "u");
  CHECK(x.to.pool == "p");
  CHECK(x.script == "ls --json exec");
  CHECK(x.timeout == 10min);
  CHECK(x.env == std::map<std::string, std::string>{{"A", "1"}, {"B", ""}});
  CHECK(x.cwd == "/w");
  CHECK(x.key == "k");
}

TEST_CASE("exec passes stdin on unless it is a terminal or told otherwise") {
  auto feeds = [](std::vector<std::string> words, bool terminal) {
    return std::get<exec_options>(parse(std::move(words), terminal).what).feed_stdin;
  };
  CHECK(feeds({"exec", "--", "x"}, false));
  CHECK(!feeds({"exec", "--", "x"}, true));
  CHECK(feeds({"exec", "-i", "--", "x"}, true));
  CHECK(!feeds({"exec", "--no-stdin", "--", "x"}, false));
}

TEST_CASE("global options may stand before or after the command") {
  CHECK(parse({"--json", "ls"}).json);
  CHECK(parse({"ls", "--json"}).json);
  CHECK(parse({"ls", "--endpoint", "/s"}).endpoint == "/s");
  CHECK(!parse({"exec", "--", "ls", "--json"}).json);
}

TEST_CASE("a file is named with its sandbox or thread, and a range of lines") {
  auto x = std::get<read_options>(parse({"read", "-t", "a", "--lines", "2:3", "f"}).what);
  CHECK(x.path == "f");
  CHECK(x.to.thread == "a");
  CHECK(x.lines.first == 2);
  CHECK(x.lines.last == 3);
  auto y = std::get<write_options>(
      parse({"write", "f", "-s", "2c26b46b", "--append", "--from", "g"}).what);
  CHECK(y.to.sandbox == "2c26b46b");
  CHECK(y.append);
  CHECK(y.from == "g");
}

TEST_CASE("a sandbox to destroy is named by id or by thread") {
  CHECK(std::get<destroy_options>(parse({"destroy", "2c26b46b", "--force"}).what).force);
  auto x = std::get<destroy_options>(parse({"destroy", "-t", "a", "--purge"}).what);
  CHECK(x.to.thread == "a");
  CHECK(x.purge);
  CHECK(!x.force);
}

TEST_CASE("a lease is held, left for a time, or not taken; releasing one names it") {
  auto acquire = [](std::vector<std::string> words) {
    words.insert(words.begin(), "acquire");
    return std::get<acquire_options>(parse(std::move(words)).what);
  };
  CHECK(identity_for(acquire({"-t", "a"})).name.empty());
  auto held = acquire({"-t", "a", "--hold"});
  CHECK(held.hold);
  CHECK(identity_for(held).heartbeat == 10s);
  auto left = acquire({"--for", "30m"});
  CHECK(left.to.thread.empty());
  CHECK(identity_for(left).heartbeat == 10min);
  CHECK(identity_for(left).name != identity_for(held).name);
  auto x = std::get<release_options>(parse({"release", "-t", "a", "--lease", "c/7"}).what);
  CHECK(x.to.thread == "a");
  CHECK(x.lease.lease == "7");
  CHECK(identity_for(x).name == "c");
}

TEST_CASE(
    "a copy has one end in a sandbox, and a slash before the colon makes a path of this machine") {
  auto copy = [](std::string from, std::string into) {
    return std::get<copy_options>(parse({"cp", std::move(from), std::move(into), "-u", "u"}).what);
  };
  auto up = copy("./a:b", "demo:src/");
  CHECK(up.upload);
  CHECK(up.local == "./a:b");
  CHECK(up.to.thread == "demo");
  CHECK(up.to.user == "u");
  CHECK(up.path == "src/");
  auto down = copy("demo:/mnt/a:b", "-");
  CHECK(!down.upload);
  CHECK(down.local == "-");
  CHECK(down.path == "/mnt/a:b");
}

TEST_CASE("a search takes a pattern and where to look") {
  auto x = std::get<grep_options>(parse({"grep", "-t", "a", "-F", "-m", "7", "x y", "src"}).what);
  CHECK(x.search.to.thread == "a");
  CHECK(x.search.pattern == "x y");
  CHECK(x.search.path == "src");
  CHECK(x.search.most == 7);
  CHECK(x.literal);
  auto y = std::get<glob_options>(parse({"glob", "-t", "a", "--dirs", "--all", "*"}).what);
  CHECK(y.search.path == ".");
  CHECK(y.directories);
  CHECK(y.search.all);
}

TEST_CASE("bad input names the argument and what was expected") {
  CHECK(has(complaint({"exec", "--timeout", "abc", "--", "x"}), "--timeout: expected a duration"));
  CHECK(has(complaint({"exec", "-e", "1=2", "--", "x"}), "--env: expected NAME=VALUE"));
  CHECK(has(complaint({"exec", "-t", "a b", "--", "x"}), "--thread: expected 1 to 64 letters"));
  CHECK(has(complaint({"read", "-t", "a", "f", "--lines", "7:3"}), "--lines: expected"));
  CHECK(has(complaint({"ls", "--state", "q"}), "--state: q not in"));
  CHECK(has(complaint({"destroy", "xyz"}), "ID: expected a sandbox's id"));
  CHECK(has(complaint({"acquire", "--for", "4h"}), "--for: expected a duration from 1s to 3h"));
  CHECK(has(complaint({"release", "-t", "a", "--lease", "7"}), "--lease: expected a lease"));
  CHECK(has(complaint({"cp", "a b:f", "."}), "FROM: expected THREAD:PATH"));
  CHECK(has(complaint({"grep", "-t", "a", "x", "-m", "0"}), "--max-results"));
  CHECK(has(complaint({"frob"}), "frob"));
}

TEST_CASE("what is missing or contradicts itself is refused") {
  CHECK(has(complaint({"exec", "-t", "a", "--key", "", "--", "ls"}), "an empty key"));
  CHECK(has(complaint({}), "no command"));
  CHECK(has(complaint({"exec"}), "exec: no command"));
  CHECK(has(complaint({"exec", "--"}), "exec: no command"));
  CHECK(has(complaint({"ls", "--", "x"}), "only exec takes a command"));
  CHECK(has(complaint({"read", "f"}), "--thread or --sandbox"));
  CHECK(has(complaint({"write"}), "PATH"));
  for (auto name : {"destroy", "get", "reset"})
    CHECK(has(complaint({name}), "which sandbox"));
  CHECK(has(complaint({"release", "-t", "a"}), "--lease is required"));
  CHECK(has(complaint({"cp", "a", "b"}), "exactly one"));
  CHECK(has(complaint({"cp", "a:b", "c:d"}), "exactly one"));
  CHECK(has(complaint({"cp", "a:", "."}), "name the file"));
  CHECK(has(complaint({"cp", "-", "a:d/"}), "name the file"));
  for (auto name : {"grep", "glob"})
    CHECK(has(complaint({name, "x"}), "--thread or --sandbox"));
  CHECK(has(complaint({"acquire", "--hold", "--for", "1m"}), "excludes"));
  CHECK(has(complaint({"destroy", "2c26b46b", "-t", "a"}), "excludes"));
  CHECK(has(complaint({"exec", "-t", "a", "-s", "2c26b46b", "--", "x"}), "excludes"));
  CHECK(has(complaint({"exec", "-i", "--no-stdin", "--", "x"}), "excludes"));
  CHECK(has(complaint({"read", "-t", "a", "f", "--raw", "--lines", "1:2"}), "excludes"));
}

TEST_CASE("every command has help with examples") {
  for (auto& row : command_table()) {
    auto x = parse_command_line({row.name, "--help"}, true);
    REQUIRE_MESSAGE(x, row.name);
    CHECK(has(std::get<only_text>(*x).text, "Examples:\n"));
  }
  auto general = std::get<only_text>(*parse_command_line({"--help"}, true)).text;
  for (auto status : {"\n  0 ", "\n  1 ", "\n  124 ", "\n  125 ", "\n  130 "})
    CHECK(has(general, status));
}
